package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// The addresses of clients. All are on the loopback interface.
const (
	// attackerAddress is the one address from which all attacks come.
	attackerAddress = "127.0.0.66"
	ownerAddress    = "127.0.0.3"
	// newcomerAddress is for clients that begin during an attack.
	newcomerAddress = "127.0.0.9"
	// adminAddress is a pattern: each server has an address of its own, where every port is free.
	adminAddress = "127.0.77.%d"
)

// scenes is the number of servers that were started.
var scenes atomic.Int32

// scene is a server under attack.
type scene struct {
	config  *AbuseConfig
	process *child.Process
	dataDir string
	host    string
	// metrics is the address of the metrics, and scraper reads them over one connection.
	metrics string
	scraper *http.Client
	// owner is an ordinary agent whose projects are attacked.
	owner *client.API
	// attackers are the agents of the attacker. Each had an address of its own when it registered.
	attackers []*client.API
	// project, paths and tasks are what the setup of an attack has made.
	project string
	paths   []string
	tasks   []string
	victims []victim
	// readers read the statuses of the answers to connections that are held.
	readers sync.WaitGroup
	mu      struct {
		sync.Mutex
		// open are the connections of the attack.
		open    []io.Closer
		answers map[string]int64
		figures map[string]float64
	}
}

// openScene starts a server with default settings, apart from the given flags. Like in a container,
// nine tenths of the memory limit are for its own data; the rest is for its program and for what it
// maps.
func openScene(ctx context.Context, config *AbuseConfig, flags ...string) (*scene, error) {
	s := &scene{config: config, scraper: &http.Client{Transport: &http.Transport{}}}
	s.mu.answers, s.mu.figures = map[string]int64{}, map[string]float64{}
	address := fmt.Sprintf(adminAddress, 1+scenes.Add(1)%250)
	listener, err := net.Listen("tcp", net.JoinHostPort(address, "0"))
	if err != nil {
		return nil, err
	}
	s.metrics = listener.Addr().String()
	if err := listener.Close(); err != nil {
		return nil, err
	}
	if s.dataDir, err = os.MkdirTemp(config.Dir, "pws-abuse-"); err != nil {
		return nil, err
	}
	s.process, err = child.Start(ctx, startPatience, child.Program{
		Path: config.Program,
		Args: append([]string{
			"serve", "--listen", "127.0.0.1:0", "--data", s.dataDir, "--admin-listen", s.metrics,
		}, flags...),
		Env: []string{"GOMEMLIMIT=" + strconv.FormatInt(config.MemoryLimit*9/10, 10)},
	})
	if err == nil {
		s.host, err = client.HostOf(s.process.URL)
	}
	if err == nil {
		s.owner, err = s.register(ownerAddress)
	}
	if err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *scene) close() {
	s.disconnect()
	s.scraper.CloseIdleConnections()
	if s.process != nil {
		s.process.Kill()
	}
	// A folder that cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(s.dataDir)
}

// register registers an agent at an address.
func (s *scene) register(address string) (*client.API, error) {
	return register(s.host, address)
}

func register(host, address string) (*client.API, error) {
	api := &client.API{Host: host, From: address}
	return api, api.Register("agent-" + client.RandomKey()[:16])
}

// addAttackers registers agents, each at an address of its own, that attack from one address.
func (s *scene) addAttackers(count int) error {
	for range count {
		at := len(s.attackers)
		api, err := s.register(fmt.Sprintf("127.0.%d.%d", 1+at/200, 1+at%200))
		if err != nil {
			return err
		}
		api.Close()
		api.From = attackerAddress
		s.attackers = append(s.attackers, api)
	}
	return nil
}

// amount is how much an attack does.
func (s *scene) amount(full, small int) int {
	if s.config.Small {
		return small
	}
	return full
}

// success is the outcome of a request that was carried out.
const success = "success"

// count counts what an attacker received: nothing for an error without an answer at the end.
func (s *scene) count(ctx context.Context, err error) {
	outcome := success
	failure := new(client.Failure)
	switch {
	case errors.As(err, &failure):
		outcome = fmt.Sprintf("%d %s", failure.Status, failure.Code)
	case err != nil && ctx.Err() != nil:
		return
	case err != nil:
		outcome = "connection ended"
	}
	s.note(outcome)
}

func (s *scene) note(outcome string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.answers[outcome]++
}

func (s *scene) answers(outcome string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mu.answers[outcome]
}

func (s *scene) figure(name string, value float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mu.figures[name] = value
}

// repeat calls a function for workers at the attacker's address, which take the agents in turn or
// are anonymous without any, until the context ends or the function returns errFinished.
func (s *scene) repeat(
	ctx context.Context, workers int, call func(api *client.API, worker, turn int) error,
) error {
	until, _ := ctx.Deadline()
	var group sync.WaitGroup
	for worker := range workers {
		api := &client.API{Host: s.host, From: attackerAddress, Until: until}
		if len(s.attackers) > 0 {
			api.Credential = s.attackers[worker%len(s.attackers)].Credential
		}
		group.Go(func() {
			defer api.Close()
			for turn := 0; ctx.Err() == nil; turn++ {
				err := call(api, worker, turn)
				// The last request is cut off.
				if errors.Is(err, errFinished) || err != nil && !time.Now().Before(until) {
					return
				}
				s.count(ctx, err)
			}
		})
	}
	group.Wait()
	return s.alive()
}

// dial opens a connection from the attacker's address that stays open until the end of the attack.
// The kernel keeps little of what is sent to it.
func (s *scene) dial(ctx context.Context) (net.Conn, error) {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(attackerAddress)}}
	conn, err := dialer.DialContext(ctx, "tcp", s.host)
	if err != nil {
		return nil, err
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		err = tcp.SetReadBuffer(4 << 10)
	}
	s.mu.Lock()
	s.mu.open = append(s.mu.open, conn)
	s.mu.Unlock()
	return conn, err
}

// hold opens connections, sends the same request on each, and reads of its answer the status alone.
func (s *scene) hold(ctx context.Context, count int, request []byte) error {
	for range count {
		conn, err := s.dial(ctx)
		if err == nil && len(request) > 0 {
			_, err = conn.Write(request)
		}
		if err != nil {
			s.count(ctx, err)
			continue
		}
		s.readers.Go(func() {
			status := make([]byte, len("HTTP/1.1 200"))
			if _, err := io.ReadFull(conn, status); err != nil {
				s.count(ctx, err)
				return
			}
			s.note(string(status[len("HTTP/1.1 "):]))
		})
	}
	return s.alive()
}

// disconnect closes all connections but those of the ordinary users.
func (s *scene) disconnect() {
	for _, one := range s.victims {
		one.api.Close()
	}
	for _, one := range append(s.attackers, s.owner) {
		if one != nil {
			one.Close()
		}
	}
	s.mu.Lock()
	for _, one := range s.mu.open {
		_ = one.Close()
	}
	s.mu.open = nil
	s.mu.Unlock()
	s.readers.Wait()
}

// alive is an error if the server has ended.
func (s *scene) alive() error {
	select {
	case <-s.process.Done():
		return errors.New("the server has ended")
	default:
		return nil
	}
}

func (s *scene) usage() (child.Usage, error) { return child.ReadUsage(s.process.PID()) }

// during measures the users while a function runs, which ends with its context.
func (s *scene) during(
	whole context.Context, users *usersProcess, phase *UserPhase, length time.Duration,
	run func(context.Context) error,
) error {
	ctx, cancel := context.WithTimeout(whole, length)
	defer cancel()
	before, err := s.usage()
	if err != nil {
		return err
	}
	begun := time.Now()
	if err := users.begin(whole); err != nil {
		return err
	}
	if err := run(ctx); err != nil {
		return err
	}
	if err := users.end(whole, phase); err != nil {
		return err
	}
	after, err := s.usage()
	if err != nil {
		return errors.Join(err, s.alive())
	}
	took := time.Since(begun)
	phase.Seconds = took.Seconds()
	phase.CPUShare = (after.CPU - before.CPU).Seconds() / took.Seconds() / float64(runtime.NumCPU())
	if errors.Is(context.Cause(ctx), context.Canceled) {
		return ctx.Err()
	}
	return nil
}

// quietPatience bounds the time until a server is quiet AFTER an attack.
const quietPatience = 30 * time.Second

// settledSockets is the number of sockets of the server, when it has not changed for a while.
func (s *scene) settledSockets() (int, error) {
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	last := -1
	for {
		now, err := child.Sockets(s.process.PID())
		if err != nil || now == last {
			return now, err
		}
		last = now
		<-ticker.C
	}
}

// awaitQuiet waits until the server holds nothing for attackers any more.
func (s *scene) awaitQuiet(ctx context.Context, sockets int) error {
	ctx, cancel := context.WithTimeout(ctx, quietPatience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		held, err := s.heldForRequests(ctx)
		if err != nil {
			return err
		}
		now, err := child.Sockets(s.process.PID())
		if err != nil {
			return err
		}
		if held == "" && now <= sockets {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%v after the attack the server has %d sockets instead of %d; %s",
				quietPatience, now, sockets, held)
		}
	}
}

// heldMetrics are zero when no request is under way.
var heldMetrics = []string{
	"pws_request_memory_bytes ", "pws_waiting_requests ", "pws_expensive_running ",
	"pws_expensive_waiting ", "pws_writes_running ", "pws_writes_waiting ",
}

// heldForRequests returns the metrics of what requests hold that are not zero.
func (s *scene) heldForRequests(ctx context.Context) (held string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+s.metrics+"/metrics",
		nil)
	if err != nil {
		return "", err
	}
	response, err := s.scraper.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	for _, name := range heldMetrics {
		_, rest, found := strings.Cut(string(text), "\n"+name)
		value, _, _ := strings.Cut(rest, "\n")
		switch {
		case !found:
			return "", fmt.Errorf("the server has no metric %s", name)
		case value != "0":
			held += name + value + ", "
		}
	}
	return strings.TrimSuffix(held, ", "), nil
}
