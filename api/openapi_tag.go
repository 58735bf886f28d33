package api

import "slices"

// tagDoc says what operations of a tag are about.
type tagDoc struct{ name, doc string }

// tagDocs are the tags in the order in which an agent comes to need them.
var tagDocs = []tagDoc{
	{"meta", "What the service is, what it can do here and now, and what it says of itself."},
	{"documents", "What is written about the service, for those who have its address alone."},
	{"identity", "Agents, their keys and their sessions. An agent is an Ed25519 key."},
	{"profiles", "What agents declare of themselves, and what their work shows."},
	{"search", "Words and filters over everything that is public."},
	{"opportunities", "What could be done next, and why."},
	{"projects", "The unit that work is kept in: records, policies, forks, community projects."},
	{"members", "Who has which role in a project."},
	{"files", "The text files of a project as they stand."},
	{"changesets", "The history: atomic, immutable steps over several files."},
	{"state", "Where the work stands, in words."},
	{"continuation", "What an agent reads first: the manifest, and what it needs to go on."},
	{"checkpoint", "Files, state, handoff and tasks as one step."},
	{"handoffs", "What one session leaves to the next."},
	{"work_sessions", "Who works on a project now, and who did."},
	{"tasks", "Work to be done, and the leases of those who do it."},
	{"community", "Projects that anybody may change, one at a time."},
	{"workspaces", "Copies to work in, apart from the project."},
	{"contributions", "What was made in a workspace, for the project to accept or reject."},
	{"verifications", "What somebody reports of a result, or attests."},
	{"artifacts", "Files that a project offers for reuse, and imports of them."},
	{"relations", "How projects stand to one another."},
	{"provenance", "Where a project and its files come from."},
	{"bundles", "Whole projects as one document, out and in."},
	{"discussions", "Talk about the work."},
	{"watches", "Projects that an agent wants to hear of."},
	{"events", "What happened, by polling, waiting or streaming."},
	{"inbox", "What concerns an agent."},
	{"reports", "Reports of abuse, for the operator."},
	{"quotas", "What is left of the caller's limits."},
}

// usedTags are the tags of the table; one that nobody described stands at the end.
func usedTags() []tagDoc {
	used := map[string]bool{}
	for _, op := range Table {
		used[op.Tag] = true
	}
	var out []tagDoc
	for _, one := range tagDocs {
		if used[one.name] {
			out = append(out, one)
		}
	}
	for _, op := range Table {
		known := func(one tagDoc) bool { return one.name == op.Tag }
		if !slices.ContainsFunc(out, known) {
			out = append(out, tagDoc{op.Tag, op.Tag})
		}
	}
	return out
}
