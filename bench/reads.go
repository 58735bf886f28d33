package bench

import (
	"context"
	"fmt"
	"slices"

	"pws/bench/client"
)

// The reads go to a few files of a few projects, each of 1 KiB.
const (
	readProjects    = 16
	readFiles       = 4
	readContentSize = 1024
)

// readPaths fills projects with files to read and returns their request paths.
func (s *server) readPaths(ctx context.Context) ([]string, error) {
	projects, err := s.createProjects(ctx, readProjects)
	if err != nil {
		return nil, err
	}
	var paths []string
	for _, project := range projects {
		for file := range readFiles {
			paths = append(paths, filePath(project, fmt.Sprintf("src/file-%d.txt", file)))
		}
	}
	err = s.each(ctx, len(paths), func(api *client.API, at int) error {
		return putFile(api, paths[at], newFiller(at, readContentSize).next())
	})
	return paths, err
}

// reader makes requests of prepared paths in turn.
func reader(host, credential string, paths []string, start int) func() []byte {
	requests := make([][]byte, len(paths))
	for at, path := range paths {
		request := client.Request{Method: "GET", Path: path, Host: host, Credential: credential}
		requests[at] = request.Append(nil)
	}
	return inTurn(requests, start)
}

// record fetches the raw bytes of a response.
func record(host, credential, path string) ([]byte, error) {
	conn, err := client.Dial(host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	request := client.Request{Method: "GET", Path: path, Host: host, Credential: credential}
	response, err := conn.Exchange(request.Append(nil))
	if err != nil {
		return nil, err
	}
	if response.Status != 200 {
		return nil, fmt.Errorf("GET %s: %s", path, client.Outcome(response))
	}
	return append(slices.Clone(response.Head), response.Body...), nil
}

// readsTarget is the part of the bare handler's rate that reads are to reach.
const readsTarget = 0.8

// runReads compares reads of a file with a bare handler that sends the same bytes.
func runReads(ctx context.Context, config *Config, report *Report) error {
	srv, err := startServer(ctx, config)
	if err != nil {
		return err
	}
	defer srv.close()
	paths, err := srv.readPaths(ctx)
	if err != nil {
		return err
	}
	recorded, err := record(srv.host, srv.api.Credential, paths[0])
	if err != nil {
		return err
	}
	bare, err := startBareHTTP(ctx, config, recorded)
	if err != nil {
		return err
	}
	defer bare.close()
	bareHost, err := client.HostOf(bare.process.URL)
	if err != nil {
		return err
	}
	var subjects []*subject
	defer func() {
		for _, one := range subjects {
			one.fleet.close()
		}
	}()
	for _, one := range []struct {
		subject
		host, credential string
	}{
		{subject{name: RunReads, what: "GET of a 1 KiB file by path, Bearer session", cpu: srv.cpu},
			srv.host, srv.api.Credential},
		{subject{name: RunReadsAnonymous, what: "the same without a credential", cpu: srv.cpu},
			srv.host, ""},
		{subject{name: bareHTTPName, what: "bare fasthttp handler that sends the same bytes",
			cpu: processCPU(bare.process)},
			bareHost, srv.api.Credential},
	} {
		if one.name == bareHTTPName || config.wants(one.name) {
			one.fleet, err = dialHTTP(one.host, config.Connections, func(at int) func() []byte {
				return reader(one.host, one.credential, paths, at)
			})
			if err != nil {
				return err
			}
			subjects = append(subjects, &one.subject)
		}
	}
	if err := driveRounds(ctx, config, report, subjects); err != nil {
		return err
	}
	last := subjects[len(subjects)-1]
	for _, one := range subjects[:len(subjects)-1] {
		report.compareRates(one, last, readsTarget)
	}
	return nil
}

const bareHTTPName = "bare-http"
