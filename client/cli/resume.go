package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"pws/client"
)

// ResumeCommand shows what an agent needs to go on.
type ResumeCommand struct {
	InProject
	Detail   string `enum:"compact,standard,full" default:"standard" help:"compact, standard or full."`
	Since    string `help:"Changes since this changeset." placeholder:"CHANGESET"`
	MaxChars string `help:"At most this many characters of JSON." placeholder:"N"`
}

// Run prints the resume.
func (c *ResumeCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project, "resume"), filters("detail", c.Detail,
			"since_changeset", c.Since, "max_chars", c.MaxChars)), nil
	}, func(out io.Writer, v value) error {
		printResume(out, v.at("resume"), env.Now())
		return nil
	})
}

// printResume prints a resume: the caller's own claims and what to do next come first.
func printResume(out io.Writer, r value, now time.Time) {
	fmt.Fprintf(out, "%s  %s  %s\n", line(r.at("project.name").text()), r.at("project.id").text(),
		r.at("project.visibility").text())
	printOwn(out, r.at("you"))
	points(out, "Next", r.at("next_actions").texts())
	points(out, "Blockers", r.at("blockers").texts())
	if handoff := r.at("handoff"); handoff.at("id").text() != "" {
		heading := fmt.Sprintf("Handoff of @%s, %s", line(handoff.at("author.handle").text()),
			ago(now, handoff.at("created_at").time()))
		paragraph(out, heading, handoff.at("summary").text())
	}
	state := r.at("state")
	paragraph(out, "Summary", state.at("summary").text())
	paragraph(out, "Objective", state.at("objective").text())
	paragraph(out, "Focus", state.at("current_focus").text())
	points(out, "Known problems", state.at("known_problems").texts())
	points(out, "Decisions", r.at("decisions").texts())
	points(out, "What failed before", r.at("failures").texts())
	points(out, "Open tasks", taskLines(r.at("tasks.open")))
	points(out, "Claimed tasks", taskLines(r.at("tasks.claimed")))
	points(out, "Blocked tasks", taskLines(r.at("tasks.blocked")))
	points(out, "Recent changes", changeLines(r.at("changes"), now))
	if cut := r.at("truncated_sections").texts(); len(cut) > 0 {
		fmt.Fprintf(out, "\nLeft out or cut: %s.\n", strings.Join(cut, ", "))
	}
}

// printOwn prints what the caller itself holds.
func printOwn(out io.Writer, you value) {
	var own []string
	for _, claim := range you.at("claims").list() {
		left := time.Duration(claim.at("seconds_left").int()) * time.Second
		own = append(own, fmt.Sprintf("task %s  %s (%s left)", claim.at("task_id").text(),
			claim.at("title").text(), span(left)))
	}
	for _, workspace := range you.at("workspaces").list() {
		own = append(own, fmt.Sprintf("workspace %s  %s", workspace.at("id").text(),
			workspace.at("status").text()))
	}
	points(out, "You hold", own)
}

func taskLines(tasks value) (all []string) {
	for _, task := range tasks.list() {
		text := fmt.Sprintf("%s  %s  %s", task.at("id").text(), task.at("priority").text(),
			task.at("title").text())
		if reason := task.at("blocked.reason").text(); reason != "" {
			text += " (" + reason + ")"
		}
		all = append(all, text)
	}
	return all
}

func changeLines(changes value, now time.Time) (all []string) {
	for _, change := range changes.list() {
		what := change.at("message").text()
		if what == "" {
			what = strings.Join(change.at("paths").texts(), ", ")
		}
		if what == "" && change.at("sequence").text() == "1" {
			what = projectCreated
		}
		all = append(all, fmt.Sprintf("%s  @%s  %s  %s", change.at("id").text(),
			change.at("author.handle").text(), ago(now, change.at("created_at").time()), what))
	}
	return all
}

// ManifestCommand shows what a project is.
type ManifestCommand struct{ InProject }

// Run prints the manifest.
func (c *ManifestCommand) Run(ctx context.Context, env *Env) error {
	return c.showIn(ctx, env, func(project string) (*client.Request, error) {
		return get(projectPath(project, "manifest"), nil), nil
	}, func(out io.Writer, v value) error {
		m := v.at("manifest")
		fmt.Fprintf(out, "%s\n", line(m.at("project.name").text()))
		err := fields(env, out, m,
			column{"project", "project.id", nil}, column{"owner", "project.owner.handle", asHandle},
			column{"visibility", "project.visibility", nil},
			column{"reuse", "reuse.reuse_policy", nil}, column{"license", "reuse.license_spdx", nil},
			column{"verification", "verification.status", nil},
			column{"open tasks", "open_work.counts.open", nil},
			column{"last activity", "continuation.last_activity_at", asAgo},
			column{"head", "continuation.head_changeset_id", nil})
		paragraph(out, "Purpose", m.at("purpose").text())
		paragraph(out, "State", m.at("current_state.summary").text())
		paragraph(out, "Focus", m.at("current_state.current_focus").text())
		points(out, "Known problems", m.at("known_problems").texts())
		points(out, "Tasks", taskLines(m.at("open_work.tasks")))
		return err
	})
}
