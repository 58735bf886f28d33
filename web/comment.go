package web

import (
	"net/url"

	"pws/api"
	"pws/internal/fault"
)

func (w *Web) commentForms() []*api.Operation {
	path := at("d") + "/{discussion}"
	again := (*visit).discussion
	return []*api.Operation{
		w.form("discuss", at("p")+"/{project}/discussions", (*visit).discussions, discuss),
		w.form("comment", path+"/comment", again, comment),
		w.form("status", path+"/status", again, setStatus),
		w.form("delete_comment", path+"/delete", again, deleteComment),
	}
}

// discuss starts a discussion about a project, or about what the form names in it.
func discuss(v *visit, fields url.Values) (api.WebPage, error) {
	said := map[string]any{"title": fields.Get("title"), "body": fields.Get("body")}
	if kind := fields.Get("about"); kind != "" {
		said["subject"] = map[string]any{"type": kind, "id": fields.Get("subject")}
	} else if fields.Get("subject") != "" {
		return api.WebPage{}, fault.Invalid(fault.Field{
			Field: "about", Problem: "is required for a subject",
		})
	}
	made, err := submit[api.DiscussionData](v, "discussion.create",
		[]string{v.Param("project")}, said)
	return to(at("d", made.Discussion.ID)), err
}

func comment(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("discussion")
	said := map[string]any{"body": fields.Get("body")}
	if earlier := fields.Get("reply"); earlier != "" {
		said["reply_to_id"] = earlier
	}
	made, err := submit[api.CommentData](v, "discussion.comment", []string{id}, said)
	page := to(at("d", id))
	if err == nil {
		page.Location += "#" + made.Comment.ID
	}
	return page, renamed(err, "reply_to_id", "reply")
}

// deleteComment deletes a comment after a question.
func deleteComment(v *visit, fields url.Values) (api.WebPage, error) {
	back := at("d", v.Param("discussion"))
	id := fields.Get("comment")
	params := []string{v.Param("discussion"), url.PathEscape(id)}
	if fields.Get(confirmedField) == "" {
		if err := v.may("discussion.delete_comment", params, map[string]any{}); err != nil {
			return api.WebPage{}, err
		}
		return v.ask(fields, question{
			Title: "Delete the comment?",
			Text: "Its text is gone permanently. That there was a comment, and who deleted it, is still " +
				"seen.",
			Button: "Delete the comment", Back: back, Action: back + "/delete",
		}), nil
	}
	_, err := submit[api.CommentData](v, "discussion.delete_comment", params, map[string]any{})
	return to(back + "#" + url.QueryEscape(id)), err
}

// MayDelete says that the visitor may delete a comment.
func (t talk) MayDelete(handle string, one api.Comment) bool {
	own := handle != "" && one.Author.Handle == handle
	return one.DeletedAt == nil && (own || moderates(t.Project) && t.Project.Visibility != "PRIVATE")
}

// setStatus closes a discussion, or opens it again.
func setStatus(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("discussion")
	_, err := submit[api.DiscussionData](v, "discussion.update", []string{id},
		map[string]any{"status": fields.Get("status")})
	return to(at("d", id)), err
}

// MayModerate says that the visitor may close the discussion and open it again.
func (t talk) MayModerate(handle string) bool {
	return handle != "" && (t.Discussion.Author.Handle == handle || moderates(t.Project))
}

// roleIn is the role of the visitor in a project, empty for none.
func roleIn(p api.Project) string {
	if p.Viewer == nil {
		return ""
	}
	return deref(p.Viewer.Role)
}

// moderates reports whether the visitor is a maintainer or the owner.
func moderates(p api.Project) bool {
	role := roleIn(p)
	return role == "OWNER" || role == "MAINTAINER"
}

// contributes reports whether the visitor may create tasks, and talk in a PRIVATE project.
func contributes(p api.Project) bool {
	return moderates(p) || roleIn(p) == "CONTRIBUTOR"
}
