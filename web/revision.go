package web

import (
	"html"
	"html/template"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pws/api"
)

// revisionParams are those of the page of a contribution.
var revisionParams = append([]api.Param{
	{Name: "revision", Check: "id=rev_", Doc: "The revision; the current one if absent."},
	{Name: "reviews", Check: "enum=all", Doc: "All reviews instead of the changes."},
}, diffParams...)

// revisionShown is the revision of a contribution that its page shows.
type revisionShown struct {
	api.Revision
	// Current says that it is the newest one, which alone can be reviewed and accepted.
	Current bool
}

// revision returns the revision that the page asks for.
func (v *visit) revision(of api.Contribution) revisionShown {
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
	return revisionShown{one, one.ID == of.CurrentRevisionID}
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

const (
	// conflictContext is how many lines are shown around a conflict.
	conflictContext = 3
	// conflictsRoom is the most bytes of lines of all conflicts of a page, conflictLineMax where
	// one of them is cut.
	conflictsRoom, conflictLineMax = 8 << 10, 300
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

// conflictsOf are the conflicts with as many lines as have room.
func conflictsOf(all []api.Conflict, shown *diff) (conflicts []conflict) {
	room := conflictsRoom
	for _, one := range all {
		made := conflict{Conflict: one}
		made.Number = 1 + slices.IndexFunc(shown.Files, func(f fileDiff) bool {
			return f.Path == one.Path
		})
		if made.Number > 0 {
			made.Number = shown.Files[made.Number-1].Number
		}
		for _, line := range sidesOf(deref(one.Marked)) {
			line.Text = cutLine(conflictLineMax, line.Text)
			if room -= len(html.EscapeString(line.Text)) + conflictLineBytes; room < 0 {
				made.Cut = true
				break
			}
			made.Lines = append(made.Lines, line)
		}
		conflicts = append(conflicts, made)
	}
	return conflicts
}

// conflictLineBytes is what a line of a conflict takes beside its text.
const conflictLineBytes = len(`<tr class=side><td>contribution<td>`) + 1

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
	for i, line := range lines {
		if line.Side != "" {
			for by := max(0, i-conflictContext); by <= min(len(lines)-1, i+conflictContext); by++ {
				near[by] = true
			}
		}
	}
	for i, line := range lines {
		if near[i] {
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

// LineLink is the address of what a comment is about: a line of the new side, or its file. It is
// on this page if that shows it.
func (c contributionView) LineLink(path string, line *int) string {
	d := c.Diff
	number := 0
	for i := range d.Files {
		if file := &d.Files[i]; file.Path == path {
			number = file.Number
			place := "#f" + strconv.Itoa(number)
			if line == nil && !file.Apart {
				return place
			}
			if line != nil && file.Shows(*line) {
				return place + "R" + strconv.Itoa(*line)
			}
		}
	}
	if line == nil {
		return d.FileLink(path)
	}
	if number == 0 {
		return d.link("file", path, "line", strconv.Itoa(*line))
	}
	return d.link("file", path, "line", strconv.Itoa(*line)) + "#f" + strconv.Itoa(number) + "R" +
		strconv.Itoa(*line)
}

// reviewsRoom is what the reviews take of a page that has the changes too.
const reviewsRoom = 10 << 10

// reviews are the newest ones that have room, in their order.
type reviews struct {
	HTML template.HTML
	// Left counts those that are not on the page.
	Left int
}

// Reviews are those of the contribution of the page.
func (s shown) Reviews() (made reviews) {
	all := s.Data.(contributionView)
	list := all.Contribution.Reviews
	for i := len(list) - 1; i >= 0; i-- {
		one := s.Block("review", s.With(list[i]))
		if !all.AllReviews && len(made.HTML)+len(one) > reviewsRoom {
			made.Left = i + 1
			break
		}
		made.HTML = one + made.HTML
	}
	return made
}

// Place are the parameters of the page that its forms lead back to.
func (d *diff) Place() map[string]string {
	place := map[string]string{}
	for _, name := range placeParams {
		if value := d.query.Get(name); value != "" {
			place[name] = value
		}
	}
	return place
}

// placeParams say where in a diff a page is, placePrefix is before them in forms.
var placeParams = []string{"view", "file", "from", "line", "files"}

const placePrefix = "at-"

// placed gives a page the place in the diff that its form was on, and returns that as a query.
func (v *visit) placed(fields url.Values) string {
	query := url.Values{}
	v.Query = map[string]string{}
	for _, name := range placeParams {
		if value := fields.Get(placePrefix + name); value != "" {
			query.Set(name, value)
			v.Query[name] = value
		}
	}
	if len(query) == 0 {
		return ""
	}
	return "?" + query.Encode()
}
