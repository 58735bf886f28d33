package cli

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"

	"pws/internal/unseen"
)

// Output are the flags that choose the form of the output.
type Output struct {
	JSON bool   `help:"Print the data of the answer as JSON."`
	JQ   string `name:"jq" help:"Print what a jq expression makes of the data." placeholder:"EXPR"`
}

// WantsJSON reports whether errors are printed as JSON too.
func (o *Output) WantsJSON() bool { return o.JSON || o.JQ != "" }

// CheckOutput returns an error for a jq expression that is none, which is to be known BEFORE a
// command does anything. Errors: UsageError.
func (o *Output) CheckOutput() error {
	if o.JQ == "" {
		return nil
	}
	_, err := compileQuery(o.JQ)
	return err
}

func compileQuery(expression string) (*gojq.Code, error) {
	query, err := gojq.Parse(expression)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	code, err := gojq.Compile(query)
	if err != nil {
		return nil, usagef("--jq: %w", err)
	}
	return code, nil
}

// print prints the data of an answer: as JSON if that was asked for, else as text does.
func (o *Output) print(
	ctx context.Context, env *Env, data jsontext.Value, text func(io.Writer) error,
) error {
	switch {
	case o.JQ != "":
		return printQuery(ctx, env.foreign(), data, o.JQ)
	case o.JSON:
		if err := data.Indent(jsontext.WithIndent("  ")); err != nil {
			return err
		}
		_, err := fmt.Fprintf(env.foreign(), "%s\n", data)
		return err
	}
	return text(env.Out)
}

// foreign is where texts of others are printed as they are; at a terminal they are cleaned.
func (e *Env) foreign() io.Writer { return forTerminal(e.Out, e.TerminalOut) }

func forTerminal(to io.Writer, terminal bool) io.Writer {
	if terminal {
		return cleanWriter{to}
	}
	return to
}

// cleanWriter cleans what is written to it. A character that two writes share is shown as bytes.
type cleanWriter struct{ io.Writer }

// Write implements io.Writer.
func (w cleanWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.Writer, Clean(string(text)))
	return len(text), err
}

// printQuery prints the results of a jq expression, a line each: strings as they are, all else as
// JSON. It is called AFTER the command has succeeded, which an error of the expression says.
func printQuery(
	ctx context.Context, to io.Writer, data jsontext.Value, expression string,
) error {
	query, err := compileQuery(expression)
	if err != nil {
		return err
	}
	var input any
	if err := json.Unmarshal(data, &input); err != nil {
		return err
	}
	for results := query.RunWithContext(ctx, input); ; {
		result, more := results.Next()
		if !more {
			return nil
		}
		if err, failed := result.(error); failed {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("the command was carried out, but --jq failed: %w", err)
		}
		text, ok := result.(string)
		if !ok {
			encoded, err := gojq.Marshal(result)
			if err != nil {
				return err
			}
			text = string(encoded)
		}
		if _, err := fmt.Fprintln(to, text); err != nil {
			return err
		}
	}
}

// Clean is a text of others for a terminal: line ends and tabs stay, other characters that nobody
// sees are made visible.
func Clean(text string) string {
	return unseen.Replace(text, func(r rune) string {
		if r == '\n' || r == '\t' {
			return string(r)
		}
		return escaped(r)
	})
}

// line is a text of others in one line.
func line(text string) string {
	return unseen.Replace(text, func(r rune) string {
		if r == '\n' || r == '\t' {
			return " "
		}
		return escaped(r)
	})
}

func escaped(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") }

// table prints rows in columns. Cells are cleaned.
type table struct{ w *tabwriter.Writer }

func newTable(to io.Writer, head ...string) *table {
	t := newPlainTable(to)
	t.row(head...)
	return t
}

func newPlainTable(to io.Writer) *table {
	return &table{tabwriter.NewWriter(to, 0, 4, 2, ' ', 0)}
}

func (t *table) row(cells ...string) {
	for i, cell := range cells {
		if i > 0 {
			fmt.Fprint(t.w, "\t")
		}
		fmt.Fprint(t.w, line(cell))
	}
	fmt.Fprintln(t.w)
}

func (t *table) end() error { return t.w.Flush() }

// ago is a time as people say it.
func ago(now, at time.Time) string {
	const day = 24 * time.Hour
	switch passed := now.Sub(at); {
	case at.IsZero():
		return "-"
	case passed < -time.Minute:
		return "in " + span(-passed)
	case passed < time.Minute:
		return "now"
	case passed < 30*day:
		return span(passed) + " ago"
	}
	return at.Format(time.DateOnly)
}

// span is a duration in its largest unit.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return strconv.Itoa(int(d.Seconds())) + " s"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + " min"
	case d < 2*day:
		return strconv.Itoa(int(d.Hours())) + " h"
	}
	return strconv.Itoa(int(d/day)) + " days"
}
