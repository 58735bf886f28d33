package bench

import (
	"context"
	"fmt"
	"slices"

	"pws/bench/client"
)

// The reads go to a few files of 1 KiB in a few projects.
const (
	readProjects    = 16
	readFiles       = 4
	readContentSize = 1024
)

// readPaths creates projects with files and returns the request paths of the files.
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

// reader sends prepared requests in turn.
func reader(host, credential string, paths []string, start int) func() []byte {
	requests := make([][]byte, len(paths))
	for i, path := range paths {
		request := client.Request{Method: "GET", Path: path, Host: host, Credential: credential}
		requests[i] = request.Append(nil)
	}
	return inTurn(requests, start)
}

// readers read the paths in turn, each starting at a different one.
func readers(host, credential string, n int, paths []string) connect {
	return httpClients(host, n, func(at int) func() []byte {
		return reader(host, credential, paths, at*max(len(paths)/n, 1))
	})
}

// record returns the raw bytes of a response.
func record(request client.Request) ([]byte, error) {
	conn, err := client.Dial(request.Host)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	response, err := conn.Exchange(request.Append(nil))
	if err != nil {
		return nil, err
	}
	if response.Status != 200 {
		return nil, fmt.Errorf("%s %s: %s", request.Method, request.Path, client.Outcome(response))
	}
	return append(slices.Clone(response.Head), response.Body...), nil
}

// bareReads starts a bare handler that answers as the server answers the first path, and returns
// the clients that read from it.
func (s *server) bareReads(ctx context.Context, paths []string) (*baseline, *subject, error) {
	recorded, err := record(client.Request{
		Method: "GET", Path: paths[0], Host: s.host, Credential: s.api.Credential,
	})
	if err != nil {
		return nil, nil, err
	}
	bare, err := startBareHTTP(ctx, s.config, recorded)
	if err != nil {
		return nil, nil, err
	}
	return bare, &subject{
		name: "bare-http", what: "bare fasthttp handler that sends the same bytes", cpu: bare.cpu,
		connect: readers(bare.address, s.api.Credential, s.config.Connections, paths),
	}, nil
}

// readsTarget is the part of the bare handler's rate that reads should reach.
const readsTarget = 0.8

// runReads compares file reads with a bare handler that sends the same bytes.
func runReads(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	paths, err := srv.readPaths(ctx)
	if err != nil {
		return err
	}
	bare, against, err := srv.bareReads(ctx, paths)
	if err != nil {
		return err
	}
	defer bare.close()
	session, n := srv.api.Credential, config.Connections
	reads := &subject{
		name: RunReads, what: "GET of a 1 KiB file by path, Bearer session", cpu: srv.cpu,
		skip: !config.wants(RunReads), connect: readers(srv.host, session, n, paths),
	}
	anonymous := &subject{
		name: RunReadsAnonymous, what: "the same without a credential", cpu: srv.cpu,
		skip: !config.wants(RunReadsAnonymous), connect: readers(srv.host, "", n, paths),
	}
	if err := report.drive(ctx, config, reads, anonymous, against); err != nil {
		return err
	}
	for _, one := range []*subject{reads, anonymous} {
		report.compareRates(one, against, readsTarget)
	}
	return nil
}
