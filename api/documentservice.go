package api

import (
	"strconv"

	"pws/api/jsonschema"
	"pws/index"
	"pws/work"
)

// ServiceRecord says where everything of the service is, as plain JSON.
type ServiceRecord struct {
	// Name of the service.
	Name string `json:"name"`
	// Version of the program.
	Version string `json:"version"`
	// Base URL of all paths.
	BaseURL string `json:"base_url"`
	// Base path of the API.
	API string `json:"api"`
	// Version of the API.
	APIVersion string `json:"api_version"`
	// The MCP endpoint.
	MCP string `json:"mcp"`
	// The OpenAPI document.
	OpenAPI string `json:"openapi"`
	// The reference document.
	Docs string `json:"docs"`
	// How an agent gets started.
	LLMs string `json:"llms"`
	// All documents, by name.
	Documents map[string]string `json:"documents"`
	// Capabilities and limits of this deployment.
	Capabilities string `json:"capabilities"`
	// The health check.
	Health string `json:"health"`
	// How to authenticate. Paths are relative to base_url.
	Auth AuthModel `json:"auth"`
}

const (
	servicePath = "/.well-known/service"
	mcpPath     = "/mcp"
)

var serviceOperation = declare[None, ServiceRecord](Operation{
	Name: "document.service", Method: "GET", Path: servicePath,
	Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
	Conditional: true, Media: []string{jsonMedia},
	Tag: "documents", Summary: "Get the discovery record",
	Doc: "Returns the addresses of the API, MCP and all documents, as plain JSON without an " +
		"envelope.",
}, func(c *Call, _ *None) (Reply, error) { return c.serviceRecord(), nil })

func (c *Call) serviceRecord() Reply {
	base := c.base()
	record := ServiceRecord{
		Name: ServiceName, Version: c.Service.Config.Version, BaseURL: base,
		API: base + BasePath, APIVersion: APIVersion, MCP: base + mcpPath,
		OpenAPI: base + "/openapi.json", Docs: base + "/docs.md", LLMs: base + "/llms.txt",
		Capabilities: base + "/api/v1/capabilities", Health: base + "/api/v1/health",
		Documents: map[string]string{}, Auth: authModel(c.Service.Engine.Identity()),
	}
	for _, one := range servedDocuments {
		record.Documents[one.name] = base + one.path
	}
	body := append(appendData(nil, record), '\n')
	return Reply{Data: Document{ContentType: jsonMedia, Body: body}, ETag: TagOf(body)}
}

// Status is what the status page shows.
type Status struct {
	Version, Now, Since, Uptime string
	// Well says that no part of the service has failed.
	Well bool
	// Writable says that writes are accepted.
	Writable bool
	Checks   []Check
	Waiting  int
	// The figures are of what everybody can see.
	Agents, Projects, Tasks int
	Limited                 bool
}

// readStatus answers the page also while a part has failed; meta.health has a status for that.
func readStatus(c *Call, _ *None) (Reply, error) {
	engine, config := c.Service.Engine, &c.Service.Config
	data := &Status{
		Version: config.Version, Now: jsonschema.TimeText(c.Now),
		Since:  jsonschema.TimeText(config.Started),
		Uptime: spell(max(0, c.Now-config.Started) / 1000), Well: true, Checks: engine.Health(),
		Writable: engine.Space().Writable,
		Agents:   engine.Identity().Counts().Agents, Limited: len(config.Limits) > 0,
	}
	for _, check := range data.Checks {
		data.Well = data.Well && check.Fault == ""
		data.Waiting += check.Waiting
	}
	indexes := engine.Indexes(index.ForListing | index.ForTasks)
	data.Projects = indexes.Listing.Len()
	data.Tasks = indexes.Tasks.CountPublic(work.TaskOpen, engine.Now())
	body := c.Service.Documents.Status(data, c.base())
	return Reply{Data: Document{ContentType: markdownMedia, Body: body}}, nil
}

// spell writes seconds as days, hours, minutes and seconds, without those in front that are none.
func spell(seconds int64) string {
	text, begun := "", false
	for _, unit := range []struct {
		name    string
		seconds int64
	}{{" d ", 24 * 3600}, {" h ", 3600}, {" min ", 60}} {
		if count := seconds / unit.seconds; count > 0 || begun {
			text, begun = text+strconv.FormatInt(count, 10)+unit.name, true
		}
		seconds %= unit.seconds
	}
	return text + strconv.FormatInt(seconds, 10) + " s"
}
