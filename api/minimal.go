package api

import (
	"slices"
	"strings"

	"pws/api/jsonschema"
)

// What a minimal answer leaves out, because the caller knows it: the project that its request
// names, and in the claim that it gets, itself and the task beside the claim.
const knownProject = "project_id"

var knownOfClaim = []string{"task_id", "agent_id"}

// The members that a minimal answer keeps, beside all integers, which are versions, revisions,
// counts, sizes and fencing tokens.
var (
	// minimalTexts are texts that the caller does not know or that later calls need. Names that end
	// in _id are kept too.
	minimalTexts = []string{
		"id", "status", "expires_at", "blob_hash", "credential", "challenge", "signing_payload",
	}
	// minimalFlags say what a write did.
	minimalFlags = []string{"created", "watching"}
	// minimalWhole are members of the data that tell the caller what went wrong or was lost.
	minimalWhole = []string{"conflicts", "state_dropped"}
	// minimalLists are lists of the data whose elements are made minimal.
	minimalLists = []string{"tasks"}
	// minimalInner are objects within an entity that are made minimal. All others are left out.
	minimalInner = []string{"agent", "claim", "counts", "stats"}
)

// MinimalEnding is the end of the names of the schemas of minimal answers.
const MinimalEnding = "Minimal"

// Minimal makes the data of a write minimal: the header Prefer: return=minimal asks for that, and
// tools do it unless they get the argument verbose. It is nil for operations that write nothing.
func (o *Operation) Minimal() *jsonschema.Filter {
	if o.minimal == nil {
		return nil
	}
	return o.minimal()
}

// MinimalName is the name of the schema of the minimal answer.
func (o *Operation) MinimalName() string {
	if len(o.Kept) == 0 {
		name := jsonschema.NameOf(o.Response, jsonschema.Response)
		if o.namesProject() {
			name += "InProject"
		}
		return name + MinimalEnding
	}
	var name strings.Builder
	for word := range strings.SplitSeq(strings.ReplaceAll(o.Name, "_", "."), ".") {
		name.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return name.String() + MinimalEnding
}

// namesProject reports whether requests name a project in their path.
func (o *Operation) namesProject() bool { return strings.Contains(o.Path, "{project}") }

// newMinimal compiles the filter of a write.
func (o *Operation) newMinimal() *jsonschema.Filter {
	var top []string
	jsonschema.NewFilter(o.Response, func(m jsonschema.Place) jsonschema.Choice {
		top = append(top, m.Name)
		return jsonschema.Drop
	})
	return jsonschema.NewFilter(o.Response, func(m jsonschema.Place) jsonschema.Choice {
		if len(m.Above) > 0 && m.Object && slices.Contains(top, m.Name) {
			// The data has it beside the entity.
			return jsonschema.Drop
		}
		return o.keeps(m)
	})
}

// keeps decides about one member.
func (o *Operation) keeps(m jsonschema.Place) jsonschema.Choice {
	depth := len(m.Above)
	switch {
	case m.Name == knownProject && o.namesProject(),
		depth == 1 && m.Above[0] == "claim" && slices.Contains(knownOfClaim, m.Name):
		return jsonschema.Drop
	case m.Integer, m.Text && strings.HasSuffix(m.Name, "_id"),
		slices.Contains(minimalTexts, m.Name), slices.Contains(minimalFlags, m.Name),
		depth > 0 && slices.Contains(o.Kept, m.Name),
		depth == 0 && slices.Contains(minimalWhole, m.Name):
		return jsonschema.Whole
	case depth == 0 && (m.Object || slices.Contains(minimalLists, m.Name)),
		depth == 1 && m.Object && slices.Contains(minimalInner, m.Name):
		return jsonschema.Inside
	}
	return jsonschema.Drop
}
