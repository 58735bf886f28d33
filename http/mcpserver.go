package http

import (
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/localhost"
)

// mcpServer is the constant data of the endpoint.
type mcpServer struct {
	tools map[string]*tool
	// lists are the tools as JSON: all and the core, with dotted names and with plain ones. Each is
	// made when it is asked for, because that takes longer than the rest of a server's start.
	lists map[listing]func() ([]byte, error)
	// info is serverInfo as JSON, and toolInfo the part of it that the results of tools have.
	info, toolInfo []byte
	// message, discover and list are routes for requests that call no tool. They have a name and a
	// category for logs and limits.
	message, discover, list *route
	// earlier says that the earlier protocol is served.
	earlier bool
	// own is the origin of the service itself.
	own string
	// names replaces dotted names of tools by plain ones.
	names *strings.Replacer
}

// listing is a set of tools and the form of their names.
type listing struct{ plain, core bool }

func newMCP(
	config *api.Config, table []*api.Operation, r *routes, bodyMax int,
) *mcpServer {
	pseudo := func(name string) *route {
		return &route{
			operation: &api.Operation{
				Name: name, Tag: "mcp", Method: fasthttp.MethodPost, Category: api.CategoryRead,
			},
			bodyMax: bodyMax, project: -1,
		}
	}
	m := &mcpServer{
		tools: map[string]*tool{}, lists: map[listing]func() ([]byte, error){},
		message: pseudo("mcp.message"), discover: pseudo("mcp.discover"),
		list: pseudo("mcp.list"), earlier: !config.NoEarlierMCP, own: originOf(config.PublicURL),
	}
	all := api.Tools(table)
	m.names = api.PlainNames(all)
	for _, one := range all {
		made := newTool(one, r)
		m.tools[one.Name], m.tools[one.Plain] = made, made
	}
	m.info = append(m.info, `{"name":"pws","title":"Persistent work service","version":`...)
	m.info = append(jsonschema.AppendString(m.info, config.Version), '}')
	m.toolInfo = append(m.toolInfo, `{"name":"pws","version":`...)
	m.toolInfo = append(jsonschema.AppendString(m.toolInfo, config.Version), '}')
	for _, core := range []bool{false, true} {
		for _, plain := range []bool{false, true} {
			m.lists[listing{plain, core}] = sync.OnceValues(func() ([]byte, error) {
				list, err := api.RenderTools(all, core)
				return []byte(m.renameTools(string(list), plain)), err
			})
		}
	}
	return m
}

// renameTools replaces the names of tools in a text, for clients that use plain names.
func (m *mcpServer) renameTools(text string, plain bool) string {
	if plain {
		return m.names.Replace(text)
	}
	return text
}

// originOf is the origin of a URL, empty where it has none.
func originOf(base string) string {
	parsed, err := url.Parse(base)
	if err != nil || parsed.Host == "" {
		return ""
	}
	return parsed.Scheme + "://" + parsed.Host
}

// trustsOrigin reports whether pages of an origin may use the endpoint: configured origins, that of
// the service, and loopback addresses. A foreign host name that resolves to this machine, as in DNS
// rebinding, is not trusted.
func (s *Server) trustsOrigin(origin string) bool {
	if slices.Contains(s.origins.named, origin) || origin == s.mcp.own {
		return true
	}
	parsed, err := url.Parse(origin)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" {
		return false
	}
	return localhost.Host(parsed.Hostname())
}
