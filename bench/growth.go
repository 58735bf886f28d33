package bench

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"time"
)

// The parts of the growth command, in order.
const (
	growthProjects    = "projects"
	growthChangesets  = "changesets"
	growthFiles       = "files"
	growthTasks       = "tasks"
	growthConnections = "connections"
	growthLoad        = "load"
)

// GrowthParts lists all parts of the growth command in order.
var GrowthParts = []string{
	growthProjects, growthChangesets, growthFiles, growthTasks, growthConnections, growthLoad,
}

// GrowthConfig says how much servers are filled with, and how long each size is measured.
type GrowthConfig struct {
	// Program is the binary whose serve command is started.
	Program string
	// Only names the wanted parts; empty means all.
	Only []string
	// Duration is the length of each run in each round.
	Duration time.Duration
	Rounds   int
	// Connections drive all parts but that of the connections.
	Connections int
	// The sizes of each part, ascending: projects of a server, and changesets, files and tasks of one
	// project.
	Projects, Changesets, Files, Tasks []int
	// Clients are the numbers of connections, and Idle that of those that send nothing beside them.
	Clients []int
	Idle    int
	// Loads are parts of the peak rate.
	Loads []float64
	// Dir is where temporary folders are made; empty means the system's default. Charts is where
	// charts are written; empty means nowhere.
	Dir, Charts string
	// Progress receives a line for each step; nil means no output.
	Progress io.Writer
}

// GrowthReport compares the service at several sizes.
type GrowthReport struct {
	Report
	Points []GrowthPoint `json:"points"`
}

// GrowthPoint is one kind of request at one size: of the part, or for a load the wanted rate.
type GrowthPoint struct {
	Part      string  `json:"part"`
	Kind      string  `json:"kind"`
	Size      float64 `json:"size"`
	PerSecond float64 `json:"per_second"`
	Latency   Latency `json:"latency"`
	// OfSmallest is the rate divided by that of the smallest size.
	OfSmallest float64 `json:"of_smallest,omitempty"`
}

// growthTarget is the part of the rate at the smallest size that the others should reach, and the
// reciprocal of how many times its p99 the others may take.
const growthTarget = 0.8

func (c *GrowthConfig) validate() error {
	if err := checkNames("part", c.Only, GrowthParts); err != nil {
		return err
	}
	for _, one := range []struct {
		name  string
		sizes []int
		most  int
	}{
		{"projects", c.Projects, projectsMax}, {"changesets", c.Changesets, changesetsMax},
		{"files", c.Files, filesMax}, {"tasks", c.Tasks, tasksMax},
		{"clients", c.Clients, connectionsMax},
	} {
		if len(one.sizes) == 0 || one.sizes[0] < 1 || !slices.IsSorted(one.sizes) ||
			one.sizes[len(one.sizes)-1] > one.most {
			return fmt.Errorf("the numbers of %s must ascend from 1 to at most %d", one.name, one.most)
		}
	}
	if len(c.Loads) == 0 || slices.Min(c.Loads) <= 0 || slices.Max(c.Loads) > 1 {
		return fmt.Errorf("the loads must be above 0 and at most 1")
	}
	if c.Idle < 0 || c.Idle > watchersMax {
		return fmt.Errorf("idle connections must be from 0 to %d", watchersMax)
	}
	// The bounds of the other numbers are those of rates.
	common := c.rates()
	common.Only = nil
	return common.validate()
}

// filesMax is the service's limit for one project.
const filesMax = 5000

// rates are the settings of the servers and of the rounds.
func (c *GrowthConfig) rates() *Config {
	return &Config{
		Program: c.Program, Duration: c.Duration, Rounds: c.Rounds, Connections: c.Connections,
		Dir: c.Dir, Progress: c.Progress, Projects: growthSpread, ClaimTasks: 1,
		ResumeChangesets: 1, ResumeTasks: 1, ResumeHandoffs: 1, Watchers: 1, SearchDocuments: 1,
		RestartProjects: 1, RestartChangesets: 1, MemoryProjects: 1, MemoryOperations: 1,
	}
}

// RunGrowth measures the wanted parts. An error means that a part could not be measured.
func RunGrowth(ctx context.Context, config GrowthConfig) (*GrowthReport, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	r := &GrowthReport{Report: Report{
		Machine: machine, Began: time.Now().UTC().Truncate(time.Second),
		SecondsPerRun: config.Duration.Seconds(), Connections: config.Connections,
		Rounds: config.Rounds, Program: programVersion(),
	}}
	err = runParts(ctx, &config, config.Only, []part[*GrowthConfig]{
		{growthProjects, r.projects}, {growthChangesets, r.changesets}, {growthFiles, r.files},
		{growthTasks, r.tasks}, {growthConnections, r.connections}, {growthLoad, r.load},
	})
	if err != nil {
		return r, err
	}
	return r, writeCharts(config.Charts, r.charts())
}

// grown is what is measured at one size: subjects of several kinds, named by their kind.
type grown struct {
	size     int
	server   *server
	subjects []*subject
}

// measure drives the subjects of all sizes in turn, and compares each kind with the smallest size.
func (r *GrowthReport) measure(
	ctx context.Context, config *Config, part string, sizes []grown,
) error {
	if err := r.driveAll(ctx, config, part, sizes); err != nil {
		return err
	}
	smallest := sizes[0].subjects
	for _, one := range sizes[1:] {
		for nth, s := range one.subjects {
			if s.perSecond == nil {
				r.compareRates(s, smallest[nth], growthTarget)
			}
			r.compareTimes(s.name+" p99 / "+smallest[nth].name+" p99", s.quantile(99),
				1/growthTarget, smallest[nth].quantile(99))
		}
	}
	return nil
}

// driveAll drives the subjects of all sizes in turn, gives them names with the size, and adds their
// points.
func (r *GrowthReport) driveAll(
	ctx context.Context, config *Config, part string, sizes []grown,
) error {
	var all []*subject
	kinds := map[*subject]string{}
	for _, one := range sizes {
		for _, s := range one.subjects {
			kinds[s] = s.name
			s.name = fmt.Sprintf("%s-%d-%s", part, one.size, s.name)
			all = append(all, s)
		}
	}
	if err := r.drive(ctx, config, all...); err != nil {
		return err
	}
	for _, one := range sizes {
		for nth, s := range one.subjects {
			p := r.point(part, kinds[s], float64(one.size), s)
			p.OfSmallest = p.PerSecond / max(medianRate(sizes[0].subjects[nth]), 1)
			r.Points = append(r.Points, p)
		}
	}
	return nil
}

// medianRate is the rate of a subject over all rounds.
func medianRate(s *subject) float64 {
	rates := make([]float64, len(s.rounds))
	for round := range s.rounds {
		rates[round] = s.rate(round)
	}
	return median(rates)
}

func (r *GrowthReport) point(part, kind string, size float64, s *subject) GrowthPoint {
	total := newSample()
	for _, one := range s.rounds {
		total.merge(one)
	}
	return GrowthPoint{
		Part: part, Kind: kind, Size: size, PerSecond: medianRate(s), Latency: total.latency(),
	}
}

// charts draw the points of the parts that were measured.
func (r *GrowthReport) charts() []*chart {
	caption := captionOf(r.Machine, r.Began)
	growth := &chart{
		name: "growth", title: "Rate by size, of that of the smallest size", caption: caption,
		x: axis{label: "number of them", logarithmic: true},
		y: axis{label: "part of the rate", least: 0, most: 1},
	}
	for _, one := range []struct{ part, kind, name string }{
		{growthProjects, "writes", "durable writes by projects"},
		{growthProjects, "reads", "reads by projects"},
		{growthChangesets, "reads", "reads by changesets"},
		{growthChangesets, "history", "history by changesets"},
		{growthFiles, "reads", "reads by files"},
		{growthTasks, "reads", "reads of tasks by tasks"},
	} {
		growth.line(one.name, r.Points, func(p *GrowthPoint) (point, bool) {
			return point{p.Size, p.OfSmallest}, p.Part == one.part && p.Kind == one.kind
		})
	}
	connections := &chart{
		name: "connections", title: "Requests a second by connections", caption: caption,
		x: axis{label: "connections", logarithmic: true}, y: axis{label: "a second"},
	}
	for _, kind := range []string{"writes", "reads"} {
		connections.line(kind, r.Points, func(p *GrowthPoint) (point, bool) {
			return point{p.Size, p.PerSecond}, p.Part == growthConnections && p.Kind == kind
		})
	}
	load := &chart{
		name: "load", title: "Latency of durable writes by load", caption: caption,
		x: axis{label: "writes a second"}, y: axis{label: "milliseconds", logarithmic: true},
	}
	for _, one := range []struct {
		name string
		of   func(Latency) int64
	}{
		{"p50", func(l Latency) int64 { return l.P50 }},
		{"p99", func(l Latency) int64 { return l.P99 }},
		{"p99.9", func(l Latency) int64 { return l.P999 }},
	} {
		load.line(one.name, r.Points, func(p *GrowthPoint) (point, bool) {
			return point{p.Size, float64(one.of(p.Latency)) / 1000}, p.Part == growthLoad
		})
	}
	return []*chart{growth, connections, load}
}
