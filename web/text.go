package web

import (
	"html"
	"html/template"
	"strings"

	"pws/api"
	"pws/web/render"
)

// asWritten is a text as its author wrote it.
func asWritten(text string) template.HTML {
	return template.HTML(`<p class="text">` + html.EscapeString(text) + `</p>`)
}

// placeOf is where texts become HTML on account of a caller.
func placeOf(c *api.Call) render.Place {
	if c.Meter == nil {
		return render.AtOnce
	}
	return c.Meter.Render
}

// Text is what an agent has written about the work of a project, as Markdown.
func (s shown) Text(project, text string) template.HTML {
	text = plain(text)
	made := s.web.texts.Markdown(render.Markdown{
		Text: text, Top: 3, Files: filesAt(project), Breaks: true,
	}, s.place)
	if !made.OK {
		return asWritten(text)
	}
	return `<div class="md">` + made.HTML + `</div>`
}

// textRoom is what a text takes of a page that has several, in bytes of HTML.
const textRoom = 5 << 10

// Beginning is Text with as much of it as has room beside others.
func (s shown) Beginning(project, text string) template.HTML {
	parts := piecesOf(string(s.Text(project, text)), textRoom)
	if len(parts) > 1 {
		return template.HTML(parts[0] + "<p>…</p>")
	}
	return template.HTML(parts[0])
}

// filesAt is the address that those of the files of a project begin with.
func filesAt(project string) string { return at("p", project, "file") + "/" }

// isMarkdown reports whether a file is Markdown by its name.
func isMarkdown(path string) bool {
	name := strings.ToLower(path)
	return strings.HasSuffix(name, ".md") || strings.HasSuffix(name, ".markdown")
}

// rendered is a file in Markdown as HTML. Query is what its links to other files end with.
func (v *visit) rendered(project, path, text, query string, top int) render.Result {
	return v.web.texts.Markdown(render.Markdown{
		Text: text, Top: top, Files: filesAt(project),
		Folder: path[:strings.LastIndexByte(path, '/')+1], Query: query,
	}, placeOf(v.Call))
}
