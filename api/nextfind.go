package api

import (
	"slices"
	"strconv"
	"strings"

	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/edit"
)

// What was probably meant by an ID of another kind, a name or a path that does not exist. All that
// is looked up is what the caller may read.

// ownNamesMax is how many of its projects are compared with a name.
const ownNamesMax = 200

// listOf is the operation that lists entities of a kind in a project, or those of the caller.
var listOf = map[id.Prefix][]string{
	id.Task:      {"task.list", "claim.mine", "agent.overview"},
	id.Changeset: {"changeset.list", "resume.read"},
	id.Handoff:   {"handoff.list", "resume.read"}, id.Contribution: {"contribution.list"},
	id.Artifact: {"artifact.list"}, id.Discussion: {"discussion.list"},
	id.Verification: {"verification.list"}, id.Agent: {"member.list", "agent.overview"},
	id.Workspace: {"workspace.mine", "agent.overview"}, id.Key: {"key.list"},
	// An answer that a project does not exist is the same for all callers.
	id.Project:     {"project.list", "project.mine"},
	id.WorkSession: {"agent.overview"}, id.Revision: {"contribution.read"},
	id.Review: {"contribution.read"},
}

// identified returns the next call after an ID that names nothing: the same request with the ID
// that was meant, or a list that has it.
func (s *situation) identified() *NextCall {
	wanted, known := kindOfCode[s.refusal.Code]
	if !known {
		return nil
	}
	text := s.own(paramOf[wanted])
	if wanted == id.Project {
		if meant := s.projectMeant(text); meant != nil {
			// If the request names an existing project, it is another one that does not exist.
			named := meant.ID.Format(id.Project)
			if g := s.given(); g != nil && g.path["project"] != "" && g.path["project"] != named {
				g.path["project"] = named
				return s.next(g)
			}
		}
	} else if inside := s.holderOf(text); inside != nil {
		s.looked, s.project = true, inside
	}
	if next := s.list(wanted); next != nil {
		return next
	}
	return s.planned(&callPlan{operation: "opportunity.list"})
}

// list is the call of the first list of a kind that is available to the caller, nil if none is.
func (s *situation) list(kind id.Prefix) *NextCall {
	for _, name := range listOf[kind] {
		list := callPlan{operation: name}
		if name == "verification.list" {
			list.fill = projectInQuery
		}
		if next := s.planned(&list); next != nil {
			return next
		}
	}
	return nil
}

// projectInQuery names the project in the query.
func projectInQuery(s *situation, next *NextCall) bool {
	if s.project == nil {
		return false
	}
	next.Query = map[string]string{"project": s.project.ID.Format(id.Project)}
	return true
}

// projectMeant returns the project of an entity whose ID stands for that of a project, or the one
// of the caller that has the text as its name; nil if there is none.
func (s *situation) projectMeant(text string) *work.Project {
	if inside := s.holderOf(text); inside != nil {
		return inside
	}
	if _, isID := id.KindOf(text); isID || text == "" || s.call.Agent.IsZero() {
		return nil
	}
	views, _, err := s.call.ownProjects(&index.MembershipFilter{}, new(index.Position), ownNamesMax)
	if err != nil {
		return nil
	}
	var meant *work.Project
	for _, view := range views {
		if strings.EqualFold(view.Name, strings.ReplaceAll(text, "%20", " ")) {
			if meant != nil {
				return nil
			}
			meant = view
		}
	}
	return meant
}

// holderOf returns the project that has an entity, or is one, if the caller may read it.
func (s *situation) holderOf(text string) *work.Project {
	kind, isID := id.KindOf(text)
	if !isID {
		return nil
	}
	entity, fits := id.Parse(kind, text)
	if !fits || kind != id.Project && paramOf[kind] == "" || kind == id.Agent || kind == id.Key {
		return nil
	}
	view, err := s.holder(kind, entity)
	if err != nil || view == nil || !view.Readable(s.call.Agent) {
		return nil
	}
	return view
}

// nearPath is the path of a file that was probably meant by one that does not exist. A folder that
// is to be deleted is deleted as a folder.
func nearPath(s *situation, next *NextCall) bool {
	wanted := next.Params["path"]
	if s.project == nil || wanted == "" || s.calls("changeset.file") {
		return false
	}
	folder := false
	s.project.Files(wanted+"/", func(info work.FileInfo) bool {
		folder = strings.HasPrefix(info.Path, wanted+"/")
		return false
	})
	if folder && s.calls("file.delete") {
		if g := s.given(); g != nil {
			*next = *s.next(g)
			next.Query["folder"] = "true"
			return true
		}
	}
	next.Params["path"] = s.likelyPath(wanted)
	return next.Params["path"] != ""
}

// likelyPath is the path of a file with the same name in another folder or in another case, or with
// a similar name in the same folder; empty if there is none.
func (s *situation) likelyPath(wanted string) (near string) {
	const filesMax, awayMax = 2000, 2
	folder, name := splitPath(wanted)
	away, seen := awayMax+1, 0
	s.project.Files("", func(info work.FileInfo) bool {
		in, called := splitPath(info.Path)
		switch {
		case strings.EqualFold(info.Path, wanted), strings.EqualFold(called, name) && away > 0:
			near, away = info.Path, 0
		case in == folder && away > 0 && len(called) <= 100:
			d := EditDistance(strings.ToLower(name[:min(len(name), 100)]), strings.ToLower(called))
			if d < away {
				near, away = info.Path, d
			}
		}
		seen++
		return seen < filesMax && !strings.EqualFold(info.Path, wanted)
	})
	return near
}

func splitPath(whole string) (folder, name string) {
	at := strings.LastIndexByte(whole, '/') + 1
	return whole[:at], whole[at:]
}

// nearestLines asks for the lines that are nearest to the text of an edit.
func nearestLines(s *situation, next *NextCall) bool {
	lines, _ := s.refusal.Details["nearest_lines"].([]edit.Line)
	if len(lines) > 0 {
		linesAround(s, next, lines[0].Number, lines[len(lines)-1].Number)
	}
	return true
}

// foundLines asks for the lines of the first two places of a text that occurs several times.
func foundLines(s *situation, next *NextCall) bool {
	numbers, _ := s.refusal.Details["line_numbers"].([]int)
	if len(numbers) > 1 {
		linesAround(s, next, numbers[0], min(numbers[1], numbers[0]+100))
	}
	return true
}

// linesAround asks for the lines from one to another, and two around them.
func linesAround(s *situation, next *NextCall, first, last int) {
	from, to := strconv.Itoa(max(1, first-2)), strconv.Itoa(last+2)
	if s.client.MCP {
		next.Query = map[string]string{fromLineName: from, toLineName: to}
	} else {
		next.Query = map[string]string{linesName: from + "-" + to}
	}
}

// HasNextCall reports whether a refusal with a code may have a next call.
func HasNextCall(code fault.Code) bool {
	_, identifies := kindOfCode[code]
	routed := []fault.Code{fault.RouteNotFound, fault.MethodNotAllowed}
	return repairs[code] || identifies || len(callsByCode[code]) > 0 || slices.Contains(routed, code)
}
