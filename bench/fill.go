package bench

import (
	"context"
	"fmt"

	"pws/bench/client"
)

// creator creates projects, and notes their IDs. What is refused for lack of room is sent again,
// with its key.
type creator struct {
	host, credential, visibility string
	// ids are the places of the IDs of its projects.
	ids  []*string
	turn int
	key  string
	out  []byte
}

func (c *creator) next() []byte {
	if c.turn == len(c.ids) {
		return nil
	}
	if c.key == "" {
		c.key = client.RandomKey()
	}
	request := client.Request{
		Method: "POST", Path: "/api/v1/projects", Host: c.host, Credential: c.credential,
		IdempotencyKey: c.key,
		Body: []byte(`{"name":"Filled project","visibility":"` + c.visibility +
			`","reuse_policy":"REFERENCE_ONLY"}`),
	}
	c.out = request.Append(c.out[:0])
	return c.out
}

func (c *creator) complete(have []byte) (bool, string, error) {
	response, whole, err := parseHTTP(have)
	if err != nil || !whole {
		return false, "", err
	}
	outcome := client.Outcome(response)
	if isRefusal(outcome) {
		return true, outcomeUncounted, nil
	}
	if outcome != "" {
		return true, outcome, nil
	}
	ident, found := findID(response.Body, `"project":{"id":"`)
	if !found {
		return true, fmt.Sprintf("%d without a project", response.Status), nil
	}
	*c.ids[c.turn] = ident
	c.turn++
	c.key = ""
	return true, "", nil
}

// createMany creates projects by many connections, and returns their IDs.
func (s *server) createMany(ctx context.Context, n int, visibility string) ([]string, error) {
	ids := make([]string, n)
	connections := min(fillConnections, n)
	_, err := fill(ctx, clients(s.host, connections, func(at int) exchange {
		c := &creator{host: s.host, credential: s.api.Credential, visibility: visibility}
		for nth := at; nth < n; nth += connections {
			c.ids = append(c.ids, &ids[nth])
		}
		return c
	}))
	if err != nil {
		return nil, fmt.Errorf("create projects: %w", err)
	}
	for _, ident := range ids {
		if ident == "" {
			return nil, fmt.Errorf("only a part of %d projects was created", n)
		}
	}
	return ids, nil
}

// fillFiles publishes changesets of one file each, so many in each project, into 8 files.
func (s *server) fillFiles(ctx context.Context, projects []string, per, size int) error {
	n := min(fillConnections, len(projects))
	_, err := fill(ctx, httpClients(s.host, n, func(at int) func() []byte {
		w := &writer{host: s.host, credential: s.api.Credential, filler: newFiller(at, size)}
		var mine []string
		for nth := at; nth < len(projects); nth += n {
			mine = append(mine, projects[nth])
		}
		for file := range filesPerWriter {
			for _, project := range mine {
				w.paths = append(w.paths, filePath(project, fmt.Sprintf("src/file-%d.txt", file)))
			}
		}
		w.left = len(mine) * per
		return w.nextOfMany
	}))
	return err
}

// createFiles creates files in a project, in as few changesets as the service allows, and returns
// their paths.
func createFiles(api *client.API, project client.Project, count int) ([]string, error) {
	paths, base := make([]string, 0, count), project.Head
	content := newFiller(count, contentBytes)
	for len(paths) < count {
		operations := make([]fillOperation, 0, operationsPerRequest)
		for len(operations) < operationsPerRequest && len(paths) < count {
			path := fmt.Sprintf("src/part-%d/file-%d.txt", len(paths)/200, len(paths))
			operations = append(operations, fillOperation{
				Action: "CREATE", Path: path, Content: string(content.next()),
			})
			paths = append(paths, filePath(project.ID, path))
		}
		var err error
		if base, err = publish(api, project.ID, base, operations); err != nil {
			return nil, err
		}
	}
	return paths, nil
}
