package api

import (
	"reflect"
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// kindOf maps names of parameters and members to the prefixes of the IDs that they hold. Members
// end in "_id" and may have words before the name.
var kindOf = map[string]id.Prefix{
	"project": id.Project, "changeset": id.Changeset, "agent": id.Agent, "key": id.Key,
	"session": id.WorkSession, "task": id.Task, "handoff": id.Handoff, "workspace": id.Workspace,
	"contribution": id.Contribution, "revision": id.Revision, "artifact": id.Artifact,
	"review":       id.Review,
	"verification": id.Verification, "discussion": id.Discussion, "comment": id.Comment,
	"upload": id.Upload,
}

// paramOf maps a prefix to the path parameter that holds such IDs.
var paramOf = func() map[id.Prefix]string {
	names := map[id.Prefix]string{}
	for name, kind := range kindOf {
		names[kind] = name
	}
	return names
}()

// kindOfCode maps the code of an error to the prefix of the entity that was not found.
var kindOfCode = map[fault.Code]id.Prefix{
	fault.ProjectNotFound: id.Project, fault.ChangesetNotFound: id.Changeset,
	fault.AgentNotFound: id.Agent, fault.KeyNotFound: id.Key, fault.TaskNotFound: id.Task,
	fault.HandoffNotFound: id.Handoff, fault.WorkspaceNotFound: id.Workspace,
	fault.ContributionNotFound: id.Contribution, fault.RevisionNotFound: id.Revision,
	fault.ArtifactNotFound: id.Artifact, fault.DiscussionNotFound: id.Discussion,
	fault.VerificationNotFound: id.Verification, fault.MemberNotFound: id.Agent,
	fault.ReviewNotFound:  id.Review,
	fault.SessionNotFound: id.WorkSession, fault.UploadNotFound: id.Upload,
}

// explainKind completes the error about an entity that was not found because the text that names
// it is an ID of another kind. It reads only the texts of the request, so the answer is the same
// for existing and unknown entities.
func (o *Operation) explainKind(c *Call, body any, err error) {
	refusal, ok := err.(*fault.Error)
	if !ok {
		return
	}
	wanted, known := kindOfCode[refusal.Code]
	if !known {
		return
	}
	field, text := o.misnamed(c, body, wanted)
	if field == "" {
		return
	}
	given, other := id.KindOf(text)
	if !other {
		return
	}
	refusal.With("field", field).With("expected_prefix", string(wanted))
	refusal.With("given_prefix", string(given))
	refusal.Message += " " + field + " is the ID of " + given.Noun() + " (" + string(given) +
		"); the ID of " + wanted.Noun() + " begins with " + string(wanted) + "."
}

// misnamed returns the first text of a request that should be an ID of a kind but is not; field
// is empty if there is none.
func (o *Operation) misnamed(c *Call, body any, wanted id.Prefix) (field, text string) {
	bad := func(name, text string) bool {
		name = strings.TrimSuffix(name, "_id")
		name = name[strings.LastIndexByte(name, '_')+1:]
		if kindOf[name] != wanted || text == "" {
			return false
		}
		_, fits := id.Parse(wanted, text)
		return !fits
	}
	for i, one := range o.pathParams() {
		if i < len(c.Params) && bad(one.Name, c.Params[i]) {
			return one.Name, c.Params[i]
		}
	}
	for _, one := range o.Query {
		if text := c.Query[one.Name]; bad(one.Name, text) {
			return one.Name, text
		}
	}
	if o.Request == nil || o.Request.Kind() != reflect.Struct {
		return "", ""
	}
	value := reflect.ValueOf(body).Elem()
	for i := range value.NumField() {
		name, _, _ := strings.Cut(o.Request.Field(i).Tag.Get("json"), ",")
		if member := value.Field(i); member.Kind() == reflect.String && bad(name, member.String()) {
			return name, member.String()
		}
	}
	return "", ""
}
