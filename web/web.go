package web

import (
	"bytes"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pws/api"
	"pws/web/render"
)

// Web makes the pages.
type Web struct {
	templates templates
	assets    map[string]asset
	// texts renders what agents wrote.
	texts *render.Renderer
	// pages are the paths of pages, verbs the last parts of the addresses of forms.
	pages, verbs map[string]bool
}

// New reads the templates and assets that the program contains.
func New() *Web {
	w := &Web{
		texts: render.New(), assets: readAssets(),
		pages: map[string]bool{}, verbs: map[string]bool{},
	}
	w.templates = w.lazyTemplates()
	return w
}

// Table lists the operations of all pages.
func (w *Web) Table() []*api.Operation {
	var all []*api.Operation
	for _, some := range [][]*api.Operation{
		w.assetOperations(), w.loginPages(), w.todayPages(), w.projectPages(), w.filePages(),
		w.logPages(), w.taskPages(), w.contributionPages(), w.discussionPages(), w.provenancePages(),
		w.decisionForms(), w.commentForms(), w.taskForms(), w.inboxForms(), w.managePages(),
		w.reviewPages(), w.agentPages(), w.liveOperations(),
		w.searchPages(), w.themeForms(),
		w.missingPages(),
	} {
		all = append(all, some...)
	}
	chargeForms(all)
	return all
}

// chargeForms declares forms as expensive whose page is: a form that is refused makes its page
// again.
func chargeForms(all []*api.Operation) {
	pages := map[string]*api.Operation{}
	for _, one := range all {
		if one.Method == "GET" {
			pages[one.Path] = one
		}
	}
	for _, one := range all {
		if one.Method == "POST" {
			page := formPage(pages, one.Path)
			one.Expensive = page != nil && page.Expensive
		}
	}
}

// formPage is the page that has a form, by the address of the form; nil if it is no page.
func formPage(pages map[string]*api.Operation, path string) *api.Operation {
	if page := pages[path]; page != nil {
		return page
	}
	return pages[path[:strings.LastIndexByte(path, '/')]]
}

// visit is one request for a page.
type visit struct {
	*api.Call
	web *Web
	// key is the Idempotency-Key of the form that was sent, empty for a page that is read.
	key string
}

// view is what a page shows.
type view struct {
	// Template is the name of its file without the ending.
	Template string
	Title    string
	// Tab is the entry of the head, or of the head of a project, that is shown as the current one.
	Tab string
	// Source is the path of the interface with the same data, empty if there is none that answers
	// without a session: the interface takes no cookie.
	Source string
	Data   any
	// Live is the address of the stream that the page follows, empty for none.
	Live string
	// Form is the form that was refused, if the page is shown for that.
	Form failed
}

// inInterface sets the Source of a page about a project, unless the project is private.
func (v *view) inInterface(of api.Project, path string) {
	if of.Visibility != "PRIVATE" {
		v.Source = "/api/v1/" + path
	}
}

// shown is what the layout and the template of a page get.
type shown struct {
	view
	// Handle is the caller's, empty for an anonymous one.
	Handle string
	// Token goes into the forms of the page.
	Token string
	// Key goes into them too; see newFormKey.
	Key string
	// Waiting is the number of contributions that wait for the caller, empty for none.
	Waiting string
	// Theme is what the visitor has chosen, and Back the address of this page.
	Theme api.Theme
	Back  string
	// Script, Style and Icon are the addresses of the assets.
	Script, Style, Icon string
	now                 int64
	web                 *Web
	// place is where the texts of the page become HTML.
	place render.Place
	// body is the page as far as it is made.
	body *bytes.Buffer
}

// page declares a page that is read.
func (w *Web) page(
	name, path string, query []api.Param, show shows,
) *api.Operation {
	return w.pageOrElsewhere(name, path, query, func(v *visit) (view, string, error) {
		made, err := show(v)
		return made, "", err
	})
}

// pageOrElsewhere declares a page that can send the browser elsewhere.
func (w *Web) pageOrElsewhere(
	name, path string, query []api.Param, show func(v *visit) (view, string, error),
) *api.Operation {
	w.pages[path] = true
	return w.elsewhere(name, path, query, show)
}

// elsewhere is pageOrElsewhere for addresses that are no page.
func (w *Web) elsewhere(
	name, path string, query []api.Param, show func(v *visit) (view, string, error),
) *api.Operation {
	return api.Declare[api.None, api.WebPage](api.Operation{
		Name: "page." + name, Method: "GET", Path: path, Auth: api.Optional,
		Category: api.CategoryPage, Statuses: []int{200, 303}, Page: true,
		Params: params(path), Query: append(slices.Clone(query), partParam),
	}, func(c *api.Call, _ *api.None) (api.Reply, error) {
		made, elsewhere, err := show(&visit{Call: c, web: w})
		if err != nil {
			return api.Reply{}, err
		}
		if elsewhere != "" {
			return api.Reply{Status: 303, Data: to(elsewhere)}, nil
		}
		return api.Reply{Data: api.WebPage{Body: w.render(c, made)}}, nil
	})
}

// partParam asks for a part of a page that is divided.
var partParam = api.Param{
	Name: "part", Integer: true, Check: "min=1", Default: 1, Doc: "A part of a page that is large.",
}

// params are the parameters of a path.
func params(path string) (all []api.Param) {
	for segment := range strings.SplitSeq(path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			all = append(all, api.Param{Name: strings.TrimRight(name, "*}")})
		}
	}
	return all
}

// render makes the text of a page.
func (w *Web) render(c *api.Call, made view) []byte {
	page := shown{
		view: made, Handle: c.CallerHandle(), Token: formToken(c),
		Script: w.assets["page.js"].path, Style: w.assets["style.css"].path,
		Icon: w.assets["icon.svg"].path, Waiting: waiting(c), now: c.Now, web: w, place: placeOf(c),
		Theme: c.Theme, Back: ownAddress(c.Target),
	}
	if page.Key = made.Form.key; page.Key == "" {
		page.Key = newFormKey(c)
	}
	if c.Service.Config.WebURL != "" {
		// This address does not have the rest of the interface.
		page.Source = ""
	}
	page.body = new(bytes.Buffer)
	if err := w.templates[made.Template]().Execute(page.body, page); err != nil {
		// Templates are compiled with the program; what they get is typed.
		panic(err)
	}
	if page.body.Len() <= pageBytesMax {
		return page.body.Bytes()
	}
	part, _ := strconv.Atoi(c.Query[partParam.Name])
	return []byte(divided(page.body.String(), part, func(part int) string {
		query := url.Values{}
		for name, value := range c.Query {
			query.Set(name, value)
		}
		query.Set(partParam.Name, strconv.Itoa(part))
		return "?" + query.Encode()
	}))
}

// Block is a part of the page that is made before its place comes, so that its size is known.
func (s shown) Block(name string, data any) template.HTML {
	var text bytes.Buffer
	if err := s.web.templates[s.Template]().ExecuteTemplate(&text, name, data); err != nil {
		panic(err)
	}
	return template.HTML(text.String())
}

// Room is how many bytes the page has left, without what comes behind.
func (s shown) Room(behind ...template.HTML) int {
	room := pageBytesMax - footBytes - len(s.Back) - s.body.Len()
	for _, one := range behind {
		room -= len(one)
	}
	return room
}

// with is an entity with the page that shows it, for the parts of pages.
type with struct {
	Page shown
	One  any
}

// With is what a part of the page gets.
func (s shown) With(one any) with { return with{s, one} }

// subject is what a discussion can be about.
type subject struct{ Kind, Project, ID string }

// Subject is what the form of a discussion gets.
func (s shown) Subject(kind, project, id string) with {
	return s.With(subject{kind, project, id})
}

// Failure is the page of a refusal.
func (w *Web) Failure(c *api.Call, failure api.WebFailure) []byte {
	return w.render(c, view{Template: "failure", Title: failure.Message, Data: failure})
}

// missingPages answers addresses that are no page: that without the slash, and those below it.
func (w *Web) missingPages() []*api.Operation {
	root := w.elsewhere("root", strings.TrimSuffix(api.WebPath, "/"), nil,
		func(v *visit) (view, string, error) { return view{}, v.withQuery(api.WebPath), nil })
	missing := w.elsewhere("missing", api.WebPath+"{rest*}", nil,
		func(v *visit) (view, string, error) {
			// A person who loads the address of a form again gets the page that it is on.
			rest := v.Param("rest")
			if above := strings.LastIndexByte(rest, '/'); w.verbs[rest[above+1:]] {
				page := api.WebPath + rest[:max(0, above)]
				if !w.isPage(page) {
					return view{}, "", errNoPage()
				}
				if part := v.Query[partParam.Name]; part != "" {
					page += "?" + partParam.Name + "=" + url.QueryEscape(part)
				}
				return view{}, page, nil
			}
			page := api.WebPath + strings.TrimRight(rest, "/")
			if strings.HasSuffix(rest, "/") && w.isPage(page) {
				return view{}, v.withQuery(page), nil
			}
			return view{}, "", errNoPage()
		})
	// An address that is none has no parameters to check.
	root.AnyQuery, missing.AnyQuery = true, true
	return []*api.Operation{root, missing}
}

// withQuery is an address with the query of this one.
func (v *visit) withQuery(page string) string {
	if _, query, _ := strings.Cut(v.Target, "?"); query != "" {
		page += "?" + query
	}
	return page
}

// isPage reports whether an address, without a query, is that of a page.
func (w *Web) isPage(address string) bool {
	for path := range w.pages {
		if fits(path, address) {
			return true
		}
	}
	return false
}

// fits reports whether an address is one of a path with parameters, which are never empty.
func fits(path, address string) bool {
	for {
		part, morePath, deeperPath := strings.Cut(path, "/")
		if strings.HasSuffix(part, "*}") {
			return address != ""
		}
		segment, more, deeper := strings.Cut(address, "/")
		if strings.HasPrefix(part, "{") && segment != "" {
			part = segment
		}
		if part != segment || deeperPath != deeper {
			return false
		}
		if !deeper {
			return true
		}
		path, address = morePath, more
	}
}

// at is an address of the page: parts are escaped.
func at(parts ...string) string {
	var path strings.Builder
	path.WriteString(strings.TrimSuffix(api.WebPath, "/"))
	for _, part := range parts {
		for segment := range strings.SplitSeq(part, "/") {
			path.WriteByte('/')
			path.WriteString(url.PathEscape(segment))
		}
	}
	return path.String()
}
