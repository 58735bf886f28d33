package api

import (
	"pws/api/budget"
	"pws/internal/id"
	"pws/work"
)

// ProjectBrief is the short record of a project. A resume that is short of room leaves out what it
// can do without.
type ProjectBrief struct {
	ID         string `json:"id" check:"id=prj_" doc:"The project's ID."`
	Name       string `json:"name" doc:"Its name."`
	Kind       string `json:"kind" check:"enum=STANDARD|COMMUNITY" doc:"Who changes its files: members, or in a COMMUNITY project any agent in a turn."`
	Status     string `json:"status" check:"enum=ACTIVE|ARCHIVED" doc:"ACTIVE, or ARCHIVED, which does not accept changes."`
	Visibility string `json:"visibility" check:"enum=PUBLIC|UNLISTED|PRIVATE" doc:"Who can see it."`

	Description string `json:"description,omitzero" doc:"Its description, truncated if it is long."`

	Owner     AgentRef      `json:"owner,omitzero" doc:"The owner."`
	Counts    ProjectCounts `json:"counts,omitzero" doc:"Counts and sizes of what it contains."`
	Languages []string      `json:"languages,omitzero" doc:"Languages of its files, the most frequent first."`
	Topics    []string      `json:"topics,omitzero" doc:"Topics, in lower case."`
}

func (c *Call) projectBrief(p *work.Project) ProjectBrief {
	whole := c.project(p)
	return ProjectBrief{
		ID: whole.ID, Name: whole.Name, Kind: whole.Kind, Status: whole.Status,
		Visibility: whole.Visibility, Description: whole.Description, Owner: whole.Owner,
		Counts: whole.Counts, Languages: orNil(whole.Languages), Topics: orNil(whole.Topics),
	}
}

// orNil is nil for an empty list, so that the member is left out.
func orNil(list []string) []string {
	if len(list) == 0 {
		return nil
	}
	return list
}

// TaskBrief is the short record of a task. Members that are null or empty are absent. A resume that
// is short of room leaves out what follows blocked, or everything but id, title, status and
// priority.
type TaskBrief struct {
	ID         string        `json:"id" check:"id=tsk_" doc:"The task's ID."`
	Title      string        `json:"title" doc:"Title, in one line."`
	Status     string        `json:"status" check:"enum=OPEN|IN_PROGRESS|BLOCKED|IN_REVIEW|DONE|CANCELLED" doc:"Status of the task."`
	Priority   string        `json:"priority" check:"enum=LOW|NORMAL|HIGH|URGENT" doc:"Priority."`
	Claim      *ClaimBrief   `json:"claim,omitzero" doc:"The live claim; absent if the task is not claimed."`
	Held       bool          `json:"held,omitzero" doc:"True if the caller holds the claim."`
	Blocked    *BlockedBrief `json:"blocked,omitzero" doc:"Why it is blocked."`
	TaskType   *string       `json:"task_type,omitzero" doc:"Type of work."`
	Skills     []string      `json:"skills,omitzero" doc:"Skills that the task requires."`
	Details    *string       `json:"description,omitzero" doc:"Description of the task; omitted with detail compact."`
	Output     *string       `json:"expected_output,omitzero" doc:"Expected output; omitted with detail compact."`
	Conditions []string      `json:"completion_conditions,omitzero" doc:"Acceptance criteria; omitted with detail compact."`
	Files      []string      `json:"related_files,omitzero" doc:"Paths of related files; omitted with detail compact."`
}

// BlockedBrief says why a task does not go on.
type BlockedBrief struct {
	Kind   string `json:"kind" check:"enum=DEPENDENCY|NEEDS_INPUT|CAPABILITY|TRANSIENT" doc:"What the task is waiting for."`
	Reason string `json:"reason,omitzero" doc:"Explanation in words."`
}

// ClaimBrief is a live claim in short.
type ClaimBrief struct {
	AgentID   string  `json:"agent_id" check:"id=agt_" doc:"The agent that holds it."`
	ExpiresAt Time    `json:"expires_at" doc:"When it expires unless it is renewed."`
	Token     *uint64 `json:"fencing_token,omitzero" doc:"Its fencing token; shown to its holder only."`
}

// taskBrief is the short record of a task as it was read at the time of the call.
func (c *Call) taskBrief(p *work.Project, t *work.Task) TaskBrief {
	brief := TaskBrief{
		ID: t.ID.Format(id.Task), Title: t.Spec.Title, Status: t.Status.String(),
		Priority: t.Spec.Priority.String(),
		TaskType: textOrNil(t.Spec.Type), Skills: orNil(t.Spec.Skills),
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

// reasonCharsShort bounds the reason of a blocked task where there is no room for all of it.
const reasonCharsShort = 60

// taskItem is a TaskBrief in a resume; it writes its own JSON, for there are many.
type taskItem struct {
	call    *Call
	project *work.Project
	task    *work.Task
	level   *detail
}

// Head implements budget.Parts.
func (t taskItem) Head(dst []byte, form budget.Form) []byte {
	dst = appendID(append(dst, `{"id":`...), id.Task, t.task.ID)
	dst = append(append(dst, `,"status":"`...), t.task.Status.String()...)
	dst = append(append(dst, `","priority":"`...), t.task.Spec.Priority.String()...)
	dst = append(dst, '"')
	if form == budget.Line {
		return dst
	}
	if claim := t.task.Claim; claim != nil {
		dst = appendID(append(dst, `,"claim":{"agent_id":`...), id.Agent, claim.Agent)
		dst = Time(claim.ExpiresAt).append(append(dst, `,"expires_at":`...))
		if t.call.holds(t.task) {
			dst = appendInt(append(dst, `,"fencing_token":`...), int64(claim.Token))
			dst = append(dst, `},"held":true`...)
		} else {
			dst = append(dst, '}')
		}
	}
	blocked := blockedOf(t.project, t.task)
	if blocked == nil {
		return dst
	}
	dst = append(append(append(dst, `,"blocked":{"kind":"`...), blocked.Kind...), '"')
	if blocked.Reason != "" {
		chars := t.level.chars
		if form == budget.Short {
			chars = reasonCharsShort
		}
		dst = append(dst, `,"reason":`...)
		dst, _ = budget.AppendText(dst, blocked.Reason, chars, budget.Unlimited)
	}
	return append(dst, '}')
}

// Text implements budget.Parts.
func (t taskItem) Text() (string, budget.Text) {
	return "title", budget.Text{Text: t.task.Spec.Title, Chars: t.level.chars}
}

// Rest implements budget.Parts.
func (t taskItem) Rest(dst []byte) ([]byte, bool) {
	spec, w := &t.task.Spec, restWriter{chars: t.level.chars}
	if blocked := blockedOf(t.project, t.task); blocked != nil {
		w.left = budget.Shorten(blocked.Reason, w.chars) != blocked.Reason
	}
	dst = w.text(dst, `,"task_type":`, spec.Type)
	dst = w.list(dst, `,"skills":`, spec.Skills)
	if t.level.texts {
		dst = w.text(dst, `,"description":`, spec.Description)
		dst = w.text(dst, `,"expected_output":`, spec.ExpectedOutput)
		dst = w.list(dst, `,"completion_conditions":`, spec.Conditions)
		dst = w.list(dst, `,"related_files":`, spec.RelatedFiles)
	}
	return dst, w.left
}

// restWriter writes members and notes whether something was left out.
type restWriter struct {
	chars int
	left  bool
}

func (w *restWriter) text(dst []byte, key, text string) []byte {
	if text == "" {
		return dst
	}
	dst, fit := budget.AppendText(append(dst, key...), text, w.chars, budget.Unlimited)
	w.left = w.left || fit != budget.Whole
	return dst
}

func (w *restWriter) list(dst []byte, key string, list []string) []byte {
	if len(list) == 0 {
		return dst
	}
	dst = append(append(dst, key...), '[')
	for at, text := range list {
		if at > 0 {
			dst = append(dst, ',')
		}
		var fit budget.Fit
		dst, fit = budget.AppendText(dst, text, w.chars, budget.Unlimited)
		w.left = w.left || fit != budget.Whole
	}
	return append(dst, ']')
}
