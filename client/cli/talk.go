package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// SearchCommand searches everything public.
type SearchCommand struct {
	Common
	Paged
	Query string `arg:"" help:"What to find."`
	Type  string `help:"Only of this type, such as PROJECT, FILE, TASK." placeholder:"TYPE"`
}

// Run prints what was found, best first.
func (c *SearchCommand) Run(ctx context.Context, env *Env) error {
	return c.list(ctx, env, c.Paged, apiPath("search"), filters("q", c.Query, "type", upper(c.Type)),
		"results", column{"TYPE", "entity_type", nil}, column{"ID", "id", nil},
		column{"TITLE", "title", asCut}, column{"PATH", "path", nil}, column{"TEXT", "snippet", asCut})
}

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

// EventsCommand lists events.
type EventsCommand struct {
	Common
	Paged
	Project string `short:"p" help:"Only of this project: an ID, or a name." placeholder:"PROJECT"`
	Type    string `help:"Only of this type, such as task.created." placeholder:"TYPE"`
	Since   string `help:"Since a time, or a duration ago such as 2h." placeholder:"TIME"`
	After   string `help:"Behind this cursor." placeholder:"CURSOR"`
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

// DiscussionGroup are the commands for discussions.
type DiscussionGroup struct {
	List    DiscussionListCommand    `cmd:"" help:"List the discussions of a project."`
	View    DiscussionViewCommand    `cmd:"" help:"Show a discussion."`
	Create  DiscussionCreateCommand  `cmd:"" help:"Begin a discussion."`
	Comment DiscussionCommentCommand `cmd:"" help:"Comment on a discussion."`
	Close   DiscussionCloseCommand   `cmd:"" help:"Close a discussion, or open it again."`
}

// DiscussionListCommand lists discussions.
type DiscussionListCommand struct {
	InProject
	Paged
}

// Run prints the discussions.
func (c *DiscussionListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "discussions", nil, "discussions",
		column{"DISCUSSION", "id", nil}, column{"STATUS", "status", nil},
		column{"AUTHOR", "author.handle", asHandle}, column{"COMMENTS", "comment_count", nil},
		column{"TITLE", "title", asCut})
}

// aDiscussion is the argument of commands for one discussion.
type aDiscussion struct {
	Common
	Discussion string `arg:"" help:"ID of the discussion."`
}

// DiscussionViewCommand shows a discussion.
type DiscussionViewCommand struct{ aDiscussion }

// Run prints the discussion and its comments.
func (c *DiscussionViewCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(apiPath("discussions", c.Discussion), filters("limit", "100")),
		func(out io.Writer, v value) error {
			discussion := v.at("discussion")
			fmt.Fprintf(out, "%s\n", line(discussion.at("title").text()))
			paragraph(out, "@"+line(discussion.at("author.handle").text()),
				discussion.at("body").text())
			for _, comment := range v.at("comments").list() {
				paragraph(out, "@"+line(comment.at("author.handle").text())+", "+
					asAgo(env, comment.at("created_at")), comment.at("body").text())
			}
			return nil
		})
}

// DiscussionCreateCommand begins a discussion.
type DiscussionCreateCommand struct {
	InProject
	Title   string `arg:"" help:"The title."`
	Message string `short:"m" required:"" help:"The text; @FILE takes it from a file." placeholder:"TEXT"`
}

// Run begins the discussion.
func (c *DiscussionCreateCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Message)
	if err != nil {
		return err
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "discussions"),
			members("title", c.Title, "body", text))
	}, say("%s  %s", "discussion.id", "discussion.title"))
}

// DiscussionCommentCommand comments.
type DiscussionCommentCommand struct {
	aDiscussion
	Message string `short:"m" required:"" help:"The text; @FILE takes it from a file." placeholder:"TEXT"`
	Reply   string `help:"ID of the comment that this answers." placeholder:"COMMENT"`
}

// Run adds the comment.
func (c *DiscussionCommentCommand) Run(ctx context.Context, env *Env) error {
	text, err := env.textOf(c.Message)
	if err != nil {
		return err
	}
	return c.send(ctx, env, http.MethodPost, apiPath("discussions", c.Discussion, "comments"),
		members("body", text, "reply_to_id", c.Reply), say("%s", "comment.id"))
}

// DiscussionCloseCommand closes a discussion.
type DiscussionCloseCommand struct {
	aDiscussion
	Reopen bool `help:"Open it again."`
}

// Run sets the status.
func (c *DiscussionCloseCommand) Run(ctx context.Context, env *Env) error {
	status := "CLOSED"
	if c.Reopen {
		status = "OPEN"
	}
	return c.send(ctx, env, http.MethodPatch, apiPath("discussions", c.Discussion),
		members("status", status), say("%s is %s.", "discussion.id", "discussion.status"))
}

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

// ArtifactGroup are the commands for artifacts.
type ArtifactGroup struct {
	List   ArtifactListCommand   `cmd:"" help:"List the artifacts of a project."`
	Create ArtifactCreateCommand `cmd:"" help:"Make an artifact of files."`
	Import ArtifactImportCommand `cmd:"" help:"Import an artifact into the project."`
}

// ArtifactListCommand lists artifacts.
type ArtifactListCommand struct {
	InProject
	Paged
}

// Run prints the artifacts.
func (c *ArtifactListCommand) Run(ctx context.Context, env *Env) error {
	return c.listIn(ctx, env, c.Paged, "artifacts", nil, "artifacts",
		column{"ARTIFACT", "id", nil}, column{"TYPE", "type", nil}, column{"NAME", "name", asCut},
		column{"FILES", "paths", asCount}, column{"IMPORTS", "import_count", nil})
}

// ArtifactCreateCommand makes an artifact.
type ArtifactCreateCommand struct {
	InProject
	Name  string   `arg:"" help:"Name of the artifact."`
	Paths []string `arg:"" help:"Paths in the project."`
	Type  string   `default:"OTHER" help:"LIBRARY, TEMPLATE, PROMPT, DATASET, DOCUMENT, TOOL or OTHER."`
	Text  string   `short:"d" name:"description" help:"The description." placeholder:"TEXT"`
}

// Run makes the artifact.
func (c *ArtifactCreateCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "artifacts"), members("name", c.Name,
			"type", upper(c.Type), "description", c.Text, "paths", c.Paths))
	}, say("%s  %s", "artifact.id", "artifact.name"))
}

// ArtifactImportCommand imports an artifact.
type ArtifactImportCommand struct {
	InProject
	Artifact string `arg:"" help:"ID of the artifact."`
	Prefix   string `help:"Folder for its files." placeholder:"FOLDER"`
	Replace  bool   `help:"Replace files that are there already."`
}

// Run imports the files as one changeset.
func (c *ArtifactImportCommand) Run(ctx context.Context, env *Env) error {
	conflict := ""
	if c.Replace {
		conflict = "REPLACE"
	}
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return write(http.MethodPost, projectPath(project, "imports"), members(
			"artifact_id", c.Artifact, "target_prefix", c.Prefix, "on_conflict", conflict))
	}, say("Imported, changeset %s.", "changeset.id"))
}
