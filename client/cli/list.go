package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// Paged are the flags of lists.
type Paged struct {
	Limit int `default:"30" help:"At most this many."`
}

// pageMax is the largest page that every list accepts.
const pageMax = 100

// list prints a list of the service page by page, up to the limit.
func (c *Common) list(
	ctx context.Context, env *Env, page Paged, path string, query url.Values, member string,
	columns ...column,
) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	return c.listAs(ctx, env, caller, page, path, query, member, columns...)
}

// listAs is list with an account that is open.
func (c *Common) listAs(
	ctx context.Context, env *Env, caller *account, page Paged, path string, query url.Values,
	member string, columns ...column,
) error {
	if page.Limit < 1 {
		return usagef("--limit must be at least 1")
	}
	all, cursor, err := collect(ctx, caller, page.Limit, path, query, member)
	if err != nil {
		return err
	}
	var t *table
	err = c.printAll(ctx, env, all, cursor, member, func(out io.Writer, row value) error {
		if t == nil {
			t = newTable(out, heads(columns)...)
		}
		t.row(cells(env, row, columns)...)
		return nil
	})
	if err != nil || t == nil {
		return err
	}
	return t.end()
}

// printAll prints the elements of a list: as JSON, or each by text. It says where there are none or
// more.
func (c *Common) printAll(
	ctx context.Context, env *Env, all []jsontext.Value, cursor *string, member string,
	text func(out io.Writer, element value) error,
) error {
	data, err := json.Marshal(map[string]any{member: all, "next_cursor": cursor},
		json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.print(ctx, env, data, func(out io.Writer) error {
		for _, element := range all {
			v, err := parseValue(element)
			if err == nil {
				err = text(out, v)
			}
			if err != nil {
				return err
			}
		}
		switch {
		case len(all) == 0:
			fmt.Fprintln(env.Err, "None.")
		case cursor != nil:
			fmt.Fprintln(env.Err, "There are more: use a larger --limit.")
		}
		return nil
	})
}

// collect reads pages until there are limit elements. The cursor is nil at the end of the list.
func collect(
	ctx context.Context, caller *account, limit int, path string, query url.Values, member string,
) (all []jsontext.Value, cursor *string, err error) {
	all = []jsontext.Value{}
	if query == nil {
		query = url.Values{}
	}
	cursors := client.Cursors{}
	for len(all) < limit {
		query.Set("limit", strconv.Itoa(min(limit-len(all), pageMax)))
		var page map[string]jsontext.Value
		err := caller.Call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page)
		if err != nil {
			return nil, nil, err
		}
		var some []jsontext.Value
		cursor = nil
		err = errors.Join(json.Unmarshal(page[member], &some),
			json.Unmarshal(orNull(page["next_cursor"]), &cursor))
		if err != nil {
			return nil, nil, fmt.Errorf("the list %s: %w", member, err)
		}
		if all = append(all, some...); cursor == nil {
			break
		}
		if err := cursors.Next(query, *cursor); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", member, err)
		}
	}
	return all, cursor, nil
}

func orNull(v jsontext.Value) jsontext.Value {
	if len(v) == 0 {
		return jsontext.Value("null")
	}
	return v
}

func heads(columns []column) (all []string) {
	for _, column := range columns {
		all = append(all, column.head)
	}
	return all
}

func cells(env *Env, row value, columns []column) (all []string) {
	for _, column := range columns {
		all = append(all, column.cell(env, row))
	}
	return all
}

// get is a request that reads.
func get(path string, query url.Values) *client.Request {
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	return &client.Request{Method: http.MethodGet, Path: path}
}

// write is a request that writes; body is nil for none. account.Do gives it its Idempotency-Key.
func write(method, path string, body any) (*client.Request, error) {
	request := &client.Request{Method: method, Path: path}
	if body == nil {
		return request, nil
	}
	text, err := json.Marshal(body, json.OmitZeroStructFields(true), json.Deterministic(true))
	request.Body = text
	request.Header = http.Header{"Content-Type": {mediaJSON}}
	return request, err
}

// filters are the parts of a query that are not empty.
func filters(pairs ...string) url.Values {
	query := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}
