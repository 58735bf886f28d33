package cli

import (
	"context"
	"io"

	"pws/client"
)

// show sends a request and prints the data of its answer; text prints it for people.
func (c *Common) show(
	ctx context.Context, env *Env, request *client.Request,
	text func(out io.Writer, data []byte) error,
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
	text func(out io.Writer, data []byte) error,
) error {
	answer, err := caller.Do(ctx, request)
	if err != nil {
		return err
	}
	data, err := answer.Data()
	if err != nil {
		return err
	}
	return c.print(env, data, func(out io.Writer) error { return text(out, data) })
}
