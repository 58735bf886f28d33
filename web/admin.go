package web

import (
	"bytes"

	"pws/api"
)

// Admin is the page of an operator, which the admin listener serves: health, reports and limits. It
// has no operation of its own, so the public listener cannot reach it.
type Admin struct {
	Version string
	// Now and Started are Unix milliseconds.
	Now, Started int64
	Space        api.Space
	// Figures are what the metrics say, in order.
	Figures []Figure
	// Reports are those that wait for the operator, the newest first; Unhandled counts all of
	// them, Handled those that were handled.
	Reports   []AdminReport
	Unhandled int
	Handled   int
	Limits    []api.RateLimit
	Stored    api.StoredLimits
}

// Figure is a number with its name in words.
type Figure struct {
	Name  string
	Value int64
}

// AdminReport is a report of abuse without the words of who made it.
type AdminReport struct {
	ID, Reason, Type, Entity string
	// CreatedAt is Unix milliseconds.
	CreatedAt int64
}

// Admin makes the page of an operator. Style is the address of its style sheet on that listener.
func (w *Web) Admin(page Admin, style string) []byte {
	var body bytes.Buffer
	shown := struct {
		shown
		Admin
	}{shown{now: page.Now, Style: style}, page}
	if err := w.templates["admin"]().ExecuteTemplate(&body, "admin", shown); err != nil {
		// Templates are compiled with the program; what they get is typed.
		panic(err)
	}
	return body.Bytes()
}

// Style is the style sheet of all pages.
func (w *Web) Style() []byte { return w.assets["style.css"].body }

// Time is a time of the page as templates take it.
func (Admin) Time(millis int64) api.Time { return api.Time(millis) }
