package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"pws/actors"
	"pws/api"
	"pws/api/docs"
	"pws/client/cli"
	"pws/http"
	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/journal"
	"pws/web"
)

// shutdownMax bounds how long a shutdown waits for running requests.
const shutdownMax = 30 * time.Second

// ServeCommand runs the server. Every flag is also an environment variable (PWS_LISTEN, …) and a
// name in the configuration file.
type ServeCommand struct {
	Config     string `help:"YAML file of settings, by the names of these flags; pws.yaml if it is there."`
	Listen     string `default:"127.0.0.1:8080" help:"Address to serve on; port 0 picks one."`
	Data       string `default:"./data" help:"Data directory; it is made if it is missing."`
	RateLimits string `default:"on" enum:"on,off" help:"Enforce rate limits: on or off."`
	PublicURL  string `name:"public-url" help:"Base URL for clients; if absent, the host that each of them names."`
	LogLevel   string `default:"info" enum:"debug,info,warn,error" help:"How much is logged: debug, info, warn or error."`

	RateLimit      []string `help:"Replace the quota of a limit, as NAME=NUMBER; names are in the capability model."`
	AllowedOrigins []string `help:"Web origins that may use the API; *, the default with --public-url, only reads."`
	TrustedProxies []string `help:"Trusted proxies (127.0.0.1/32): their X-Forwarded-For and -Proto count."`

	Connections      int `default:"16384" help:"Connections that may be open; fewer if memory or open files are scarce."`
	ConnectionsPerIP int `name:"connections-per-ip" default:"256" help:"How many of these one address may have."`

	Waiting         int `default:"4096" help:"Requests that may wait for events at the same time, streams included."`
	WaitingPerAgent int `default:"64" help:"How many of these one agent may have."`
	WaitingPerIP    int `name:"waiting-per-ip" default:"256" help:"How many of these one address may have."`

	Expensive int `default:"0" help:"Expensive operations that may run at the same time; 0: one for each core."`

	Writes int `default:"256" help:"Writes that are carried out at the same time; others wait up to 5 seconds."`

	AgentStoredBytes   int64 `default:"1073741824" help:"Bytes that one agent may store in all projects. 0: no limit."`
	AgentHourBytes     int64 `default:"268435456" help:"Bytes that one agent may store in an hour. 0: no limit."`
	ProjectStoredBytes int64 `default:"2147483648" help:"Bytes that members may store in a project. 0: no limit."`
	StoredBytes        int64 `default:"0" help:"Bytes that all agents may store. 0: as much as the disk has room for."`

	AdminListen string `help:"Address for metrics and profiles; none if absent. Keep it private."`

	Memory            string        `help:"Memory ceiling (512MiB); default: the container's limit or half the memory."`
	CacheBytes        int64         `default:"268435456" help:"Cache of contents; at most a tenth of the memory ceiling."`
	ReserveBytes      int64         `default:"0" help:"Free disk space for snapshots; less refuses writes. 0: as needed."`
	SnapshotLogBytes  int64         `default:"134217728" help:"Log that makes a snapshot due."`
	SnapshotBlobBytes int64         `default:"268435456" help:"Contents outside of packs that make a snapshot due."`
	SnapshotEvery     time.Duration `default:"5m" help:"Time that makes a snapshot due."`
	PassivateAfter    time.Duration `default:"10m" help:"Time unused after which a project leaves memory."`
	SweepEvery        time.Duration `default:"15s" help:"How often unused projects are looked for."`

	MCPLegacy string `name:"mcp-legacy" default:"on" enum:"on,off" help:"MCP before version 2026-07-28: on or off."`

	Web       string `default:"on" enum:"on,off" help:"Web page below /ui/: on or off."`
	WebListen string `help:"Address for the web page only; that of --listen by default."`
	WebURL    string `name:"web-url" help:"Base URL of the page at --web-listen, if a proxy gives it another one."`

	Search     string        `default:"on" enum:"on,off" help:"Whether public work is indexed for search: on or off."`
	FeedEvents int           `default:"1000000" help:"Newest events kept; each project keeps a thousandth of it longer."`
	FeedAge    time.Duration `default:"720h" help:"Age above which events are not kept."`

	GCHeadroom int64 `name:"gc-headroom" default:"536870912" help:"Memory for garbage; more means fewer collections."`

	ClusterSettings `embed:""`

	TestClock bool          `help:"For tests only: let clients move the clock by POST /test/clock."`
	TestSkew  time.Duration `hidden:"" help:"For tests only: what the clock is wrong by, as members of a cluster see it."`
}

// errNotServed explains why the server does not run on Windows: an answer to a write promises
// durability, which needs the sync of a directory, and Windows has none.
var errNotServed = errors.New("the server does not run on Windows, where a write cannot be made " +
	"durable as it promises; run it on Linux, macOS or FreeBSD")

// Run serves until a signal or a failure of the storage.
func (c *ServeCommand) Run(out io.Writer) error {
	if runtime.GOOS == "windows" {
		return errNotServed
	}
	log := c.logger()
	serverConfig, limits, err := c.serverConfig()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	members, err := c.ClusterSettings.check()
	if err != nil {
		return cli.UsageError{Err: err}
	}
	widenScheduler()
	fitted, err := c.fitMemory(log)
	if err != nil {
		return cli.UsageError{Err: err}
	}
	defer startCollecting(fitted.headroom)()
	serverConfig.BodyMemory = fitted.bodies
	serverConfig.Connections = int(fitted.connections)
	keepPrivate()
	if err := datadir.RequireOwner(c.Data); err != nil {
		return err
	}
	if err := datadir.RequirePrivate(c.Data); err != nil {
		return err
	}
	if err := datadir.Tighten(c.Data); err != nil {
		return err
	}
	serve := func() error {
		failed := make(chan error, 3)
		own := new(member)
		if own.of, err = c.openCluster(members, own, failed, log); err != nil {
			return err
		}
		return c.run(out, log, fitted, serverConfig, limits, own, failed)
	}
	for again := renewAgain; ; again = min(2*again, renewAgainMax) {
		err = inUse(c.Data, awaitingLocks(log, serve))
		cut := onlyCut(err)
		if onlyFault(err) == errRemoved {
			return nil
		}
		if cut == nil {
			return err
		}
		if stopped := c.renew(members, cut, again, log); stopped {
			return nil
		}
	}
}

const (
	// locksWait is how long a server waits for the locks of its data, and locksAgain how often it
	// tries.
	locksWait  = 3 * time.Second
	locksAgain = 50 * time.Millisecond
)

// awaitingLocks calls serve, again where another process has locked the data: one that was killed
// just now may not be gone yet.
func awaitingLocks(log *slog.Logger, serve func() error) error {
	for until := time.Now().Add(locksWait); ; time.Sleep(locksAgain) {
		err := serve()
		locked := errors.Is(err, journal.ErrLocked) || errors.Is(err, disk.ErrLocked)
		if !locked || time.Now().After(until) {
			return err
		}
		log.Debug("waiting for the locks of the data directory", "error", err)
	}
}

// run serves with settings that were checked.
func (c *ServeCommand) run(
	out io.Writer, log *slog.Logger, fitted memory, serverConfig http.Config,
	limits []api.RateLimit, own *member, failed chan error,
) (err error) {
	defer func() { err = errors.Join(err, own.close()) }()
	engineConfig := c.engineConfig(log, failed, fitted)
	own.configure(&engineConfig, &serverConfig)
	engine, report, err := actors.Open(engineConfig)
	if err != nil {
		return err
	}
	own.engine = engine
	logRecovery(log, report)
	if c.TestSkew != 0 {
		log.Warn("TEST CLOCK: it is wrong. Do not use this in production.", "by", c.TestSkew)
		engine.Advance(c.TestSkew.Milliseconds())
	}
	if c.TestClock {
		log.Warn("TEST CLOCK ENABLED: any client can change the time. Do not use this in production.")
		serverConfig.Table = append(serverConfig.Table, api.TestClock(engine.Advance))
	}
	at, err := c.listen()
	if err != nil {
		return errors.Join(err, engine.Close())
	}
	service := api.NewService(engine, api.Config{
		Version: version, Started: engine.Now(), Limits: limits,
		Stored: c.storedLimits(), UploadRecordBytes: fitted.uploadRecords(),
		PublicURL: c.PublicURL, Address: urlOf(at.main), NoEarlierMCP: c.MCPLegacy == "off",
		WebPage: c.Web == "on", WebURL: at.webURL,
	})
	service.Documents = docs.New(service.Config)
	admin, err := startAdmin(c.AdminListen, engine, &serverConfig, log)
	if err != nil {
		return errors.Join(err, at.close(), engine.Close())
	}
	server, err := http.New(service, serverConfig, log)
	if err != nil {
		return errors.Join(err, at.close(), engine.Close())
	}
	admin.watch(server, own.of)
	if c.Web == "on" {
		admin.show(service, engine)
	}
	socket, err := startAdminSocket(c.Data, adminTarget{engine, own.of}, log)
	if err != nil {
		log.Error("there is no admin socket: pws admin cannot be used", "error", err)
	}
	own.serve(server, log)
	err = c.serve(server, at, out, failed, own)
	socket.remove()
	admin.stop()
	err = errors.Join(err, engine.Close())
	socket.stop()
	if err == nil {
		log.Info("stopped")
	}
	return err
}

// widenScheduler sets GOMAXPROCS to two for each core, unless the environment sets it. A thread
// that returns from an fsync needs a free slot to continue. With one for each core it waits until a
// request frees one, and all writers wait with it.
func widenScheduler() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(2 * runtime.GOMAXPROCS(0))
	}
}

// serve runs until a signal, which is a success, or until the storage or the listener fails.
func (c *ServeCommand) serve(
	server *http.Server, at addresses, out io.Writer, failed chan error, own *member,
) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, stopSignals()...)
	defer signal.Stop(signals)
	ended := at.serve(server)
	fmt.Fprintln(out, "listening on", urlOf(at.main))
	if at.pages != nil {
		fmt.Fprintln(out, "web page on", urlOf(at.pages))
	}
	var cause error
	var received os.Signal
	select {
	case received = <-signals:
	case cause = <-failed:
	case err := <-ended:
		return err
	}
	logStop(c.logger(), received, cause)
	own.handOver(c.logger())
	ctx, cancel := context.WithTimeout(context.Background(), shutdownMax)
	defer cancel()
	cut := onlyCut(cause)
	cause = errors.Join(cause, c.stopped(server.Shutdown(ctx)))
	for range cap(ended) {
		cause = errors.Join(cause, <-ended)
	}
	select {
	case <-signals:
		// A signal that came in the meantime says that the server does not start again.
		if onlyCut(cause) == cut && cut != nil {
			cause = nil
		}
	default:
	}
	return cause
}

// stopped is the error of a shutdown. Clients that do not read their answers are no failure of the
// server: it waits for them for a while, and then closes their connections.
func (c *ServeCommand) stopped(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		c.logger().Warn("closed connections whose clients had not read their answers",
			"after", shutdownMax)
		return nil
	}
	return err
}

func (c *ServeCommand) logger() *slog.Logger {
	var level slog.Level
	// The enum tag of the flag admits only names that slog parses.
	_ = level.UnmarshalText([]byte(c.LogLevel))
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
}

func (c *ServeCommand) engineConfig(
	log *slog.Logger, failed chan error, fitted memory,
) actors.Config {
	config := actors.Config{
		Dir: c.Data, CacheBytes: c.CacheBytes, ReserveBytes: c.ReserveBytes,
		SnapshotLogBytes: c.SnapshotLogBytes, SnapshotBlobBytes: c.SnapshotBlobBytes,
		SnapshotEvery: c.SnapshotEvery, SnapshotAtClose: true, PassivateAfter: c.PassivateAfter,
		SweepEvery: c.SweepEvery, FeedEvents: c.FeedEvents, FeedAge: c.FeedAge,
		NoSearch: c.Search == "off", Log: log, Stored: c.storedLimits(),
		ProjectBytes: fitted.projects, RecentBytesMax: fitted.recent, QueueBytesMax: fitted.queue,
		OnFailure: func(err error) { failed <- fmt.Errorf("storage failed: %w", err) },
	}
	if c.TestClock {
		// What a clock is wrong by is added at each start.
		config.TestClock = c.TestSkew == 0
		// Tests look for what they have written, on machines that may be busy.
		config.SearchWait = 20 * time.Second
	}
	return config
}

func (c *ServeCommand) storedLimits() api.StoredLimits {
	return api.StoredLimits{
		Agent: c.AgentStoredBytes, AgentHour: c.AgentHourBytes, Project: c.ProjectStoredBytes,
		All: c.StoredBytes,
	}
}

// serverConfig parses the flags that need more than kong does.
func (c *ServeCommand) serverConfig() (http.Config, []api.RateLimit, error) {
	config := http.Config{
		Table: slices.Clone(api.Table), Origins: c.AllowedOrigins,
		Waiting: c.Waiting, WaitingPerAgent: c.WaitingPerAgent,
		WaitingPerIP: c.WaitingPerIP, Connections: c.Connections,
		ConnectionsPerIP: c.ConnectionsPerIP, Expensive: c.Expensive, Writes: c.Writes,
	}
	if c.Connections < 1 || c.ConnectionsPerIP < 1 {
		return config, nil, errors.New("--connections and --connections-per-ip must be positive")
	}
	if c.Expensive < 0 {
		return config, nil, errors.New("--expensive must not be negative")
	}
	if c.Writes < 1 {
		return config, nil, errors.New("--writes must be positive")
	}
	if c.Waiting < 1 || c.WaitingPerAgent < 1 || c.WaitingPerIP < 1 {
		return config, nil, errors.New("--waiting and its parts must be positive")
	}
	if min(c.AgentStoredBytes, c.AgentHourBytes, c.ProjectStoredBytes, c.StoredBytes) < 0 {
		return config, nil, errors.New("quotas of stored bytes must not be negative")
	}
	if err := listenProblem("--listen", c.Listen); err != nil {
		return config, nil, err
	}
	if c.Web == "on" {
		pages := web.New()
		config.WebFailure = pages.Failure
		config.Table = append(config.Table, pages.Table()...)
	}
	if err := c.checkWeb(); err != nil {
		return config, nil, err
	}
	config.PagesApart = c.WebListen != ""
	if c.AdminListen != "" {
		if err := listenProblem("--admin-listen", c.AdminListen); err != nil {
			return config, nil, err
		}
	}
	if c.PublicURL = strings.TrimSuffix(c.PublicURL, "/"); c.PublicURL != "" {
		if problem := api.PublicURLProblem(c.PublicURL); problem != "" {
			return config, nil, errors.New("--public-url " + problem)
		}
	}
	if c.PublicURL == "" {
		// Pages of other hosts must not reach a server that has no public name.
		config.Origins = append([]string{}, c.AllowedOrigins...)
		config.LoopbackOnly = len(c.TrustedProxies) == 0 && listensOnLoopback(c.Listen)
	}
	config.PagesLoopbackOnly = c.WebURL == "" && len(c.TrustedProxies) == 0 &&
		listensOnLoopback(c.WebListen)
	for _, network := range c.TrustedProxies {
		prefix, err := netip.ParsePrefix(network)
		if err != nil {
			return config, nil, fmt.Errorf(
				"--trusted-proxies: %q is not a network such as 127.0.0.1/32", network)
		}
		config.TrustedProxies = append(config.TrustedProxies, prefix)
	}
	limits := http.DefaultLimits()
	for _, setting := range c.RateLimit {
		if err := setLimit(limits, setting); err != nil {
			return config, nil, fmt.Errorf("--rate-limit %s: %w", setting, err)
		}
	}
	if c.RateLimits == "off" {
		limits = nil
	}
	return config, limits, nil
}

func setLimit(limits []api.RateLimit, setting string) error {
	name, value, _ := strings.Cut(setting, "=")
	quota, err := strconv.Atoi(value)
	if err != nil {
		return errors.New("give NAME=NUMBER, such as search=300")
	}
	if quota < 1 {
		return errors.New("the number must be positive")
	}
	for i := range limits {
		if limits[i].Name == name {
			limits[i].Quota = quota
			return nil
		}
	}
	return errors.New("there is no limit of this name")
}

func logRecovery(log *slog.Logger, report *actors.Recovery) {
	if report.Log.TornBytes > 0 {
		log.Warn("removed a torn tail from the log: after a crash this is a write that was not "+
			"acknowledged, on a damaged disk it may be one that was",
			"file", report.Log.TornFile, "offset", report.Log.TornOffset,
			"bytes", report.Log.TornBytes)
	}
	if report.Feed.TornBytes > 0 {
		log.Warn("a torn tail of the event feed is not read: after a crash this is a write that was not "+
			"finished, on a damaged disk it may be one that was; the log brings back what it still has",
			"file", report.Feed.TornFile, "offset", report.Feed.TornOffset,
			"bytes", report.Feed.TornBytes)
	}
	log.Info("recovered", "projects", report.Projects, "snapshot", report.Snapshot,
		"entries", report.Entries, "took", report.Took.Round(time.Millisecond))
}
