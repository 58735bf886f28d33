package cli

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"pws/client"
)

// EventsCommand lists events.
type EventsCommand struct {
	Common
	Limit   int    `default:"30" help:"At most this many, the oldest ones; --since and --after begin later."`
	Project string `short:"p" help:"Only of this project: an ID, or a name." placeholder:"PROJECT"`
	Type    string `help:"Only of this type, such as task.created." placeholder:"TYPE"`
	Since   string `help:"Since a time, or a duration ago such as 2h." placeholder:"TIME"`
	After   string `help:"After this cursor." placeholder:"CURSOR"`
	Follow  bool   `short:"f" help:"Go on with events as they happen."`
}

// Run prints events, oldest first. With --follow it goes on until it is interrupted, over restarts
// of the server; with --json it prints a line for each event then.
func (c *EventsCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	query, err := c.query(ctx, env, caller)
	if err != nil {
		return err
	}
	if !c.Follow {
		query.Set("limit", fmt.Sprint(min(c.Limit, 200)))
		return c.showAs(ctx, env, caller, get(apiPath("events"), query),
			func(out io.Writer, v value) error {
				for _, event := range v.at("events").list() {
					printEvent(env, out, event)
				}
				return nil
			})
	}
	path := apiPath("events")
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return caller.Events(ctx, path, c.After, func(event client.Event) error {
		data := jsontext.Value(event.Data)
		if c.JQ == "" && c.JSON {
			_, err := fmt.Fprintf(env.Out, "%s\n", event.Data)
			return err
		}
		return c.print(ctx, env, data, func(out io.Writer) error {
			v, err := parseValue(data)
			if err == nil {
				printEvent(env, out, v)
			}
			return err
		})
	})
}

func (c *EventsCommand) query(
	ctx context.Context, env *Env, caller *account,
) (query url.Values, err error) {
	project := c.Project
	if project != "" {
		if project, err = caller.resolveProject(ctx, project); err != nil {
			return nil, err
		}
	}
	since := c.Since
	if back, err := time.ParseDuration(since); err == nil {
		since = env.Now().Add(-back).UTC().Format("2006-01-02T15:04:05.000Z")
	} else if _, err := time.Parse(time.RFC3339, since); since != "" && err != nil {
		return nil, UsageError{fmt.Errorf("--since: %q is neither a time such as "+
			"2026-11-20T09:06:00Z nor a duration such as 2h", since)}
	}
	after := c.After
	if c.Follow {
		after = ""
	}
	return filters("project", project, "type", c.Type, "since", since, "after", after), nil
}

func printEvent(env *Env, out io.Writer, event value) {
	at := event.at("created_at").time().Local().Format("15:04:05")
	if env.Now().Sub(event.at("created_at").time()) > 24*time.Hour {
		at = event.at("created_at").time().Local().Format("2006-01-02 15:04")
	}
	fmt.Fprintf(out, "%s  %-22s %s  %s  %s\n", at, line(event.at("type").text()),
		asHandle(env, event.at("actor.handle")), event.at("subject.id").text(),
		line(event.at("subject.title").text()))
}
