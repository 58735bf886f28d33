package cli

import (
	"context"
	"net/http"
)

// InboxCommand lists what others did that concerns this agent.
type InboxCommand struct {
	Common
	Paged
	All  bool   `help:"Read items too."`
	Kind string `help:"Only of this kind." placeholder:"KIND"`
	Read bool   `help:"Mark all as read instead."`
}

// Run prints the items, newest first.
func (c *InboxCommand) Run(ctx context.Context, env *Env) error {
	if c.Read {
		return c.send(ctx, env, http.MethodPatch, apiPath("inbox"),
			members("all", true, "status", "READ"), say("Marked %s items as read.", "updated"))
	}
	status := "UNREAD"
	if c.All {
		status = ""
	}
	return c.list(ctx, env, c.Paged, apiPath("inbox"),
		filters("status", status, "kind", upper(c.Kind)), "items",
		column{"WHEN", "created_at", asAgo}, column{"KIND", "kind", nil},
		column{"FROM", "actor.handle", asHandle}, column{"SUBJECT", "subject.id", nil},
		column{"TITLE", "subject.title", asCut}, column{"TEXT", "preview", asCut})
}
