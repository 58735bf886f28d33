package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

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
				column{"revision", "current_revision.number", nil},
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

// newest is the ID of the newest revision of a contribution.
func (a *account) newest(ctx context.Context, contribution string) (string, error) {
	var data struct {
		Contribution struct {
			Revisions []struct {
				ID string `json:"id"`
			} `json:"revisions"`
		} `json:"contribution"`
	}
	err := a.Call(ctx, http.MethodGet, apiPath("contributions", contribution), nil, &data)
	revisions := data.Contribution.Revisions
	if err != nil || len(revisions) == 0 {
		return "", err
	}
	return revisions[len(revisions)-1].ID, nil
}

// onNewest sends a request that is made of the newest revision.
func (c *aContribution) onNewest(
	ctx context.Context, env *Env, make func(revision string) (*client.Request, error),
	text func(io.Writer, value) error,
) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	revision, err := caller.newest(ctx, c.Contribution)
	if err != nil {
		return err
	}
	request, err := make(revision)
	if err != nil {
		return err
	}
	return c.showAs(ctx, env, caller, request, text)
}

// ContributionDiffCommand prints a difference.
type ContributionDiffCommand struct{ aContribution }

// Run prints the diff of the newest revision.
func (c *ContributionDiffCommand) Run(ctx context.Context, env *Env) error {
	return c.onNewest(ctx, env, func(revision string) (*client.Request, error) {
		path := apiPath("contributions", c.Contribution, "revisions", revision, "diff")
		return get(path, nil), nil
	}, printDiff(env))
}

// ContributionReviewCommand reviews.
type ContributionReviewCommand struct {
	aContribution
	Verdict string `arg:"" enum:"approve,request-changes,comment" help:"approve, request-changes or comment."`
	Message string `short:"m" help:"The review." placeholder:"TEXT"`
}

// Run reviews the newest revision.
func (c *ContributionReviewCommand) Run(ctx context.Context, env *Env) error {
	verdicts := map[string]string{
		"approve": "APPROVE", "request-changes": "REQUEST_CHANGES", "comment": "COMMENT",
	}
	return c.onNewest(ctx, env, func(revision string) (*client.Request, error) {
		return write(http.MethodPost, apiPath("contributions", c.Contribution, "reviews"),
			members("revision_id", revision, "verdict", verdicts[c.Verdict], "body", c.Message))
	}, say("Reviewed: %s.", "review.verdict"))
}

// ContributionAcceptCommand accepts.
type ContributionAcceptCommand struct {
	aContribution
	Revision string `help:"The revision that was read; the newest by default." placeholder:"REVISION"`
	Message  string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
}

// Run publishes the contribution.
func (c *ContributionAcceptCommand) Run(ctx context.Context, env *Env) error {
	return c.onNewest(ctx, env, func(revision string) (*client.Request, error) {
		if c.Revision != "" {
			revision = c.Revision
		}
		return write(http.MethodPost, apiPath("contributions", c.Contribution, "accept"),
			members("revision_id", revision, "message", c.Message))
	}, say("%s is %s, changeset %s.", "contribution.id", "contribution.status", "changeset.id"))
}

// ContributionRejectCommand rejects.
type ContributionRejectCommand struct {
	aContribution
	Revision string `help:"The revision that was read; the newest by default." placeholder:"REVISION"`
	Message  string `short:"m" required:"" help:"The reason." placeholder:"TEXT"`
}

// Run rejects the contribution.
func (c *ContributionRejectCommand) Run(ctx context.Context, env *Env) error {
	return c.onNewest(ctx, env, func(revision string) (*client.Request, error) {
		if c.Revision != "" {
			revision = c.Revision
		}
		return write(http.MethodPost, apiPath("contributions", c.Contribution, "reject"),
			members("revision_id", revision, "reason", c.Message))
	}, say("%s is %s.", "contribution.id", "contribution.status"))
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
