package render

import (
	"bytes"
	"net/url"
	"path"
	"regexp"
	"strings"

	"github.com/microcosm-cc/bluemonday"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

const (
	// linkBytesMax is the longest address of a link; linkRel is what each link has.
	linkBytesMax = 2048
	linkRel      = "nofollow ugc noopener"
	// tagBytes is about what a node adds to the output.
	tagBytes = 16
)

// linker changes what a text leads to: links to files of the project become addresses of the page,
// other links stay if they are http or https, images become links to them, and addresses in the
// text become links. A file of a project is text, so none is an image that a browser may show.
type linker struct {
	Markdown
	source []byte
}

// prepare changes the tree of a text. It returns false if the output would be too large: a text can
// name one long address many times.
func (l *linker) prepare(document ast.Node) bool {
	var texts []*ast.Text
	var links []ast.Node
	var levels []int
	size := 0
	err := ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		size += tagBytes
		switch one := n.(type) {
		case *ast.Heading:
			one.Level, levels = l.level(one.Level, levels)
		case *ast.Link:
			size += len(one.Destination) + len(one.Title)
			links = append(links, n)
		case *ast.Image:
			size += len(one.Destination) + len(one.Title)
			links = append(links, n)
		case *ast.AutoLink:
			links = append(links, n)
		case *ast.Text:
			if !within(n) {
				texts = append(texts, one)
			}
		}
		if size > OutputMax {
			return ast.WalkStop, errTooLarge
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return false
	}
	for _, one := range texts {
		l.findAddresses(one)
	}
	for _, one := range links {
		l.replace(one)
	}
	return true
}

// level returns the level that a heading gets: one more than that of the heading that it is below,
// so that none is left out. Levels are those of the headings that this one is below.
func (l *linker) level(written int, levels []int) (int, []int) {
	for len(levels) > 0 && levels[len(levels)-1] >= written {
		levels = levels[:len(levels)-1]
	}
	levels = append(levels, written)
	return min(6, max(2, l.Top)+len(levels)-1), levels
}

// within reports whether a text is in a link or in code, where addresses stay text.
func within(n ast.Node) bool {
	for at := n.Parent(); at != nil && at.Type() == ast.TypeInline; at = at.Parent() {
		switch at.Kind() {
		case ast.KindLink, ast.KindImage, ast.KindCodeSpan:
			return true
		}
	}
	return false
}

// replace gives a link its address, or puts its text in its place if it may lead nowhere.
func (l *linker) replace(n ast.Node) {
	parent := n.Parent()
	var destination []byte
	switch one := n.(type) {
	case *ast.Link:
		destination = one.Destination
	case *ast.Image:
		destination = one.Destination
		if !n.HasChildren() {
			n.AppendChild(n, ast.NewString([]byte("image")))
		}
	case *ast.AutoLink:
		// An address of mail has no scheme here, so it would be the name of a file.
		if one.AutoLinkType != ast.AutoLinkEmail {
			destination = one.URL(l.source)
		}
		n.AppendChild(n, ast.NewString(one.Label(l.source)))
	}
	address := l.address(string(destination))
	if address == "" || within(n) {
		for child := n.FirstChild(); child != nil; child = n.FirstChild() {
			parent.InsertBefore(parent, n, child)
		}
		parent.RemoveChild(parent, n)
		return
	}
	link := ast.NewLink()
	link.Destination = []byte(address)
	link.SetAttributeString("rel", []byte(linkRel))
	for child := n.FirstChild(); child != nil; child = n.FirstChild() {
		link.AppendChild(link, child)
	}
	parent.ReplaceChild(parent, n, link)
}

// address returns where a link leads, empty if that is nowhere it may.
func (l *linker) address(written string) string {
	if written == "" || len(written) > linkBytesMax {
		return ""
	}
	to, err := url.Parse(written)
	if err != nil || to.User != nil || strings.ContainsAny(written, "\\\t\r\n") {
		return ""
	}
	fragment := ""
	if to.Fragment != "" {
		fragment = "#" + idPrefix + slug([]byte(to.Fragment))
	}
	switch {
	case to.Scheme == "http" || to.Scheme == "https":
		if !hostName.MatchString(to.Host) {
			return ""
		}
		return to.String()
	case to.Scheme != "" || to.Host != "" || to.Opaque != "":
		return ""
	case to.Path == "":
		return fragment
	case l.Files == "":
		return ""
	}
	file := strings.TrimPrefix(to.Path, "/")
	if file == to.Path {
		file = l.Folder + file
	}
	file = path.Clean(file)
	if file == "." || file == ".." || strings.HasPrefix(file, "../") {
		return ""
	}
	if line := lineAnchor.FindString(to.Fragment); line != "" {
		fragment = "#" + line
	}
	return l.Files + escapedPath(file) + l.Query + fragment
}

// hostName is the name of a host, perhaps with a port. url.Parse takes others.
var hostName = regexp.MustCompile(`^[\pL\pM\pN._\[\]:-]+$`)

// lineAnchor is the ID of a line of a file.
var lineAnchor = regexp.MustCompile(`^L[0-9]{1,6}$`)

func escapedPath(file string) string {
	segments := strings.Split(file, "/")
	for i, segment := range segments {
		segments[i] = url.PathEscape(segment)
	}
	return strings.Join(segments, "/")
}

// findAddresses makes links of the addresses in a text, which goes on in its neighbours.
func (l *linker) findAddresses(one *ast.Text) {
	parent := one.Parent()
	for parent != nil {
		after, ok := one.NextSibling().(*ast.Text)
		if !ok || one.SoftLineBreak() || one.HardLineBreak() || one.IsRaw() || after.IsRaw() ||
			one.Segment.Stop != after.Segment.Start || after.Segment.Padding > 0 {
			break
		}
		one.Segment = one.Segment.WithStop(after.Segment.Stop)
		one.SetSoftLineBreak(after.SoftLineBreak())
		one.SetHardLineBreak(after.HardLineBreak())
		parent.RemoveChild(parent, after)
	}
	for parent != nil {
		from, to := addressIn(one.Segment.Value(l.source))
		if to == 0 {
			return
		}
		from, to = one.Segment.Start+from, one.Segment.Start+to
		address := ast.NewTextSegment(text.NewSegment(from, to))
		link := ast.NewLink()
		link.Destination = bytes.Clone(l.source[from:to])
		link.SetAttributeString("rel", []byte(linkRel))
		link.AppendChild(link, address)
		rest := ast.NewTextSegment(one.Segment.WithStart(to))
		rest.SetSoftLineBreak(one.SoftLineBreak())
		rest.SetHardLineBreak(one.HardLineBreak())
		one.SetSoftLineBreak(false)
		one.SetHardLineBreak(false)
		one.Segment = one.Segment.WithStop(from)
		parent.InsertAfter(parent, one, link)
		parent.InsertAfter(parent, link, rest)
		one = rest
	}
}

// addressIn finds the first address in a line. It returns 0, 0 if there is none.
func addressIn(line []byte) (from, to int) {
	for i := 0; ; {
		found := bytes.Index(line[i:], []byte("://"))
		if found < 0 {
			return 0, 0
		}
		i += found
		from = i
		for from > 0 && line[from-1] >= 'a' && line[from-1] <= 'z' && i-from < len("https") {
			from--
		}
		scheme := string(line[from:i])
		i += len("://")
		if scheme != "http" && scheme != "https" {
			continue
		}
		to = i
		for to < min(len(line), i+linkBytesMax) && line[to] > ' ' &&
			strings.IndexByte("<>\"`\\", line[to]) < 0 {
			to++
		}
		for to > i && strings.IndexByte(".,;:!?*_~'|", line[to-1]) >= 0 ||
			to > i && line[to-1] == ')' && !bytes.ContainsRune(line[i:to], '(') {
			to--
		}
		if to > i && to-from <= linkBytesMax && hasHost(string(line[from:to])) &&
			(line[i]|0x20 >= 'a' && line[i]|0x20 <= 'z' || line[i] >= '0' && line[i] <= '9') {
			return from, to
		}
	}
}

// hasHost reports whether an address names a host.
func hasHost(address string) bool {
	to, err := url.Parse(address)
	return err == nil && to.User == nil && hostName.MatchString(to.Host)
}

// policy is the second wall: what it does not name is taken out, whatever the parser let through.
var policy = newPolicy()

func newPolicy() *bluemonday.Policy {
	p := bluemonday.NewPolicy()
	p.AllowElements("p", "br", "hr", "h2", "h3", "h4", "h5", "h6", "em", "strong", "del", "code",
		"pre", "blockquote", "ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "a")
	p.AllowAttrs("id").Matching(regexp.MustCompile(`^`+idPrefix+`[^\s"<>&]*$`)).
		OnElements("h2", "h3", "h4", "h5", "h6")
	p.AllowAttrs("start").Matching(bluemonday.Integer).OnElements("ol")
	p.AllowAttrs("href").Matching(regexp.MustCompile(
		`^(?:https?://[^\s"<>]+|/ui/p/prj_[0-9A-Za-z]{26}/file/[^\s"<>]+|#` + idPrefix + `[^\s"<>]*)$`,
	)).OnElements("a")
	p.AllowAttrs("rel").Matching(regexp.MustCompile(`^` + linkRel + `$`)).OnElements("a")
	p.AllowURLSchemes("http", "https")
	p.AllowRelativeURLs(true)
	p.RequireParseableURLs(true)
	p.RequireNoFollowOnLinks(true)
	return p
}
