package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

	"pws/client"
)

// ContributionGroup are the commands for contributions.
type ContributionGroup struct {
	List     ContributionListCommand     `cmd:"" help:"List the contributions of a project."`
	View     ContributionViewCommand     `cmd:"" help:"Show a contribution."`
	Diff     ContributionDiffCommand     `cmd:"" help:"Print what a contribution changes."`
	Review   ContributionReviewCommand   `cmd:"" help:"Review a contribution."`
	Accept   ContributionAcceptCommand   `cmd:"" help:"Accept a contribution."`
	Reject   ContributionRejectCommand   `cmd:"" help:"Reject a contribution."`
	Withdraw ContributionWithdrawCommand `cmd:"" help:"Withdraw one's own contribution."`
}

// ContributionListCommand lists contributions.
type ContributionListCommand struct {
	InProject
	Paged
	Status string `help:"Only of this status." placeholder:"STATUS"`
	Author string `help:"Only of this agent." placeholder:"AGENT"`
}

// Run prints the contributions.
func (c *ContributionListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "contributions",
		filters("status", upper(c.Status), "author", c.Author), "contributions",
		column{"CONTRIBUTION", "id", nil}, column{"STATUS", "status", nil},
		column{"AUTHOR", "author.handle", asHandle}, column{"CHANGED", "updated_at", asAgo},
		column{"SUMMARY", "summary", asCut})
}

// aContribution is the argument of commands for one contribution.
type aContribution struct {
	Common
	Contribution string `arg:"" help:"ID of the contribution."`
}

// ContributionViewCommand shows a contribution.
type ContributionViewCommand struct{ aContribution }

// Run prints the contribution with its reviews.
func (c *ContributionViewCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("contributions", c.Contribution), nil),
		func(out io.Writer, v value) error {
			found := v.at("contribution")
			err := fields(env, out, found,
				column{"contribution", "id", nil}, column{"status", "status", nil},
				column{"author", "author.handle", asHandle}, column{"project", "project_id", nil},
				column{"revision", "current_revision", nil},
				column{"changeset", "accepted_changeset_id", nil},
				column{"changed", "updated_at", asAgo})
			paragraph(out, "Summary", found.at("summary").text())
			var reviews []string
			for _, review := range found.at("reviews").list() {
				reviews = append(reviews, fmt.Sprintf("%s  @%s  %s", review.at("verdict").text(),
					review.at("author.handle").text(), review.at("body").text()))
			}
			points(out, "Reviews", reviews)
			paragraph(out, "Decision", found.at("decision_note").text())
			return err
		})
}

// contributionRevision is a revision of a contribution.
type contributionRevision struct {
	ID     string `json:"id"`
	Number int    `json:"number"`
}

// revision finds a revision by its number or its ID; an empty name is the newest one. Errors:
// REVISION_NOT_FOUND.
func (a *account) revision(
	ctx context.Context, contribution, named string,
) (contributionRevision, error) {
	var data struct {
		Contribution struct {
			Revisions []contributionRevision `json:"revisions"`
		} `json:"contribution"`
	}
	err := a.Call(ctx, http.MethodGet, apiPath("contributions", contribution), nil, &data)
	if err != nil {
		return contributionRevision{}, err
	}
	for _, one := range slices.Backward(data.Contribution.Revisions) {
		if named == "" || named == one.ID || named == strconv.Itoa(one.Number) {
			return one, nil
		}
	}
	return contributionRevision{}, &client.Failure{
		Status: http.StatusNotFound, Code: "REVISION_NOT_FOUND",
		Message: fmt.Sprintf("The contribution has no revision %q.", named),
	}
}

// ContributionDiffCommand prints a difference.
type ContributionDiffCommand struct {
	aContribution
	Revision string `help:"Number or ID of the revision; the newest by default." placeholder:"REVISION"`
}

// Run prints the diff of a revision, and its number on the error output: the output is a patch.
func (c *ContributionDiffCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	revision, err := caller.revision(ctx, c.Contribution, c.Revision)
	if err != nil {
		return err
	}
	path := apiPath("contributions", c.Contribution, "revisions", revision.ID, "diff")
	if err := c.showAs(ctx, env, caller, get(path, nil), printDiff(env)); err != nil {
		return err
	}
	_, err = fmt.Fprintf(caller.notices, "Revision %d (%s).\n", revision.Number, line(revision.ID))
	return err
}

// aDecision is the argument of commands that judge one revision of a contribution. There is no
// default: the author may submit another revision after the caller has read one.
type aDecision struct {
	aContribution
	Revision string `help:"Number or ID of the revision that was read." placeholder:"REVISION"`
}

// decide sends a body for the revision to an operation of the contribution. The text has the number
// of the revision, then the parts of the answer at the paths.
func (c *aDecision) decide(
	ctx context.Context, env *Env, operation string, body map[string]any,
	text string, paths ...string,
) error {
	if c.Revision == "" {
		return &advisedError{
			usagef("no revision is named: the author may have submitted another since you looked"),
			"pws contribution diff " + line(c.Contribution) + ", then --revision N with its number",
		}
	}
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	revision, err := caller.revision(ctx, c.Contribution, c.Revision)
	if err != nil {
		return err
	}
	body["revision_id"] = revision.ID
	request, err := write(http.MethodPost, apiPath("contributions", c.Contribution, operation), body)
	if err != nil {
		return err
	}
	said := fmt.Sprintf("Revision %d: ", revision.Number)
	return c.showAs(ctx, env, caller, request, say(said+text, paths...))
}

// ContributionReviewCommand reviews.
type ContributionReviewCommand struct {
	aDecision
	Verdict string `arg:"" enum:"approve,request-changes,comment" help:"approve, request-changes or comment."`
	Message string `short:"m" help:"The review." placeholder:"TEXT"`
}

// Run reviews a revision.
func (c *ContributionReviewCommand) Run(ctx context.Context, env *Env) error {
	verdicts := map[string]string{
		"approve": "APPROVE", "request-changes": "REQUEST_CHANGES", "comment": "COMMENT",
	}
	return c.decide(ctx, env, "reviews", members("verdict", verdicts[c.Verdict], "body", c.Message),
		"reviewed, %s.", "review.verdict")
}

// ContributionAcceptCommand accepts.
type ContributionAcceptCommand struct {
	aDecision
	Message string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
}

// Run publishes a revision.
func (c *ContributionAcceptCommand) Run(ctx context.Context, env *Env) error {
	return c.decide(ctx, env, "accept", members("message", c.Message),
		"%s is %s, changeset %s.", "contribution.id", "contribution.status", "changeset.id")
}

// ContributionRejectCommand rejects.
type ContributionRejectCommand struct {
	aDecision
	Message string `short:"m" required:"" help:"The reason." placeholder:"TEXT"`
}

// Run rejects a revision.
func (c *ContributionRejectCommand) Run(ctx context.Context, env *Env) error {
	return c.decide(ctx, env, "reject", members("reason", c.Message),
		"%s is %s.", "contribution.id", "contribution.status")
}

// ContributionWithdrawCommand withdraws.
type ContributionWithdrawCommand struct {
	aContribution
	Message string `short:"m" help:"The reason." placeholder:"TEXT"`
}

// Run withdraws the contribution.
func (c *ContributionWithdrawCommand) Run(ctx context.Context, env *Env) error {
	return c.send(ctx, env, http.MethodPost, apiPath("contributions", c.Contribution, "withdraw"),
		members("reason", c.Message), say("%s is %s.", "contribution.id", "contribution.status"))
}
