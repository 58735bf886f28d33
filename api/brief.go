package api

import (
	"slices"

	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// ProjectBrief is the short record of a project. A resume can omit optional members if it lacks
// space.
type ProjectBrief struct {
	// The project's ID.
	ID string `json:"id" check:"id=prj_"`
	// Name of the project.
	Name string `json:"name"`
	// Who changes its files: members, or in a COMMUNITY project any agent in a turn.
	Kind string `json:"kind" check:"enum=STANDARD|COMMUNITY"`
	// ACTIVE, or ARCHIVED, which does not accept changes.
	Status string `json:"status" check:"enum=ACTIVE|ARCHIVED"`
	// Who can see it.
	Visibility string `json:"visibility" check:"enum=PUBLIC|UNLISTED|PRIVATE"`

	// Its description, truncated if it is long.
	Description string `json:"description,omitzero" size:"cut"`

	// The agent that owns the project.
	Owner AgentRef `json:"owner,omitzero"`
	// Counts and sizes of what it contains.
	Counts ProjectCounts `json:"counts,omitzero"`
	// Languages of its files, the most frequent first.
	Languages []string `json:"languages,omitzero" size:"whole"`
	// Topics, in lower case.
	Topics []string `json:"topics,omitzero" size:"whole"`
}

func (c *Call) projectBrief(p *work.Project) ProjectBrief {
	return ProjectBrief{
		ID: p.ID.Format(id.Project), Name: p.Name, Kind: p.Kind.String(),
		Status: p.Status.String(), Visibility: p.Visibility.String(),
		Description: p.Description, Owner: c.agentRef(p.Owner), Counts: c.projectCounts(p),
		Languages: orNil(p.Languages()), Topics: orNil(p.Topics),
	}
}

// orNil returns nil for an empty list, so that the member is omitted.
func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// present returns nil for an empty text, so that the member is omitted.
func present(text *string) *string {
	if *text == "" {
		return nil
	}
	return text
}

// TaskBrief is the short record of a task. Members that are null or empty are absent. If a resume
// lacks space, it omits the members after blocked, or everything except id, title, status and
// priority.
type TaskBrief struct {
	// The task's ID.
	ID string `json:"id" check:"id=tsk_"`
	// Title, in one line.
	Title string `json:"title" size:"cut"`
	// Status of the task.
	Status string `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED"`
	// How urgent it is.
	Priority string `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT"`
	// The live claim; absent if the task is not claimed.
	Claim *ClaimBrief `json:"claim,omitzero"`
	// True if the caller holds the claim.
	Held bool `json:"held,omitzero"`
	// Why it is blocked.
	Blocked *BlockedBrief `json:"blocked,omitzero"`
	// Type of work.
	TaskType *string `json:"task_type,omitzero" size:"rest"`
	// Skills that the task requires.
	Skills []string `json:"skills,omitzero" size:"rest"`
	// Description of the task; omitted with detail compact.
	Details *string `json:"description,omitzero" size:"rest"`
	// Expected output; omitted with detail compact.
	Output *string `json:"expected_output,omitzero" size:"rest"`
	// Acceptance criteria; omitted with detail compact.
	Conditions []string `json:"completion_conditions,omitzero" size:"rest"`
	// Paths of related files; omitted with detail compact.
	Files []string `json:"related_files,omitzero" size:"rest"`
}

// BlockedBrief says why a task is blocked.
type BlockedBrief struct {
	// What the task is waiting for.
	Kind string `json:"kind" check:"enum=DEPENDENCY|NEEDS_INPUT|CAPABILITY|TRANSIENT"`
	// Explanation in words.
	Reason string `json:"reason,omitzero"`
}

// ClaimBrief is the short form of a live claim.
type ClaimBrief struct {
	// The agent that holds it.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// When it expires unless it is renewed.
	ExpiresAt Time `json:"expires_at"`
	// Its fencing token; shown to its holder only.
	Token *uint64 `json:"fencing_token,omitzero"`
}

// taskBrief returns the short record of a task that was read as of the time of the call.
func (c *Call) taskBrief(p *work.Project, t *work.Task) TaskBrief {
	brief := TaskBrief{
		ID: t.ID.Format(id.Task), Title: t.Spec.Title, Status: t.Status.String(),
		Priority: t.Spec.Priority.String(),
		TaskType: present(&t.Spec.Type), Skills: orNil(t.Spec.Skills),
	}
	if blocked := blockedOf(p, t); blocked != nil {
		brief.Blocked = &BlockedBrief{Kind: blocked.Kind, Reason: blocked.Reason}
	}
	if t.Claim != nil {
		brief.Claim = &ClaimBrief{
			AgentID: t.Claim.Agent.Format(id.Agent), ExpiresAt: Time(t.Claim.ExpiresAt),
		}
		if brief.Held = c.holds(t); brief.Held {
			brief.Claim.Token = &t.Claim.Token
		}
	}
	return brief
}

// holds reports whether the caller has the live claim of a task.
func (c *Call) holds(t *work.Task) bool {
	return t.Claim != nil && !c.Agent.IsZero() && t.Claim.Agent == c.Agent
}

// reasonCharsShort limits the reason of a blocked task if there is no space for all of it.
const reasonCharsShort = 60

// task is a TaskBrief in a resume. Each is written before the next is made, so they share memory.
func (b *resumeBuild) task(t *work.Task) sizelimit.Item {
	var whole *work.Task
	return sizelimit.Record{Chars: b.wish.chars, Make: func(form sizelimit.Form) (any, bool) {
		brief := &b.brief
		if form == sizelimit.Line {
			*brief = TaskBrief{
				ID: t.ID.Format(id.Task), Title: t.Spec.Title, Status: t.Status.String(),
				Priority: t.Spec.Priority.String(),
			}
			return brief, false
		}
		if form == sizelimit.Full && whole == nil {
			whole = b.wholeTask(t)
		}
		from, s, missing := t, shortener{chars: b.wish.chars}, false
		if form == sizelimit.Full && whole != nil {
			from = whole
		} else {
			missing = form == sizelimit.Full
			form, s.chars = sizelimit.Short, reasonCharsShort
		}
		*brief = b.call.taskBrief(b.project, from)
		if brief.Blocked != nil {
			brief.Blocked.Reason = s.text(brief.Blocked.Reason)
		}
		if form == sizelimit.Short {
			brief.TaskType, brief.Skills = nil, nil
			return brief, missing
		}
		spec := &from.Spec
		brief.TaskType, brief.Skills = s.optional(&spec.Type), s.list(spec.Skills)
		if b.wish.texts {
			brief.Details = s.optional(&spec.Description)
			brief.Output = s.optional(&spec.ExpectedOutput)
			brief.Conditions = s.list(spec.Conditions)
			brief.Files = s.list(spec.RelatedFiles)
		}
		return brief, s.left
	}}
}

// shortener shortens texts and notes whether something was left out.
type shortener struct {
	chars int
	left  bool
}

func (s *shortener) text(text string) string {
	short := sizelimit.Shorten(text, s.chars)
	s.left = s.left || len(short) != len(text)
	return short
}

// optional is nil for an empty text, so that the member is left out.
func (s *shortener) optional(text *string) *string {
	if len(*text) <= s.chars {
		return present(text)
	}
	short := s.text(*text)
	return &short
}

// list is nil for an empty one, so that the member is left out.
func (s *shortener) list(list []string) []string {
	short := orNil(list)
	for i, text := range list {
		if len(text) <= s.chars {
			continue
		}
		if i == 0 || &short[0] == &list[0] {
			short = slices.Clone(list)
		}
		short[i] = s.text(text)
	}
	return short
}
