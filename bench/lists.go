package bench

import (
	"context"
	"fmt"

	"pws/bench/client"
)

// listsTarget is the part of the rate of a bare handler that lists should reach.
const listsTarget = 0.6

// batchFiles is the number of files that one request of read-batch names.
const batchFiles = 20

// list is a request that is answered with many records.
type list struct {
	name, what string
	request    client.Request
}

// lists are the requests that runLists sends.
func lists(project string) ([]list, error) {
	paths := make([]string, batchFiles)
	for i := range paths {
		paths[i] = fmt.Sprintf("src/w%d/file-%d.txt", i/filesPerWriter, i%filesPerWriter)
	}
	body, err := client.EncodeJSON(map[string][]string{"paths": paths})
	return []list{
		{
			RunLists, "GET, the first page of files",
			client.Request{Method: "GET", Path: projectPath(project) + "/files"},
		},
		{
			"lists-history", "GET, the first page of changesets",
			client.Request{Method: "GET", Path: projectPath(project) + "/changesets"},
		},
		{
			"lists-batch", fmt.Sprintf("POST that reads %d files of %d B", batchFiles, contentBytes),
			client.Request{
				Method: "POST", Path: projectPath(project) + "/files/read-batch", Body: body,
			},
		},
	}, err
}

// runLists compares answers of many records with bare handlers that send the same bytes.
func runLists(ctx context.Context, srv *server, report *Report) error {
	config := srv.config
	project, err := srv.fillProject(ctx, projectSize{changesets: config.ResumeChangesets})
	if err != nil {
		return fmt.Errorf("fill the project: %w", err)
	}
	agents, err := srv.registerAgents(ctx, config.Connections)
	if err != nil {
		return fmt.Errorf("register the agents: %w", err)
	}
	wanted, err := lists(project)
	if err != nil {
		return err
	}
	var subjects []*subject
	for _, one := range wanted {
		one.request.Host, one.request.Credential = srv.host, agents[0].credential
		answer, err := record(one.request)
		if err != nil {
			return err
		}
		bare, err := startBareHTTP(ctx, config, answer)
		if err != nil {
			return err
		}
		defer bare.close()
		subjects = append(subjects, &subject{
			name: one.name, cpu: srv.cpu, connect: asked(srv.host, one.request, agents),
			what: fmt.Sprintf("%s; an answer of %.1f kB", one.what, float64(len(answer))/1000),
		}, &subject{
			name: one.name + "-bare", what: "bare fasthttp handler that sends the same bytes",
			cpu: bare.cpu, connect: asked(bare.address, one.request, agents),
		})
	}
	if err := report.drive(ctx, config, subjects...); err != nil {
		return err
	}
	for i := 0; i < len(subjects); i += 2 {
		report.compareRates(subjects[i], subjects[i+1], listsTarget)
	}
	return nil
}

// asked connects a client for each agent. All send the same request.
func asked(address string, request client.Request, agents []agent) connect {
	return httpClients(address, len(agents), func(at int) func() []byte {
		one := request
		one.Host, one.Credential = address, agents[at].credential
		text := one.Append(nil)
		return func() []byte { return text }
	})
}
