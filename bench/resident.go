package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// The parts of the resident command, in order.
const (
	partChangesets = "changesets"
	partPassive    = "passive"
	partSteady     = "steady"
)

// ResidentParts lists all parts of the resident command in order.
var ResidentParts = []string{partChangesets, partPassive, partSteady}

// ResidentConfig says what the resident command fills servers with.
type ResidentConfig struct {
	// Program is the binary whose serve command is started.
	Program string
	// Only names the wanted parts; empty means all.
	Only []string
	// Changesets are written into Projects, one file of 300 B each.
	Projects, Changesets int
	// Passive is the number of projects of which nothing is in memory.
	Passive int
	// SteadyRate writes a second are sent for Steady, and the memory is read each SteadyEvery.
	Steady      time.Duration
	SteadyRate  float64
	SteadyEvery time.Duration
	// Dir is where temporary folders are made; empty means the system's default. Charts is where
	// charts are written; empty means nowhere.
	Dir, Charts string
	// Progress receives a line for each step; nil means no output.
	Progress io.Writer

	// settlePause is the pause between two readings of the memory.
	settlePause time.Duration
}

// ResidentReport is the resident memory of servers, in bytes as the kernel counts it (VmRSS).
type ResidentReport struct {
	Machine Machine   `json:"machine"`
	Began   time.Time `json:"began"`
	// Tables are the memory by owner at several moments.
	Tables     []OwnersTable     `json:"tables,omitempty"`
	Changesets *ChangesetsMemory `json:"changesets,omitempty"`
	Passive    *PassiveMemory    `json:"passive,omitempty"`
	Steady     *SteadyMemory     `json:"steady,omitempty"`
}

// OwnersTable is the memory by owner, as the server itself says, beside what the kernel says.
type OwnersTable struct {
	When     string  `json:"when"`
	Resident int64   `json:"resident_bytes"`
	Owners   []Owner `json:"owners"`
}

// ChangesetsMemory is the resident memory for each changeset of 300 B. Files are included.
type ChangesetsMemory struct {
	Projects   int   `json:"projects"`
	Changesets int   `json:"changesets"`
	EmptyBytes int64 `json:"empty_bytes"`
	// WrittenBytes is AFTER all were written and garbage was given back, PackedBytes AFTER a snapshot
	// and a restart, with all projects read.
	WrittenBytes      int64   `json:"written_bytes"`
	PackedBytes       int64   `json:"packed_bytes"`
	BytesPerChangeset float64 `json:"bytes_per_changeset"`
	PackedPer         float64 `json:"packed_bytes_per_changeset"`
}

// PassiveMemory is the resident memory for each passive project.
type PassiveMemory struct {
	Projects        int     `json:"projects"`
	EmptyBytes      int64   `json:"empty_bytes"`
	Bytes           int64   `json:"bytes"`
	BytesPerProject float64 `json:"bytes_per_project"`
	// RestartSeconds is the time until the server served AFTER a stop by SIGTERM.
	RestartSeconds float64 `json:"restart_seconds"`
	FillPerSecond  float64 `json:"fill_per_second"`
}

// SteadyMemory is the resident memory under steady writes.
type SteadyMemory struct {
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
	Writes    int64   `json:"writes"`
	// Samples are in bytes, one each EverySeconds.
	EverySeconds float64          `json:"every_seconds"`
	Samples      []int64          `json:"samples"`
	Errors       map[string]int64 `json:"errors,omitempty"`
	// Mean and Max are those of the second half; Above is how much more the maximum is than the mean.
	Mean  float64 `json:"mean_bytes"`
	Max   int64   `json:"max_bytes"`
	Above float64 `json:"max_above_mean"`
	// DiskBytes is what the server has had written to the disk during the writes, FolderBytes the size
	// of its data AFTER a stop by SIGTERM, which makes a snapshot.
	DiskBytes   int64 `json:"disk_bytes"`
	FolderBytes int64 `json:"folder_bytes"`
}

// contents is the size of the contents that were written.
func (p *SteadyMemory) contents() float64 { return float64(p.Writes * contentBytes) }

func (c *ResidentConfig) validate() error {
	if err := checkNames("part", c.Only, ResidentParts); err != nil {
		return err
	}
	switch {
	case c.Projects < 1 || c.Projects > projectsMax || c.Passive < 1 || c.Passive > projectsMax:
		return fmt.Errorf("projects must be from 1 to %d", projectsMax)
	case c.Changesets < c.Projects || c.Changesets > changesetsMax:
		return fmt.Errorf("changesets must be from the number of projects to %d", changesetsMax)
	case c.Steady <= 0 || c.SteadyEvery <= 0 || c.Steady < 4*c.SteadyEvery:
		return errors.New("steady writes must last for at least four samples")
	case c.SteadyRate <= 0:
		return errors.New("the rate of steady writes must be positive")
	}
	return nil
}

// RunResident measures the wanted parts. An error means that a part could not be measured.
func RunResident(ctx context.Context, config ResidentConfig) (*ResidentReport, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	if config.settlePause == 0 {
		config.settlePause = settlePause
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	r := &ResidentReport{Machine: machine, Began: time.Now().UTC().Truncate(time.Second)}
	err = runParts(ctx, &config, config.Only, []part[*ResidentConfig]{
		{partChangesets, r.changesets}, {partPassive, r.passive}, {partSteady, r.steady},
	})
	if err != nil {
		return r, err
	}
	return r, writeCharts(config.Charts, r.charts())
}

// serverConfig is what the servers of the resident command need.
func (c *ResidentConfig) serverConfig() *Config {
	return &Config{
		Program: c.Program, Dir: c.Dir, Progress: c.Progress, settlePause: c.settlePause,
		Connections: fillConnections, metrics: true,
	}
}

// fillConnections are the connections that fill servers.
const fillConnections = 64

// residentEnv is the environment of these servers. Their settings are the defaults.
var residentEnv = []string{"PWS_SEARCH=on"}

// resident is VmRSS of a server.
func (s *server) resident() (int64, error) {
	usage, err := child.ReadUsage(s.process.PID())
	return usage.RSSBytes, err
}

// settledResident is VmRSS once the server has given back what it does not need.
func (s *server) settledResident(ctx context.Context) (int64, error) {
	if _, err := s.settledMemory(ctx); err != nil {
		return 0, err
	}
	return s.resident()
}

// table adds the memory by owner at this moment.
func (r *ResidentReport) table(ctx context.Context, s *server, when string) error {
	before, err := s.resident()
	if err != nil {
		return err
	}
	owners, err := s.owners(ctx)
	if err != nil {
		return err
	}
	after, err := s.resident()
	if err != nil {
		return err
	}
	r.Tables = append(r.Tables, OwnersTable{
		When: when, Resident: (before + after) / 2, Owners: owners,
	})
	return nil
}

// changesets fills projects and compares the memory with that of the empty server.
func (r *ResidentReport) changesets(ctx context.Context, config *ResidentConfig) error {
	s, err := startServer(ctx, config.serverConfig(), residentEnv...)
	if err != nil {
		return err
	}
	defer s.close()
	out := &ChangesetsMemory{Projects: config.Projects}
	if out.EmptyBytes, err = s.settledResident(ctx); err != nil {
		return err
	}
	if err := r.table(ctx, s, "empty"); err != nil {
		return err
	}
	s.config.say("resident: %d changesets into %d projects", config.Changesets, config.Projects)
	projects, err := s.createMany(ctx, config.Projects, "PUBLIC")
	if err != nil {
		return err
	}
	// Creating a project makes its first changeset.
	per := max(1, config.Changesets/config.Projects-1)
	if err := s.fillFiles(ctx, projects, per, contentBytes); err != nil {
		return err
	}
	out.Changesets = config.Projects * (per + 1)
	if err := r.table(ctx, s, "written"); err != nil {
		return err
	}
	if out.WrittenBytes, err = s.settledResident(ctx); err != nil {
		return err
	}
	if err := r.table(ctx, s, "written, settled"); err != nil {
		return err
	}
	if err := s.restartInOrder(ctx); err != nil {
		return err
	}
	err = s.each(ctx, len(projects), func(api *client.API, at int) error {
		return api.Get(projectPath(projects[at]), nil)
	})
	if err != nil {
		return err
	}
	if out.PackedBytes, err = s.settledResident(ctx); err != nil {
		return err
	}
	if err := r.table(ctx, s, "in packs, all projects read"); err != nil {
		return err
	}
	n := float64(out.Changesets)
	out.BytesPerChangeset = float64(out.WrittenBytes-out.EmptyBytes) / n
	out.PackedPer = float64(out.PackedBytes-out.EmptyBytes) / n
	r.Changesets = out
	return nil
}

// passive creates projects, restarts the server, and compares its memory with that of an empty one.
func (r *ResidentReport) passive(ctx context.Context, config *ResidentConfig) error {
	s, err := startServer(ctx, config.serverConfig(), residentEnv...)
	if err != nil {
		return err
	}
	defer s.close()
	out := &PassiveMemory{Projects: config.Passive}
	if out.EmptyBytes, err = s.settledResident(ctx); err != nil {
		return err
	}
	s.config.say("resident: %d projects", config.Passive)
	begun := time.Now()
	if _, err := s.createMany(ctx, config.Passive, "UNLISTED"); err != nil {
		return err
	}
	out.FillPerSecond = float64(config.Passive) / time.Since(begun).Seconds()
	if err := s.restartInOrder(ctx); err != nil {
		return err
	}
	out.RestartSeconds = s.process.Ready.Seconds()
	if out.Bytes, err = s.settledResident(ctx); err != nil {
		return err
	}
	out.BytesPerProject = float64(out.Bytes-out.EmptyBytes) / float64(out.Projects)
	r.Passive = out
	return r.table(ctx, s, "passive projects")
}

// steady writes at a fixed rate into the same files, and samples the memory.
func (r *ResidentReport) steady(ctx context.Context, config *ResidentConfig) error {
	s, err := startServer(ctx, config.serverConfig(), residentEnv...)
	if err != nil {
		return err
	}
	defer s.close()
	s.config.say("resident: writes for %v", config.Steady)
	projects, err := s.createMany(ctx, config.Projects, "PUBLIC")
	if err != nil {
		return err
	}
	out := &SteadyMemory{EverySeconds: config.SteadyEvery.Seconds(), Errors: map[string]int64{}}
	connect := s.puts("steady", "", projects).connect
	fleet, err := connect()
	if err != nil {
		return err
	}
	defer fleet.close()
	before, err := child.WrittenBytes(s.process.PID())
	if err != nil {
		return err
	}
	for range config.Steady / config.SteadyEvery {
		// Each piece of the load ends with a sample.
		sample, err := fleet.drive(ctx, load{duration: config.SteadyEvery, perSecond: config.SteadyRate})
		if err != nil {
			return err
		}
		resident, err := s.resident()
		if err != nil {
			return err
		}
		out.Samples = append(out.Samples, resident)
		out.Writes += sample.Count
		out.Seconds += sample.Seconds
		for outcome, count := range sample.Errors {
			out.Errors[outcome] += count
		}
	}
	out.judge()
	if err := r.table(ctx, s, "end of the steady writes"); err != nil {
		return err
	}
	after, err := child.WrittenBytes(s.process.PID())
	if err != nil {
		return err
	}
	out.DiskBytes = after - before
	if err := s.process.Stop(stopPatience); err != nil {
		return err
	}
	if out.FolderBytes, err = folderBytes(s.dataDir); err != nil {
		return err
	}
	r.Steady = out
	return nil
}

// judge compares the samples of the second half.
func (p *SteadyMemory) judge() {
	if p.Seconds > 0 {
		p.PerSecond = float64(p.Writes) / p.Seconds
	}
	half := p.Samples[len(p.Samples)/2:]
	sum := int64(0)
	for _, one := range half {
		sum += one
		p.Max = max(p.Max, one)
	}
	if len(half) > 0 && sum > 0 {
		p.Mean = float64(sum) / float64(len(half))
		p.Above = float64(p.Max)/p.Mean - 1
	}
}
