package bench

import (
	"context"
	"io/fs"
	"path/filepath"
	"time"

	"pws/bench/client"
)

// RestartResult is the time that the service needs to serve again after kill -9.
type RestartResult struct {
	Projects   int `json:"projects"`
	Changesets int `json:"changesets"`
	// Seconds is the time from the start of the process until it announced that it serves.
	Seconds float64 `json:"seconds"`
	// FirstRead is the time until a file of a project has been read.
	FirstRead float64 `json:"first_read_seconds"`
	// Again is Seconds of a second kill and restart without writes in between.
	Again                 float64 `json:"again_seconds"`
	ChangesetsPerSecond   float64 `json:"changesets_per_second"`
	FillPerSecond         float64 `json:"fill_per_second"`
	DiskBytesPerChangeset float64 `json:"disk_bytes_per_changeset"`
	// Checked is the number of projects whose changesets were counted; Lost is the number missing.
	Checked int `json:"checked_projects"`
	Lost    int `json:"lost_changesets"`
}

// restartChecked is how many projects are checked for lost changesets.
const restartChecked = 200

// fillContentBytes is the size of each content of the restart run.
const fillContentBytes = 40

// runRestart fills a server, kills it, and measures its restart.
func runRestart(ctx context.Context, srv *server, report *Report) error {
	projects, filled, err := srv.fillForRestart(ctx)
	if err != nil {
		return err
	}
	size, err := folderBytes(srv.dataDir)
	if err != nil {
		return err
	}
	// Creating the project makes the first changeset.
	perProject := srv.config.changesetsPerProject() + 1
	result := &RestartResult{
		Projects: len(projects), Changesets: perProject * len(projects),
		FillPerSecond: filled.PerSecond(),
	}
	result.DiskBytesPerChangeset = float64(size) / float64(result.Changesets)
	if err := srv.killAndTime(ctx, projects, result); err != nil {
		return err
	}
	if err := srv.checkLost(ctx, projects, perProject, result); err != nil {
		return err
	}
	srv.process.Kill()
	if err := srv.start(ctx); err != nil {
		return err
	}
	result.Again = srv.process.Ready.Seconds()
	report.Restart = result
	return nil
}

// fillForRestart publishes the changesets, one file each, and returns the projects.
func (s *server) fillForRestart(ctx context.Context) ([]string, *Sample, error) {
	s.config.say("restart: filling %d projects with %d changesets", s.config.RestartProjects,
		s.config.RestartChangesets)
	projects, err := s.createProjects(ctx, s.config.RestartProjects)
	if err != nil {
		return nil, nil, err
	}
	n := min(s.config.Connections, len(projects))
	filled, err := fill(ctx, httpClients(s.host, n, func(at int) func() []byte {
		w := &writer{host: s.host, credential: s.api.Credential,
			filler: newFiller(at, fillContentBytes)}
		for project := at; project < len(projects); project += n {
			w.paths = append(w.paths, filePath(projects[project], "notes.txt"))
		}
		w.left = len(w.paths) * s.config.changesetsPerProject()
		return w.nextOfMany
	}))
	return projects, filled, err
}

// changesetsPerProject is the number of changesets in each project of the restart run.
func (c *Config) changesetsPerProject() int {
	return max(c.RestartChangesets/c.RestartProjects, 1)
}

// killAndTime kills the server and measures its restart.
func (s *server) killAndTime(
	ctx context.Context, projects []string, result *RestartResult,
) error {
	s.process.Kill()
	begin := time.Now()
	if err := s.start(ctx); err != nil {
		return err
	}
	result.Seconds = s.process.Ready.Seconds()
	if err := s.api.Get(filePath(projects[len(projects)/2], "notes.txt"), nil); err != nil {
		return err
	}
	result.FirstRead = time.Since(begin).Seconds()
	result.ChangesetsPerSecond = float64(result.Changesets) / result.Seconds
	return nil
}

// checkLost compares the number of changesets of a sample of projects with the expected one.
func (s *server) checkLost(
	ctx context.Context, projects []string, want int, result *RestartResult,
) error {
	result.Checked = min(restartChecked, len(projects))
	missing := make([]int, result.Checked)
	err := s.each(ctx, result.Checked, func(api *client.API, at int) error {
		var data struct {
			Project struct {
				Counts struct {
					Changesets int `json:"changesets"`
				} `json:"counts"`
			} `json:"project"`
		}
		project := projects[at*len(projects)/result.Checked]
		if err := api.Get("/api/v1/projects/"+project, &data); err != nil {
			return err
		}
		missing[at] = want - data.Project.Counts.Changesets
		return nil
	})
	for _, n := range missing {
		result.Lost += n
	}
	return err
}

// folderBytes is the total size of the files below a folder.
func folderBytes(dir string) (int64, error) {
	var total int64
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		total += info.Size()
		return nil
	})
	return total, err
}
