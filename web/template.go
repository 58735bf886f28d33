package web

import (
	"embed"
	"html/template"
	"strconv"
	"strings"
	"sync"
	"time"

	"pws/api"
	"pws/internal/unseen"
)

//go:embed templates
var templateFiles embed.FS

// templates return those of the pages by name, each with the layout around it. They are parsed when
// a page asks for them first: they are half of the objects of an idle server, and each garbage
// collection looks at all objects.
type templates map[string]func() *template.Template

func (w *Web) lazyTemplates() templates {
	functions := template.FuncMap{
		"at": at, "plain": plain, "cut": cut, "word": word, "stamp": stamp, "deref": deref,
		"label": label, "tail": tail, "short": shortList, "count": plural, "moderates": moderates,
		"less": func(n, by int) int { return n - by },
		"inc":  func(n int) int { return n + 1 },
	}
	base := sync.OnceValue(func() *template.Template {
		return template.Must(template.New("layout.html").Funcs(functions).
			ParseFS(templateFiles, "templates/layout.html", "templates/part_*.html"))
	})
	entries, err := templateFiles.ReadDir("templates")
	if err != nil {
		panic(err)
	}
	all := templates{}
	for _, entry := range entries {
		name, _ := strings.CutSuffix(entry.Name(), ".html")
		if name == "layout" || strings.HasPrefix(name, "part_") {
			continue
		}
		all[name] = sync.OnceValue(func() *template.Template {
			own := template.Must(base().Clone())
			return template.Must(own.ParseFS(templateFiles, "templates/"+entry.Name()))
		})
	}
	return all
}

// plain is a text of others in which characters that people do not see are seen.
func plain(text string) string {
	return unseen.Replace(strings.ReplaceAll(text, "\r\n", "\n"), func(r rune) string {
		if r == '\n' || r == '\t' {
			return string(r)
		}
		return "�"
	})
}

// cut is the beginning of a text in one line.
func cut(chars int, text string) string {
	text = strings.Join(strings.Fields(plain(text)), " ")
	if runes := []rune(text); len(runes) > chars {
		return string(runes[:chars-1]) + "…"
	}
	return text
}

// cutLine is the beginning of a line, in bytes.
func cutLine(most int, line string) string {
	if len(line) <= most {
		return line
	}
	return strings.ToValidUTF8(line[:most], "") + " … (cut)"
}

// word is a name of the interface, such as IN_PROGRESS, as people write it.
func word(name string) string {
	return strings.ToLower(strings.ReplaceAll(name, "_", " "))
}

// label is a name of the interface at the beginning of a line: "In progress".
func label(name string) string {
	text := word(name)
	return strings.ToUpper(text[:1]) + text[1:]
}

// tail is the end of an ID, that people compare.
func tail(id string) string {
	const shown = 6
	prefix := strings.IndexByte(id, '_') + 1
	if len(id) < prefix+shown {
		return id
	}
	return id[:prefix] + "…" + id[len(id)-shown:]
}

// stamp is a time in the form that machines read.
func stamp(at any) string { return time.UnixMilli(millis(at)).UTC().Format(time.RFC3339) }

// millis is a time of the interface, or a pointer to one, which is not nil.
func millis(at any) int64 {
	if at, ok := at.(*api.Time); ok {
		return int64(*at)
	}
	return int64(at.(api.Time))
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// Ago is how long ago a time was, or how long it takes until it comes.
func (s shown) Ago(at any) string {
	passed := time.Duration(s.now-millis(at)) * time.Millisecond
	switch {
	case passed < -time.Minute:
		return "in " + span(-passed)
	case passed < time.Minute:
		return "now"
	case passed < 30*day:
		return span(passed) + " ago"
	}
	return time.UnixMilli(millis(at)).UTC().Format(time.DateOnly)
}

// Date is the day of a time.
func (shown) Date(at any) string {
	return time.UnixMilli(millis(at)).UTC().Format(time.DateOnly)
}

// lease is how much is left of a claim: in percent and in words. Short ones have less than a
// quarter.
type lease struct {
	Percent int64
	Left    string
	Short   bool
}

// Lease is what is left of a claim that ends at a time.
func (s shown) Lease(until any, seconds int) lease {
	left := time.Duration(max(0, millis(until)-s.now)) * time.Millisecond
	made := lease{Left: span(left) + " left"}
	if seconds > 0 {
		made.Percent = min(100, int64(left/time.Second)*100/int64(seconds))
	}
	made.Short = made.Percent < 25
	return made
}

const day = 24 * time.Hour

// span is a duration in its largest unit.
func span(d time.Duration) string {
	switch {
	case d < time.Hour:
		return plural(int(d.Minutes()), "minute")
	case d < 2*day:
		return plural(int(d.Hours()), "hour")
	}
	return plural(int(d/day), "day")
}

// plural is a number with its noun.
func plural(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(number) + " " + noun + "s"
}
