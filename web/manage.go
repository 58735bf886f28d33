package web

import (
	"net/url"

	"pws/api"
	"pws/internal/fault"
)

func (w *Web) managePages() []*api.Operation {
	path := at("p") + "/{project}/manage"
	again := (*visit).manage
	return []*api.Operation{
		w.page("manage", path, nil, again),
		w.form("block", path+"/block", again, block),
		w.form("unblock", path+"/unblock", again, unblock),
		w.form("turn", path+"/turn", again, endTurn),
		w.form("archive", path+"/archive", again, archive),
		w.form("restore", at("projects")+"/restore", (*visit).projects, restore),
	}
}

// managed is what maintainers and the owner decide about a project.
type managed struct {
	Head   api.Project
	Blocks []api.Block
	// Holder has the turn of a community project; it is empty if nobody has it.
	Holder string
	// Owner says that the visitor may archive the project.
	Owner bool
}

func (v *visit) manage() (view, error) {
	made := view{Template: "manage", Tab: "manage"}
	head, err := v.head()
	if err != nil {
		return made, err
	}
	all := managed{Head: head, Owner: roleIn(head) == "OWNER"}
	found, err := read[api.BlocksData](v, "block.list", []string{head.ID})
	if err != nil {
		return made, err
	}
	if all.Holder, err = v.TurnHolder(head.ID); err != nil {
		return made, err
	}
	all.Blocks = found.Blocks
	made.Title, made.Data = "Manage "+head.Name, all
	return made, nil
}

func block(v *visit, fields url.Values) (api.WebPage, error) {
	id, back := v.Param("project"), at("p", v.Param("project"), "manage")
	named, reason := fields.Get("agent"), fields.Get("reason")
	said := map[string]any{"agent": named, "reason": reason}
	if fields.Get(confirmedField) == "" && named != "" {
		err := v.may("block.add", []string{id}, said)
		if fault.CodeOf(err) == fault.AgentNotFound {
			err = fault.Invalid(fault.Field{
				Field: "agent", Problem: "is the ID or handle of no agent",
			})
		}
		if err != nil {
			return api.WebPage{}, err
		}
		found, err := read[api.AgentData](v, "agent.read", []string{url.PathEscape(named)})
		if err != nil {
			return api.WebPage{}, err
		}
		return v.ask(fields, question{
			Title: "Block @" + found.Agent.Handle + "?",
			Text: "It can write nothing in the project any more. Its claims and its turn end, " +
				"and its open workspaces are closed.",
			Button: "Block @" + found.Agent.Handle, Back: back, Action: back + "/block",
		}), nil
	}
	_, err := submit[api.BlockData](v, "block.add", []string{id}, said)
	return to(back), err
}

func unblock(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("project")
	_, err := submit[api.UnblockData](v, "block.remove",
		[]string{id, url.PathEscape(fields.Get("agent"))}, nil)
	return to(at("p", id, "manage")), err
}

// endTurn ends the turn of the agent that the page named, and of no other.
func endTurn(v *visit, fields url.Values) (api.WebPage, error) {
	id, back := v.Param("project"), at("p", v.Param("project"), "manage")
	holder := fields.Get("holder")
	if fields.Get(confirmedField) == "" {
		if err := v.may("turn.end", []string{id}, nil); err != nil {
			return api.WebPage{}, err
		}
		return v.ask(fields, question{
			Title: "End the turn of @" + holder + "?",
			Text: "Others can take the turn then. What it has not published stays in its " +
				"workspace.",
			Button: "End the turn", Back: back, Action: back + "/turn",
		}), nil
	}
	now, err := v.TurnHolder(id)
	if err != nil {
		return api.WebPage{}, err
	}
	if now != "" && now != holder {
		return api.WebPage{}, fault.New(fault.PreconditionFailed,
			"Another agent has the turn now. Nothing was ended.")
	}
	_, err = submit[api.TurnEndData](v, "turn.end", []string{id}, nil)
	return to(back), err
}

// archive archives a project, or makes it active again.
func archive(v *visit, fields url.Values) (api.WebPage, error) {
	id, back := v.Param("project"), at("p", v.Param("project"), "manage")
	status := fields.Get("status")
	said := map[string]any{"status": status}
	if status == "ARCHIVED" && fields.Get(confirmedField) == "" {
		if err := v.may("project.update", []string{id}, said); err != nil {
			return api.WebPage{}, err
		}
		head, err := v.head()
		if err != nil {
			return api.WebPage{}, err
		}
		return v.ask(fields, question{
			Title:  "Archive " + cut(60, head.Name) + "?",
			Text:   "Nobody can change anything in it until you restore it. It can be read as before.",
			Button: "Archive", Back: back, Action: back + "/archive",
		}), nil
	}
	_, err := submit[api.ProjectData](v, "project.update", []string{id}, said)
	return to(back), err
}

// restore brings back a project that its owner has deleted.
func restore(v *visit, fields url.Values) (api.WebPage, error) {
	id := fields.Get("project")
	_, err := submit[api.ProjectData](v, "project.restore", []string{url.PathEscape(id)}, nil)
	return to(at("p", id)), err
}
