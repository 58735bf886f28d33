package http

import (
	"strings"

	"pws/api"
)

// template is a path of the table: literal segments, {name} for one segment, and {name*} for the
// rest, which literal segments may follow.
type template struct {
	text     string
	segments []string // empty for a parameter
	tail     bool     // the last segment takes the rest
	suffix   string   // the literal segments after the rest, with their slash
	folder   bool     // the path ends with a slash, which is not in a segment
	literals int      // characters outside of parameters; the template with the most wins
}

func parseTemplate(path string) template {
	t := template{text: path, folder: len(path) > 1 && strings.HasSuffix(path, "/")}
	rest := strings.TrimPrefix(path, "/")
	if t.folder {
		rest = strings.TrimSuffix(rest, "/")
	}
	for rest != "" && !t.tail {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		if !strings.HasPrefix(segment, "{") {
			t.segments = append(t.segments, segment)
			t.literals += len(segment) + 1
			continue
		}
		t.segments = append(t.segments, "")
		t.tail = strings.HasSuffix(segment, "*}")
	}
	if rest != "" {
		t.suffix = "/" + rest
		t.literals += len(t.suffix)
	}
	return t
}

// match appends the parameters of a path, not decoded, and reports whether the path matches.
// Parameters are never empty.
func (t *template) match(path string, params []string) ([]string, bool) {
	if path == "" || path[0] != '/' {
		return params, false
	}
	rest := path[1:]
	if t.folder {
		var fits bool
		if rest, fits = strings.CutSuffix(rest, "/"); !fits {
			return params, false
		}
	}
	last := len(t.segments) - 1
	for i, literal := range t.segments {
		if i == last && t.tail {
			rest, fits := strings.CutSuffix(rest, t.suffix)
			if !fits || rest == "" {
				return params, false
			}
			return append(params, rest), true
		}
		segment := rest
		end := strings.IndexByte(rest, '/')
		if (end < 0) != (i == last) {
			return params, false
		}
		if end >= 0 {
			segment, rest = rest[:end], rest[end+1:]
		}
		if literal == "" {
			if segment == "" {
				return params, false
			}
			params = append(params, segment)
		} else if segment != literal {
			return params, false
		}
	}
	return params, len(t.segments) > 0 || rest == ""
}

// fill is the path of a template with these parameters.
func (t *template) fill(params []string) string {
	var out []byte
	at := 0
	for _, literal := range t.segments {
		out = append(out, '/')
		if literal == "" {
			literal = params[at]
			at++
		}
		out = append(out, literal...)
	}
	if t.folder {
		out = append(out, '/')
	}
	return string(append(out, t.suffix...))
}

// pattern is the template in the syntax of the router, which has no suffix after the rest.
// Templates that differ only there share a pattern, and find chooses between them.
func (t *template) pattern() string {
	var out strings.Builder
	for i, literal := range t.segments {
		out.WriteByte('/')
		switch {
		case literal != "":
			out.WriteString(literal)
		case t.tail && i == len(t.segments)-1:
			out.WriteString("{rest:*}")
		default:
			out.WriteString("{p" + string(rune('a'+i)) + "}")
		}
	}
	if out.Len() == 0 || t.folder {
		out.WriteByte('/')
	}
	return out.String()
}

// route is an operation under one method. An operation with GET has a second route for HEAD.
type route struct {
	operation *api.Operation
	method    string
	template  template
	// project is the index of the parameter {project}, -1 if there is none.
	project int
	// bodyMax is the largest body in bytes.
	bodyMax int
	query   []queryParam
}

func projectParam(path string) int {
	at := 0
	for _, segment := range strings.Split(path, "/") {
		if segment == "{project}" {
			return at
		}
		if strings.HasPrefix(segment, "{") {
			at++
		}
	}
	return -1
}
