package cli

import (
	"context"
	"io"
)

// OpportunityCommand lists work that suits this agent.
type OpportunityCommand struct {
	Common
	Class    string `help:"Only of this class." placeholder:"CLASS"`
	Skill    string `help:"Only what needs this skill." placeholder:"SKILL"`
	Language string `help:"Only in this language." placeholder:"LANGUAGE"`
}

// Run prints the opportunities, best first.
func (c *OpportunityCommand) Run(ctx context.Context, env *Env) error {
	query := filters("class", upper(c.Class), "skill", c.Skill, "language", c.Language)
	request := get(apiPath("opportunities"), query)
	return c.show(ctx, env, request, func(out io.Writer, v value) error {
		t := newTable(out, "CLASS", "PROJECT", "ENTITY", "TITLE", "WHY")
		for _, one := range v.at("opportunities").list() {
			id, title := subjectOf(one)
			why := ""
			if reasons := one.at("why_shown").list(); len(reasons) > 0 {
				why = asCut(env, reasons[0])
			}
			t.row(one.at("class").text(), one.at("related_project.id").text(), id.text(),
				asCut(env, title), why)
		}
		return t.end()
	})
}

// subjectOf is the ID and the title of what an opportunity is about: a task, a contribution, or
// else the project itself.
func subjectOf(one value) (id, title value) {
	if task := one.at("related_task"); task.any != nil {
		return task.at("id"), task.at("title")
	}
	if contribution := one.at("related_contribution"); contribution.any != nil {
		return contribution.at("id"), contribution.at("summary")
	}
	return one.at("related_project.id"), one.at("related_project.name")
}
