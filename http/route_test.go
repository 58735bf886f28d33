package http

import (
	"strings"
	"testing"

	"pws/api"
)

// The router and the templates find the same route and parameters for any target.
func FuzzTargets(f *testing.F) {
	for _, seed := range []string{
		"/", "/v1/agents/me", "/v1/files/a/rename", "http://h/v1/x?y", "*", "//", "/v1/files//",
	} {
		f.Add("GET", seed)
		f.Add("POST", seed)
	}
	fix := &fixture{entered: make(chan struct{}, 1), leave: make(chan struct{}), log: &logBuffer{}}
	fix.open(f, Config{}, nil)
	f.Fuzz(func(t *testing.T, method, target string) {
		path, _, err := splitTarget(target)
		if err != nil {
			return
		}
		r := fix.routes
		ctx := contextOf(method, path)
		found, values := r.find(ctx, path, nil)
		params := strings.Join(values, "|")
		want, _ := r.search(string(ctx.Method()), path, nil)
		if found != want {
			t.Fatalf("%s %q: the router and the templates differ", method, path)
		}
		if want != nil {
			again, _ := want.template.match(path, nil)
			if strings.Join(again, "|") != params {
				t.Fatalf("%q: parameters %q and %q", path, again, params)
			}
		}
	})
}

func TestTemplatesWithOnePattern(t *testing.T) {
	read := api.Operation{Method: "POST", Statuses: []int{200}}
	op := func(name, path string) *api.Operation {
		one := read
		one.Name, one.Path = name, path
		return api.Declare[api.None, api.None](one, nil)
	}
	r := newRoutes([]*api.Operation{
		op("all", "/w/{w}/f/{path*}"), op("rename", "/w/{w}/f/{path*}/rename"),
		op("deep", "/w/{w}/f/{path*}/a/b"), op("batch", "/w/{w}/f/read-batch"), op("w", "/w/{w}"),
		op("static", "/w/list"), op("bare", "/v"), op("folder", "/v/"), op("rest", "/v/{path*}"),
	}, 1)
	for path, want := range map[string]string{
		"/w/1/f/x": "all 1|x", "/w/1/f/x/rename": "rename 1|x", "/w/1/f/rename": "all 1|rename",
		"/w/1/f/x/a/b": "deep 1|x", "/w/1/f/a/b": "all 1|a/b", "/w/1/f/read-batch": "batch 1",
		"/w/1/f/read-batch/x": "all 1|read-batch/x", "/w/list": "static ", "/w/lis": "w lis",
		"/w/list/f/x": "all list|x", "/w/1/f/": "", "/w//f/x": "",
		"/v": "bare ", "/v/": "folder ", "/v/x/": "rest x/", "/v//": "rest /", "/w/": "", "/w/1/": "",
	} {
		ctx := contextOf("POST", path)
		found, params := r.find(ctx, path, nil)
		got := ""
		if found != nil {
			got = found.operation.Name + " " + strings.Join(params, "|")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}
