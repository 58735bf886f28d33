package docs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
)

const testBase = "https://work.example:8443/there"

// servedTexts are all documents as served, by path.
func servedTexts() map[string]string {
	limits := []api.RateLimit{
		{Name: "anonymous", Scope: "IP", Quota: 600, WindowSeconds: 60},
		{Name: "search", Scope: "AGENT", Category: api.CategorySearch, Quota: 300, WindowSeconds: 60},
	}
	documents := New(api.Config{Version: "1.2.3", Limits: limits})
	texts := map[string]string{}
	for _, op := range api.Table {
		if op.Tag == "documents" && strings.HasPrefix(strings.Join(op.Media, ""), "text/") {
			file := cmp.Or(strings.TrimPrefix(op.Path, "/"), "home.txt")
			texts[op.Path] = string(documents.Page(file, testBase))
		}
	}
	texts["/"+statusFile] = string(documents.Status(&api.Status{
		Version: "1.2.3", Well: true, Checks: []api.Check{{Name: "wal"}},
	}, testBase))
	return texts
}

var (
	fencePattern   = regexp.MustCompile("(?sm)^```([a-z]*)\n(.*?)^```$")
	tokenPattern   = regexp.MustCompile("`([^`]+)`")
	linkPattern    = regexp.MustCompile(`\[[^\]]*\]\(([^)]*)\)`)
	headingPattern = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// outside are words in backquotes that do not belong to the interface, each with the reason.
var outside = map[string]string{
	"data": "envelope", "meta": "envelope", "error": "envelope",
	"pws-session.sh": "file", "agent.pem": "file", "agent.payload": "file", ".mcp.json": "file",
	".cursor/mcp.json": "file", "~/.codex/config.toml": "file", ".vscode/mcp.json": "file",
	"export PWS_TOKEN=$(sh pws-session.sh HANDLE)": "shell",
	"Prefer: return=minimal":                       "header",
	"Preference-Applied: return=minimal":           "header",
	"x-minimal-data":                               "of OpenAPI", "x-minimal-example": "of OpenAPI",
	"verbose":         "argument",
	"Idempotency-Key": "header", "ETag": "header", "If-Match": "header",
	"Authorization: Bearer": "header", "initialize": "method of MCP", "&": "of a query",
	"idempotency_key": "argument", "_": "character", ".": "character", "-": "character",
	"name?": "notation", "A|B": "notation", "T[]": "notation", "time": "notation",
	"CONNECTIONS": "reason", "CONNECTIONS_IP": "reason", "WAITING": "reason",
	"WAITING_IP": "reason", "WAITING_AGENT": "reason", "EXPENSIVE": "reason", "EXPENSIVE_IP": "reason",
	"EXPENSIVE_AGENT": "reason", "WRITES": "reason",
	"BODY_MEMORY": "reason", "BODY_MEMORY_IP": "reason",
	"BODY_MEMORY_AGENT": "reason", "details.reason": "of an error",
	"stored_bytes_of_agent": "quota", "stored_bytes_of_agent_hour": "quota",
	"stored_bytes_of_project": "quota", "stored_bytes_of_guest": "quota",
	"stored_bytes_of_guests": "quota", "stored_bytes": "quota",
	"pws": "program", "pws login": "program", "pws init": "program", "pws setup": "program",
	"pws mcp": "program", "--tools all": "flag", "--names dots": "flag", "mcp.json": "file",
	"prj_…": "notation", "{path*}": "notation", "history=full": "query",
}

// words collects all names of the interface.
type words map[string]bool

func interfaceWords() words {
	w := words{}
	for _, op := range api.Table {
		w[op.Name], w[op.Tool] = true, true
		schemas := jsonschema.NewSchemas(definitionsPrefix)
		if op.Request != nil {
			schemas.Add(op.Request, jsonschema.Request)
		}
		schemas.Add(op.Response, jsonschema.Response)
		w.collect(schemas.Defs())
		for _, param := range slices.Concat(op.Params, op.Query) {
			w[param.Name] = true
			w.collect(jsonschema.CompileCheck(param.Check).Schema(param.Integer))
		}
		for _, media := range op.Media {
			w[media] = true
		}
	}
	for _, entry := range fault.Catalog {
		w[string(entry.Code)], w[entry.Action] = true, true
		for _, name := range entry.Details {
			w[name] = true
		}
	}
	for name := range api.Capabilities() {
		w[name] = true
	}
	for _, name := range []string{"anonymous", "recommended_action", "wal", "SERVICE_PROJECT_BUNDLE",
		"next_step", "next_calls", "next_call", "headers", "body", "anonymous"} {
		w[name] = true
	}
	return w
}

// collect adds the member names and the enumeration values of a schema.
func (w words) collect(value any) {
	for _, entry := range schemaOf(value) {
		if entry.Name == "enum" {
			for _, one := range listOf(entry.Value) {
				w[fmt.Sprint(one)] = true
			}
			continue
		}
		if entry.Name == "properties" {
			for _, member := range schemaOf(entry.Value) {
				w[member.Name] = true
			}
		}
		w.collect(entry.Value)
	}
	if list, ok := value.([]any); ok {
		for _, one := range list {
			w.collect(one)
		}
	}
}

// problem describes an unknown word in backquotes; it is empty for a known one.
func (w words) problem(token string, used map[string]bool) string {
	if _, known := outside[token]; known {
		used[token] = true
		return ""
	}
	if strings.HasPrefix(token, "{") || w[token] {
		return ""
	}
	method, target, request := strings.Cut(token, " ")
	if !request {
		method, target = "", token
	}
	if strings.HasPrefix(target, "/") {
		return targetProblem(method, target)
	}
	for part := range strings.SplitSeq(token, ".") {
		if _, known := outside[part]; known {
			used[part] = true
		} else if !w[part] {
			return "is nothing of the interface"
		}
	}
	return ""
}

func targetProblem(method, target string) string {
	path, query, _ := strings.Cut(target, "?")
	if path == "/mcp" {
		return ""
	}
	for _, op := range api.Table {
		if op.Path != path || method != "" && op.Method != method {
			continue
		}
		values, err := url.ParseQuery(query)
		for name := range values {
			if !slices.ContainsFunc(op.Query, func(p api.Param) bool { return p.Name == name }) {
				return "has no parameter " + name
			}
		}
		if err == nil {
			return ""
		}
	}
	return "is no operation"
}

func TestDocumentsNameOnlyWhatExists(t *testing.T) {
	known, used := interfaceWords(), map[string]bool{}
	for path, text := range servedTexts() {
		if strings.Contains(text, "<no value>") || strings.Contains(text, "<nil>") {
			t.Errorf("%s: something is missing in it", path)
		}
		for _, found := range tokenPattern.FindAllStringSubmatch(
			fencePattern.ReplaceAllString(text, ""), -1) {
			if problem := known.problem(found[1], used); problem != "" {
				t.Errorf("%s: `%s` %s", path, found[1], problem)
			}
		}
	}
	for word := range outside {
		if !used[word] {
			t.Errorf("no document has %q any more", word)
		}
	}
}

func TestDocumentsNameEveryOperationAndCode(t *testing.T) {
	texts := servedTexts()
	reference := texts["/docs.md"]
	for _, op := range api.Table {
		if !strings.Contains(reference, "\n### "+op.Name+"\n\n`"+op.Method+" "+op.Path+"` (") {
			t.Errorf("the reference has no %s", op.Name)
		}
		if op.Tool != "" && !strings.Contains(reference, "| `"+op.Tool+"` |") {
			t.Errorf("the reference has no tool %s", op.Tool)
		}
	}
	for _, entry := range fault.Catalog {
		if !strings.Contains(reference, fmt.Sprintf("| %d | `%s` |", entry.Status, entry.Code)) {
			t.Errorf("the reference has no %s", entry.Code)
		}
	}
	for _, one := range limitTexts(new(api.Config)) {
		line := fmt.Sprintf("| `%s` | %d | %s |", one.Name, one.Value, one.Doc)
		if !strings.Contains(texts["/capabilities.md"], line) {
			t.Errorf("the capabilities lack %s", line)
		}
	}
	const llmsBytesMax = 6 << 10
	if n := len(texts["/llms.txt"]); n > llmsBytesMax {
		t.Errorf("llms.txt has %d bytes", n)
	}
}

func TestLinksOfDocumentsLead(t *testing.T) {
	texts := servedTexts()
	headings := map[string]map[string]bool{}
	for path, text := range texts {
		headings[path] = map[string]bool{}
		for _, found := range headingPattern.FindAllStringSubmatch(
			fencePattern.ReplaceAllString(text, ""), -1) {
			if slug := slugOf(found[1]); headings[path][slug] {
				t.Errorf("%s has two headings %q", path, found[1])
			} else {
				headings[path][slug] = true
			}
		}
	}
	linked := map[string]bool{}
	for path, text := range texts {
		for _, found := range linkPattern.FindAllStringSubmatch(text, -1) {
			target, ours := strings.CutPrefix(found[1], testBase)
			if !ours && !strings.HasPrefix(target, "#") {
				t.Errorf("%s: %s leads elsewhere", path, found[1])
				continue
			}
			target, fragment, _ := strings.Cut(target, "#")
			if target == "" {
				target = path
			}
			linked[target] = true
			if problem := targetProblem("GET", target); problem != "" {
				t.Errorf("%s: %s %s", path, found[1], problem)
			}
			if fragment != "" && !headings[target][fragment] {
				t.Errorf("%s: %s has no such heading", path, found[1])
			}
		}
	}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		if !linked[path] && path != "/" {
			t.Errorf("no document leads to %s", path)
		}
		if path != "/" && !strings.Contains(texts["/"], testBase+path+"\n") {
			t.Errorf("the page at / does not lead to %s", path)
		}
	}
}

// TestHostsThatStartAProcess checks that every snippet for a host starts the bridge, and that those
// by HTTP say how long they work.
func TestHostsThatStartAProcess(t *testing.T) {
	text := servedTexts()["/index.md"]
	first, second := strings.Index(text, "### Hosts that start a process"),
		strings.Index(text, "**It ends after an hour.")
	if first < 0 || second < first || strings.Index(text, "\"url\"") < second {
		t.Error("the bridge does not come first, or HTTP has no warning")
	}
	starts := 0
	for _, block := range fencePattern.FindAllStringSubmatch(text[first:second], -1) {
		for _, found := range objectPattern.FindAllString(block[2], -1) {
			starts++
			var one struct {
				MCPServers, Servers struct {
					PWS json.RawMessage
				}
			}
			if err := json.Unmarshal([]byte(found), &one); err != nil {
				t.Fatal(err)
			}
			entry := []byte(found)
			for _, named := range [][]byte{one.MCPServers.PWS, one.Servers.PWS} {
				if named != nil {
					entry = named
				}
			}
			var server struct {
				Command string
				Args    []string
			}
			if err := json.Unmarshal(entry, &server); err != nil || server.Command != "pws" ||
				!slices.Equal(server.Args, []string{"mcp"}) {
				t.Errorf("%s starts %+v, %v", found, server, err)
			}
		}
		starts += strings.Count(block[2], " pws mcp\n")
	}
	if starts != 5 {
		t.Errorf("%d hosts", starts)
	}
}

// objectPattern is a JSON object in one line.
var objectPattern = regexp.MustCompile(`(?m)\{.*\}`)

// TestHostConfigurations checks that every snippet for a host names the endpoint, and reads the
// credential from outside of the snippet.
func TestHostConfigurations(t *testing.T) {
	const endpoint = testBase + "/mcp?names=underscore"
	text := servedTexts()["/index.md"]
	for file, credential := range map[string]string{
		".mcp.json":        "Bearer ${PWS_TOKEN}",
		".cursor/mcp.json": "Bearer ${env:PWS_TOKEN}",
		".vscode/mcp.json": "Bearer ${input:pws-token}",
	} {
		_, behind, _ := strings.Cut(text, "file `"+file+"`:\n\n")
		var parsed struct {
			MCPServers, Servers map[string]struct {
				Type, URL string
				Headers   map[string]string
			}
			Inputs []struct{ Type, ID string }
		}
		block := fencePattern.FindStringSubmatch(behind)
		if block == nil || block[1] != "json" || !strings.HasPrefix(behind, block[0]) {
			t.Errorf("%s: no JSON behind it", file)
			continue
		}
		if err := json.Unmarshal([]byte(block[2]), &parsed); err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		one := parsed.MCPServers["work"]
		if file == ".vscode/mcp.json" {
			one = parsed.Servers["work"]
			if len(parsed.Inputs) != 1 || parsed.Inputs[0].ID != "pws-token" {
				t.Errorf("%s: %+v", file, parsed.Inputs)
			}
		}
		if one.URL != endpoint || one.Headers["Authorization"] != credential ||
			file != ".cursor/mcp.json" && one.Type != "http" {
			t.Errorf("%s: %+v", file, one)
		}
	}
	if !strings.Contains(text, "```toml\n[mcp_servers.work]\nurl = \""+endpoint+"\"\n"+
		"bearer_token_env_var = \"PWS_TOKEN\"\n```\n") {
		t.Error("config.toml is another")
	}
}

// TestDocumentsStateLimitsOfTheDeployment: limits that settings change are those of the capability
// model.
func TestDocumentsStateLimitsOfTheDeployment(t *testing.T) {
	config := api.Config{Version: "1.2.3", UploadRecordBytes: 12_345_678}
	text := string(New(config).Page("project-bundle.md", testBase))
	if want := fmt.Sprint(config.DeploymentLimits().UploadRecordBytes); !strings.Contains(text, want) {
		t.Errorf("the document of bundles does not state %s bytes", want)
	}
}

// TestDurationText writes limits as people say them.
func TestDurationText(t *testing.T) {
	for seconds, want := range map[int64]string{
		30 * 86400: "30 days (2592000 s)", 86400: "24 hours (86400 s)", 1800: "30 minutes (1800 s)",
		3600: "60 minutes (3600 s)", 90: "90 seconds", 0: "0 seconds",
	} {
		if got := durationText(seconds); got != want {
			t.Errorf("%d seconds are %q, not %q", seconds, got, want)
		}
	}
}

// Whitespace errors of the templates show in a document: repeated empty lines, or a missing final
// newline.
func TestDocumentsAreTexts(t *testing.T) {
	for path, text := range servedTexts() {
		switch {
		case !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n"):
			t.Errorf("%s does not end in one line end", path)
		case strings.Contains(text, "\n\n\n"):
			t.Errorf("%s has two empty lines in a row: %q", path,
				text[strings.Index(text, "\n\n\n")-60:][:70])
		case strings.Contains(text, baseMark):
			t.Errorf("%s has no base URL at some place", path)
		}
	}
}
