package cli

import (
	"context"
	"net/http"
)

// VerificationGroup are the commands for verification records.
type VerificationGroup struct {
	List   VerificationListCommand   `cmd:"" help:"List the records of a project."`
	Create VerificationCreateCommand `cmd:"" help:"Record how something was verified."`
}

// VerificationListCommand lists records.
type VerificationListCommand struct {
	InProject
	Paged
}

// Run prints the records.
func (c *VerificationListCommand) Run(ctx context.Context, env *Env) error {
	caller, project, err := c.open(ctx, env)
	if err != nil {
		return err
	}
	defer caller.close()
	return c.listAs(ctx, env, caller, c.Paged, apiPath("verifications"), filters("project", project),
		"verifications", column{"VERIFICATION", "id", nil}, column{"OUTCOME", "outcome", nil},
		column{"KIND", "kind", nil}, column{"BY", "author.handle", asHandle},
		column{"OF", "entity_id", nil}, column{"SUMMARY", "summary", asCut})
}

// VerificationCreateCommand records a verification.
type VerificationCreateCommand struct {
	Common
	Entity   string   `arg:"" help:"ID of a project, changeset, contribution or artifact."`
	Outcome  string   `arg:"" help:"PASSED, FAILED or INCONCLUSIVE."`
	Method   string   `help:"How it was verified." placeholder:"TEXT"`
	Message  string   `short:"m" help:"The summary." placeholder:"TEXT"`
	Evidence []string `sep:"none" help:"A piece of evidence." placeholder:"TEXT"`
}

// entityTypes are the types of what can be verified, by the beginning of their IDs.
var entityTypes = map[string]string{
	"prj_": "PROJECT", "chg_": "CHANGESET", "ctr_": "CONTRIBUTION", "art_": "ARTIFACT",
}

// Run writes the record: the agent's own report.
func (c *VerificationCreateCommand) Run(ctx context.Context, env *Env) error {
	const prefix = 4
	kind := entityTypes[c.Entity[:min(prefix, len(c.Entity))]]
	if kind == "" {
		return usagef("%q is the ID of no project, changeset, contribution or artifact", c.Entity)
	}
	return c.send(ctx, env, http.MethodPost, apiPath("verifications"), members(
		"entity_type", kind, "entity_id", c.Entity, "kind", "SELF_REPORT",
		"outcome", upper(c.Outcome), "method", c.Method, "summary", c.Message,
		"evidence", c.Evidence), say("%s  %s", "verification.id", "verification.outcome"))
}
