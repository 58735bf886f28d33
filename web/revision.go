package web

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pws/api"
)

// revisionParams are those of the page of a contribution.
var revisionParams = append([]api.Param{
	{Name: "revision", Check: "id=rev_", Doc: "The revision; the current one if absent."},
}, diffParams...)

// revisionShown is the revision of a contribution that its page shows.
type revisionShown struct {
	api.Revision
	// Current says that it is the newest one, which alone can be reviewed and accepted.
	Current bool
	// OnHead says that nothing was published since its base.
	OnHead bool
}

// revision returns the revision that the page asks for.
func (v *visit) revision(of api.Contribution, head api.Project) revisionShown {
	id := v.Query["revision"]
	at := slices.IndexFunc(of.Revisions, func(r api.Revision) bool { return r.ID == id })
	if at < 0 {
		at = len(of.Revisions) - 1
	}
	if at < 0 {
		// A deleted contribution has none. Its diff is refused.
		return revisionShown{Revision: api.Revision{ID: of.CurrentRevisionID}, Current: true}
	}
	one := of.Revisions[at]
	return revisionShown{one, one.ID == of.CurrentRevisionID, one.BaseID == head.HeadChangesetID}
}

// evidence is what is recorded about whether a contribution works.
type evidence struct {
	Status  string
	Records []api.Verification
}

func (v *visit) evidence(contribution string) (evidence, error) {
	found, err := read[api.VerificationsData](v, "verification.list", nil,
		"entity_type", "CONTRIBUTION", "entity_id", contribution, "limit", "10")
	return evidence{deref(found.Status), found.Verifications}, err
}

// Statement says who vouches for a contribution.
func (e evidence) Statement() string {
	switch e.Status {
	case "SELF_REPORTED":
		return "Self-reported by agents of this service; nobody attests it."
	case "EXTERNALLY_ATTESTED":
		return "Attested by a source outside, as its record says; this service has not asked it."
	}
	return "Nobody has reported or attested whether it works."
}

// conflictLinesMax is how many lines of a conflict are shown, conflictContext how many around it.
const (
	conflictLinesMax = 200
	conflictContext  = 3
)

// conflict is a file that was changed in the contribution and in the project.
type conflict struct {
	api.Conflict
	// Number is the place of the file in the diff, 0 if it is not there.
	Number int
	// Lines have the side that they are of: contribution, project, or none for lines of both.
	Lines []sideLine
	Cut   bool
}

type sideLine struct{ Side, Text string }

// Reason says what happened.
func (c conflict) Reason() string {
	return map[string]string{
		"CONTENT":         "Both changed the same lines.",
		"DELETED_BY_THEM": "The contribution changes it, the project has deleted it.",
		"DELETED_BY_US":   "The contribution deletes it, the project has changed it.",
		"ADDED_BY_BOTH":   "Both have added it with different contents.",
	}[c.Kind]
}

func conflictsOf(all []api.Conflict, shown diff) (conflicts []conflict) {
	for _, one := range all {
		made := conflict{Conflict: one}
		made.Number = 1 + slices.IndexFunc(shown.Files, func(f fileDiff) bool {
			return f.Path == one.Path
		})
		made.Lines = sidesOf(deref(one.Marked))
		if made.Cut = len(made.Lines) > conflictLinesMax; made.Cut {
			made.Lines = made.Lines[:conflictLinesMax]
		}
		conflicts = append(conflicts, made)
	}
	return conflicts
}

// sidesOf reads a text with the markers that work/merge writes, and keeps the lines near conflicts.
func sidesOf(marked string) (kept []sideLine) {
	var lines []sideLine
	var near []bool
	side := ""
	for line := range strings.Lines(marked) {
		line = strings.TrimRight(line, "\r\n")
		switch {
		case side == "" && strings.HasPrefix(line, "<<<<<<< "):
			side = "contribution"
		case side == "contribution" && line == "=======":
			side = "project"
		case side == "project" && strings.HasPrefix(line, ">>>>>>> "):
			side = ""
		default:
			lines = append(lines, sideLine{side, line})
			near = append(near, false)
		}
	}
	for at, line := range lines {
		if line.Side != "" {
			for by := max(0, at-conflictContext); by <= min(len(lines)-1, at+conflictContext); by++ {
				near[by] = true
			}
		}
	}
	for at, line := range lines {
		if near[at] {
			kept = append(kept, line)
		}
	}
	return kept
}

// RevisionLink is the address of the page with a revision.
func (c contributionView) RevisionLink(id string) string {
	query := url.Values{"revision": {id}}
	if c.Diff.Split {
		query.Set("view", "split")
	}
	return "?" + query.Encode()
}

// LineLink is the address of what a comment is about: a line of the new side if it is on the page,
// else its file.
func (c contributionView) LineLink(path string, line *int) string {
	for _, file := range c.Diff.Files {
		if file.Path != path {
			continue
		}
		place := "#f" + strconv.Itoa(file.Number)
		if line != nil && slices.ContainsFunc(file.Rows, func(r row) bool { return r.New == *line }) {
			place += "R" + strconv.Itoa(*line)
		}
		return place
	}
	return "?" + url.Values{"file": {path}}.Encode()
}
