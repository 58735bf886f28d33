package cli

import (
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
)

// value is a part of an answer that is printed. Absent parts are empty.
type value struct{ any }

func parseValue(data []byte) (value, error) {
	var v value
	err := json.Unmarshal(data, &v.any)
	return v, err
}

// at is the part at a path of members, separated by dots.
func (v value) at(path string) value {
	for _, name := range strings.Split(path, ".") {
		object, _ := v.any.(map[string]any)
		v = value{object[name]}
	}
	return v
}

// list is the elements of an array.
func (v value) list() (all []value) {
	array, _ := v.any.([]any)
	for _, element := range array {
		all = append(all, value{element})
	}
	return all
}

// text is a text, a number or a truth value as text; empty for all else.
func (v value) text() string {
	switch v := v.any.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	}
	return ""
}

func (v value) int() int {
	number, _ := v.any.(float64)
	return int(number)
}

// time is a time of the interface, zero if it is none.
func (v value) time() time.Time {
	at, err := time.Parse(time.RFC3339, v.text())
	if err != nil {
		return time.Time{}
	}
	return at
}

// texts are the elements of an array as texts. Of an object it takes the member that says most: a
// decision, an approach, a title, a summary.
func (v value) texts() (all []string) {
	for _, element := range v.list() {
		text := element.text()
		for _, name := range []string{"decision", "approach", "title", "summary", "path", "id"} {
			if text == "" {
				text = element.at(name).text()
			}
		}
		for _, name := range []string{"rationale", "reason"} {
			if why := element.at(name).text(); why != "" {
				text += " (" + why + ")"
			}
		}
		all = append(all, text)
	}
	return all
}

// column is a column of a printed list.
type column struct {
	head, path string
	// show makes the cell; nil prints the text.
	show func(env *Env, v value) string
}

func (c column) cell(env *Env, row value) string {
	v := row.at(c.path)
	if c.path == "" {
		v = row
	}
	if c.show != nil {
		return c.show(env, v)
	}
	return v.text()
}

// How cells are shown.
func asAgo(env *Env, v value) string { return ago(env.Now(), v.time()) }

func asHandle(_ *Env, v value) string {
	if v.text() == "" {
		return "-"
	}
	return "@" + v.text()
}

func asCount(_ *Env, v value) string { return strconv.Itoa(len(v.list())) }

func asTexts(_ *Env, v value) string { return strings.Join(v.texts(), ", ") }

// asCut shows the beginning of a text.
func asCut(_ *Env, v value) string {
	const most = 60
	text := strings.Join(strings.Fields(v.text()), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
