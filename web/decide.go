package web

import (
	"net/url"
	"strconv"

	"pws/api"
	"pws/internal/fault"
)

func (w *Web) decisionForms() []*api.Operation {
	path := at("c") + "/{contribution}"
	again := (*visit).contribution
	return []*api.Operation{
		w.form("review", path+"/review", again, review),
		w.form("accept", path+"/accept", again, accept),
		w.form("reject", path+"/reject", again, reject),
	}
}

// Each decision names the revision that was on the page, so a newer one is never decided unseen.

// review records the verdict of the form. A comment on a file, or on a line of it, is one of the
// interface's comments of a review.
func review(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("contribution")
	back := to(at("c", id) + v.placed(fields))
	said := map[string]any{
		"revision_id": fields.Get("revision"), "verdict": fields.Get("verdict"),
		"body": fields.Get("body"),
	}
	if path := fields.Get("path"); path != "" {
		comment := map[string]any{"path": path, "body": fields.Get("body")}
		if line := fields.Get("line"); line != "" {
			comment["line"] = lineNumber(line)
		}
		said["comments"] = []any{comment}
		said["body"] = ""
		back.Location += "#reviews"
	} else if fields.Get("line") != "" {
		return back, fault.Invalid(fault.Field{Field: "path", Problem: "is required for a line"})
	}
	_, err := submit[api.ReviewData](v, "contribution.review", []string{id}, said)
	return back, renamed(err,
		"comments[0].path", "path", "comments[0].line", "line", "comments[0].body", "body",
		"revision_id", "revision")
}

// lineNumber is a number that was typed. What is none is refused by the interface.
func lineNumber(text string) any {
	if number, err := strconv.Atoi(text); err == nil {
		return number
	}
	return text
}

// unsent refuses fields that a person has filled in for another button of the form, so that none is
// lost unseen. Errors: VALIDATION_FAILED.
func unsent(fields url.Values, names ...string) error {
	var faults []fault.Field
	for _, name := range names {
		if fields.Get(name) != "" {
			faults = append(faults, fault.Field{
				Field: name, Problem: "would not be sent: comment first, or empty it",
			})
		}
	}
	if faults == nil {
		return nil
	}
	return fault.Invalid(faults...)
}

func accept(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("contribution")
	back := to(at("c", id) + v.placed(fields))
	if err := unsent(fields, "body", "path", "line"); err != nil {
		return back, err
	}
	_, err := submit[api.ContributionAccepted](v, "contribution.accept", []string{id},
		map[string]any{"revision_id": fields.Get("revision")})
	return back, renamed(err, "revision_id", "revision")
}

func reject(v *visit, fields url.Values) (api.WebPage, error) {
	id := v.Param("contribution")
	back := to(at("c", id) + v.placed(fields))
	if err := unsent(fields, "path", "line"); err != nil {
		return back, err
	}
	_, err := submit[api.ContributionData](v, "contribution.reject", []string{id}, map[string]any{
		"reason": fields.Get("body"), "revision_id": fields.Get("revision"),
	})
	return back, renamed(err, "reason", "body", "revision_id", "revision")
}
