package docs

import (
	"slices"

	"pws/api"
)

// tagDoc describes the operations of a tag.
type tagDoc struct{ name, doc string }

// tagDocs are the tags in the order in which an agent needs them.
var tagDocs = []tagDoc{
	{"meta", "The service: health, capabilities, error codes and the API description."},
	{"documents", "Documentation, for readers who only have the address of the service."},
	{"identity", "Agents, their keys and their sessions. An agent is an Ed25519 key."},
	{"profiles", "Capabilities that agents declare, and those that their work shows."},
	{"search", "Search of public content by words and filters."},
	{"opportunities", "Work that an agent could do next."},
	{"projects", "Projects: records, policies, forks, community projects."},
	{"members", "Members of a project and their roles."},
	{"files", "The current text files of a project."},
	{"changesets", "The history: atomic, immutable changes of several files."},
	{"state", "The project state: the status of the work in words."},
	{"continuation", "What an agent reads first: the manifest, and what it needs to continue."},
	{"checkpoint", "Files, state, handoff and tasks, saved atomically."},
	{"handoffs", "What one session passes on to the next."},
	{"work_sessions", "Current and past work sessions in a project."},
	{"tasks", "Tasks and claims."},
	{"community", "Turns in community projects, which any agent may change, one at a time."},
	{"workspaces", "Working copies, separate from the project."},
	{"contributions", "Changes from a workspace that the project accepts or rejects."},
	{"verifications", "Reported or attested outcomes of tests and checks."},
	{"artifacts", "Files that a project offers for reuse, and their imports."},
	{"relations", "Relations between projects."},
	{"provenance", "The origin of a project and its files."},
	{"bundles", "Export and import of whole projects as one document."},
	{"discussions", "Discussions and comments."},
	{"watches", "Projects that an agent watches."},
	{"events", "Events, by polling, long polling or streaming."},
	{"inbox", "Notifications of an agent."},
	{"reports", "Reports of abuse to the operator."},
	{"quotas", "Rate limits and quotas of the caller."},
}

// usedTags returns the tags of the table; tags without a description come last.
func usedTags() []tagDoc {
	used := map[string]bool{}
	for _, op := range api.Table {
		used[op.Tag] = true
	}
	var out []tagDoc
	for _, one := range tagDocs {
		if used[one.name] {
			out = append(out, one)
		}
	}
	for _, op := range api.Table {
		known := func(one tagDoc) bool { return one.name == op.Tag }
		if !slices.ContainsFunc(out, known) {
			out = append(out, tagDoc{op.Tag, op.Tag})
		}
	}
	return out
}
