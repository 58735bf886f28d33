package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

// The parts of the group command, in order.
const (
	groupWrites   = "writes"
	groupReads    = "reads"
	groupFailover = "failover"
	groupJoin     = "join"
)

// GroupParts lists all parts of the group command in order.
var GroupParts = []string{groupWrites, groupReads, groupFailover, groupJoin}

// GroupConfig says for how long groups of servers are driven, and what is done to them.
type GroupConfig struct {
	// Program is the binary whose serve and cluster commands are started.
	Program string
	// Only names the wanted parts; empty means all.
	Only []string
	// Duration is the length of each run in each round of writes and reads.
	Duration    time.Duration
	Rounds      int
	Connections int
	// Projects are what each run of writes writes to.
	Projects int
	// Harms is how often the leader is killed, and as often it is stopped.
	Harms int
	// Writers send WriteRate writes a second, together, while leaders are harmed and while a member
	// joins.
	Writers   int
	WriteRate float64
	// A member joins a group that has Changesets in Filled projects.
	Changesets, Filled int
	// Dir is where temporary folders are made; empty means the system's default.
	Dir string
	// Progress receives a line for each step; nil means no output.
	Progress io.Writer

	// attempt is for how long a writer waits for a member.
	attempt time.Duration
}

// GroupReport compares a group of three with a single server, and says what its members do when
// one of them is lost or is new.
type GroupReport struct {
	Report
	// Elections is how often the leader changed during the rounds of writes and reads. Where it is
	// not zero, some writes to "the leader" were passed on.
	Elections uint64          `json:"elections"`
	Failover  *FailoverResult `json:"failover,omitempty"`
	Joins     []JoinResult    `json:"joins,omitempty"`
}

// groupMembers is the size of a group.
const groupMembers = 3

// The upper bounds of the numbers of harms and of writers.
const (
	harmsMax   = 10_000
	writersMax = 1000
)

func (c *GroupConfig) validate() error {
	if err := checkNames("part", c.Only, GroupParts); err != nil {
		return err
	}
	switch {
	case c.Harms < 1 || c.Harms > harmsMax:
		return fmt.Errorf("harms must be from 1 to %d", harmsMax)
	case c.Writers < 1 || c.Writers > writersMax:
		return fmt.Errorf("writers must be from 1 to %d", writersMax)
	case c.WriteRate <= 0:
		return errors.New("the rate of writes must be positive")
	case c.Filled < 1 || c.Filled > projectsMax:
		return fmt.Errorf("filled projects must be from 1 to %d", projectsMax)
	case c.Changesets < c.Filled || c.Changesets > changesetsMax:
		return fmt.Errorf("changesets must be from the number of projects to %d", changesetsMax)
	}
	return c.rates().validate()
}

// rates are the settings of the servers and of the rounds. The bounds are those of growth.
func (c *GroupConfig) rates() *Config {
	common := (&GrowthConfig{
		Program: c.Program, Duration: c.Duration, Rounds: c.Rounds, Connections: c.Connections,
		Dir: c.Dir, Progress: c.Progress,
	}).rates()
	// Members are asked for /readyz.
	common.Projects, common.metrics = c.Projects, true
	return common
}

// RunGroup measures the wanted parts. An error means that a part could not be measured.
func RunGroup(ctx context.Context, config GroupConfig) (*GroupReport, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	if config.Dir == "" {
		config.Dir = os.TempDir()
	}
	if config.attempt == 0 {
		config.attempt = attemptMax
	}
	machine, err := readMachine(config.Dir)
	if err != nil {
		return nil, err
	}
	r := &GroupReport{Report: Report{
		Machine: machine, Began: time.Now().UTC().Truncate(time.Second),
		SecondsPerRun: config.Duration.Seconds(), Connections: config.Connections,
		Rounds: config.Rounds, Program: programVersion(),
	}}
	return r, runParts(ctx, &config, config.Only, []part[*GroupConfig]{
		{groupWrites, r.writes}, {groupReads, r.reads}, {groupFailover, r.failover},
		{groupJoin, r.join},
	})
}
