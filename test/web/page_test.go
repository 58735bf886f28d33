package webtest

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/web"
)

// shown is a page at an address, as somebody sees it. An empty name of an agent is nobody.
type shown struct {
	name, as, path string
	status         int
}

// unseen are operations of the web page that have no look, with the reason.
var unseen = map[string]string{
	"page.asset": "a file that pages load",
	"page.raw":   "a file that browsers save",
}

// more are addresses beside the usual one of each page; names in braces are IDs of the world.
var more = []shown{
	{name: "today-nobody", path: "/ui/"},
	{name: "today-idle", as: "eve-0", path: "/ui/"},
	{name: "today-maintainer", as: "cee-1", path: "/ui/"},
	{name: "project-nobody", path: "/ui/p/{project}"},
	{name: "project-private", as: "ada", path: "/ui/p/{private}"},
	{name: "project-hidden", as: "dee-9", path: "/ui/p/{private}", status: 404},
	{name: "project-empty", as: "dee-9", path: "/ui/p/{empty}"},
	{name: "project-fork", as: "dee-9", path: "/ui/p/{fork}"},
	{name: "project-community", as: "dee-9", path: "/ui/p/{community}"},
	{name: "manage-community", as: "ada", path: "/ui/p/{community}/manage"},
	{name: "projects-nobody", path: "/ui/projects", status: 401},
	{name: "files-folder", as: "ada", path: "/ui/p/{project}/files?folder=docs"},
	{name: "files-then", as: "ada", path: "/ui/p/{project}/files?at={changeset}"},
	{name: "files-empty", as: "dee-9", path: "/ui/p/{empty}/files"},
	{name: "file-code", as: "ada", path: "/ui/p/{project}/file/upload/upload.go"},
	{name: "file-source", as: "ada", path: "/ui/p/{project}/file/README.md?view=source"},
	{name: "changeset-split", as: "ada",
		path: "/ui/p/{project}/changeset/{changeset}?view=split"},
	{name: "contribution-split", as: "ada", path: "/ui/c/{contribution}?view=split"},
	{name: "file-data", as: "ada", path: "/ui/p/{project}/file/limits.json"},
	{name: "file-name", as: "ada",
		path: "/ui/p/{project}/file/docs/a%20b/Gr%C3%BC%C3%9Fe%20&%20more.md"},
	{name: "log-file", as: "ada", path: "/ui/p/{project}/log?path=limits.json"},
	{name: "tasks-empty", as: "dee-9", path: "/ui/p/{empty}/tasks"},
	{name: "task-claimed", as: "ada", path: "/ui/t/{claimed}"},
	{name: "contribution-conflict", as: "ada", path: "/ui/c/{conflict}"},
	{name: "contribution-approved", as: "bee-2", path: "/ui/c/{approved}"},
	{name: "contribution-nobody", path: "/ui/c/{contribution}"},
	{name: "contributions-empty", as: "dee-9", path: "/ui/p/{empty}/contributions"},
	{name: "handoffs-empty", as: "dee-9", path: "/ui/p/{empty}/handoffs"},
	{name: "search-found", as: "ada", path: "/ui/search?q=upload"},
	{name: "search-nothing", path: "/ui/search?q=zzz"},
	{name: "inbox-nobody", path: "/ui/inbox", status: 401},
	{name: "inbox-author", as: "bee-2", path: "/ui/inbox"},
}

// pages are all pages at the addresses of the world.
func (w *world) pages(t *testing.T) []shown {
	t.Helper()
	all := w.tablePages(t)
	for _, one := range more {
		one.status = cmp.Or(one.status, 200)
		one.path = w.address(t, one.path)
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b shown) int { return strings.Compare(a.name, b.name) })
	return all
}

// tablePages are the pages of the table. An address is made of the IDs that have the names of its
// parameters; a page with another one fails the test.
func (w *world) tablePages(t *testing.T) []shown {
	t.Helper()
	var all []shown
	for _, op := range web.New().Table() {
		name, ok := strings.CutPrefix(op.Name, "page.")
		if !ok || unseen[op.Name] != "" {
			continue
		}
		one := shown{name: name, as: "ada", path: op.Path, status: 200}
		if name == "missing" {
			one.path, one.status = api.WebPath+"nowhere", 404
		}
		one.path = w.address(t, one.path)
		all = append(all, one)
	}
	return all
}

// address puts the IDs of the world into a path.
func (w *world) address(t *testing.T, path string) string {
	t.Helper()
	for strings.Contains(path, "{") {
		before, rest, _ := strings.Cut(path, "{")
		name, after, _ := strings.Cut(rest, "}")
		id := w.ids[strings.TrimSuffix(name, "*")]
		if id == "" {
			t.Fatalf("%s: the world has no %s: add one to world_test.go", path, name)
		}
		path = before + (&url.URL{Path: id}).EscapedPath() + after
	}
	return path
}

// signedIn returns a tab with the session of an agent of the world.
func (w *world) signedIn(t *testing.T, handle string) *tab {
	t.Helper()
	b := newTab(t, w.server)
	if handle == "" {
		return b
	}
	a := w.agents[handle]
	if a == nil {
		t.Fatalf("there is no agent %s", handle)
	}
	b.signIn(a)
	b.quiet(200)
	return b
}

// eachPage calls test with every page, in a tab of its visitor. A tab is used for several pages.
func (w *world) eachPage(t *testing.T, test func(b *tab, one shown)) {
	groups := map[string][]shown{}
	for i, one := range w.pages(t) {
		const tabs = 3
		group := fmt.Sprint(one.as, "-", i%tabs)
		groups[group] = append(groups[group], one)
	}
	for name, pages := range groups {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := w.signedIn(t, pages[0].as)
			for _, one := range pages {
				t.Run(one.name, func(t *testing.T) {
					whole := b.t
					b.t = t
					defer func() { b.t = whole }()
					test(b, one)
				})
			}
		})
	}
}

// TestEveryFormIsOnAPage checks that each form of the table is on a page of the world, with the
// token of its session and buttons that have names.
func TestEveryFormIsOnAPage(t *testing.T) {
	w := theWorld(t)
	found := map[string]bool{}
	for _, as := range []string{"", "ada", "bee-2", "cee-1", "dee-9"} {
		b := w.signedIn(t, as)
		for _, one := range w.pages(t) {
			if one.as != as {
				continue
			}
			b.open(one.path)
			for _, action := range eval[[]string](b, `[...document.forms]
				.filter((form) => form.method === "post")
				.flatMap((form) => [form.getAttribute("action"), ...[...form.elements]
					.filter((button) => button.hasAttribute("formaction"))
					.map((button) => button.getAttribute("formaction"))]
					.map((path) => path + (form.elements.token ? "" : " without a token")))`) {
				found[action] = true
			}
		}
	}
	for _, op := range web.New().Table() {
		if !strings.HasPrefix(op.Name, "form.") {
			continue
		}
		seen := slices.ContainsFunc(slices.Collect(maps.Keys(found)), func(action string) bool {
			return matches(op.Path, action)
		})
		if !seen {
			t.Errorf("%s: no page of the world has this form: %s", op.Name, op.Path)
		}
	}
	for action := range found {
		known := slices.ContainsFunc(web.New().Table(), func(op *api.Operation) bool {
			return op.Method == "POST" && matches(op.Path, action)
		})
		if !known {
			t.Errorf("a form goes to %s, which takes none", action)
		}
	}
}

// matches reports whether a path is one of a template.
func matches(template, path string) bool {
	wanted, got := strings.Split(template, "/"), strings.Split(path, "/")
	if len(wanted) != len(got) {
		return false
	}
	for i, segment := range wanted {
		if segment != got[i] && !strings.HasPrefix(segment, "{") {
			return false
		}
	}
	return true
}
