package cli

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// show sends a request and prints the data of its answer; text prints it for people.
func (c *Common) show(
	ctx context.Context, env *Env, request *client.Request,
	text func(out io.Writer, v value) error,
) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	return c.showAs(ctx, env, caller, request, text)
}

// showAs is show with an account that is open.
func (c *Common) showAs(
	ctx context.Context, env *Env, caller *account, request *client.Request,
	text func(out io.Writer, v value) error,
) error {
	data, err := dataOf(caller.Do(ctx, request))
	if err != nil {
		return err
	}
	return c.printData(ctx, env, data, text)
}

// dataOf is the data of an answer.
func dataOf(answer *client.Answer, err error) (jsontext.Value, error) {
	if err != nil {
		return nil, err
	}
	return answer.Data()
}

// printData prints the data of an answer; text prints it for people.
func (c *Common) printData(
	ctx context.Context, env *Env, data jsontext.Value, text func(out io.Writer, v value) error,
) error {
	return c.print(ctx, env, data, func(out io.Writer) error {
		v, err := parseValue(data)
		if err != nil {
			return err
		}
		return text(out, v)
	})
}

// send is show with a request that writes.
func (c *Common) send(
	ctx context.Context, env *Env, method, path string, body any,
	text func(out io.Writer, v value) error,
) error {
	request, err := write(method, path, body)
	if err != nil {
		return err
	}
	return c.show(ctx, env, request, text)
}

// say makes a text function that prints one line. Its arguments are paths of the answer.
func say(format string, paths ...string) func(io.Writer, value) error {
	return func(out io.Writer, v value) error {
		args := make([]any, len(paths))
		for i, path := range paths {
			args[i] = line(v.at(path).text())
		}
		_, err := fmt.Fprintf(out, format+"\n", args...)
		return err
	}
}

// fields prints the parts of a record that are not empty, a line each.
func fields(env *Env, out io.Writer, record value, columns ...column) error {
	t := newPlainTable(out)
	for _, column := range columns {
		if cell := column.cell(env, record); cell != "" && cell != "-" {
			t.row(column.head, cell)
		}
	}
	return t.end()
}

// section is a list in a record and its heading.
type section struct{ heading, path string }

// sections prints lists of a record that are not empty.
func sections(out io.Writer, record value, all ...section) {
	for _, one := range all {
		points(out, one.heading, record.at(one.path).texts())
	}
}

// paragraph prints a text of others below a heading, if there is one.
func paragraph(out io.Writer, heading, text string) {
	if text = strings.TrimSpace(text); text != "" {
		fmt.Fprintf(out, "\n%s\n%s\n", heading, Clean(text))
	}
}

// points prints texts of others below a heading, a line each.
func points(out io.Writer, heading string, texts []string) {
	if len(texts) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", heading)
	for _, text := range texts {
		fmt.Fprintf(out, "- %s\n", line(text))
	}
}
