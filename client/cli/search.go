package cli

import (
	"context"
)

// SearchCommand searches everything public.
type SearchCommand struct {
	Common
	Paged
	Query string `arg:"" help:"Words to search for."`
	Type  string `help:"Only of this type, such as PROJECT, FILE, TASK." placeholder:"TYPE"`
}

// Run prints what was found, best first.
func (c *SearchCommand) Run(ctx context.Context, env *Env) error {
	return c.list(ctx, env, c.Paged, apiPath("search"), filters("q", c.Query, "type", upper(c.Type)),
		"results", column{"TYPE", "entity_type", nil}, column{"ID", "id", nil},
		column{"TITLE", "title", asCut}, column{"PATH", "path", nil}, column{"TEXT", "snippet", asCut})
}
