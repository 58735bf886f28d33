package api

import (
	"pws/api/budget"
	"pws/api/jsonschema"
	"pws/internal/id"
	"pws/work"
)

// noteItem is a note in the form in which it was sent; both of its texts can be cut.
type noteItem struct {
	note         *work.Note
	text, reason string
	chars        int
	// object says that it is an object in any case, with the handoff that it comes from; that is zero
	// where there is none.
	object  bool
	handoff id.ID
}

// Append implements budget.Item.
func (n noteItem) Append(dst []byte, room int) ([]byte, budget.Fit) {
	if !n.note.Reasoned && !n.object {
		return budget.AppendText(dst, n.note.Text, n.chars, room)
	}
	start := len(dst)
	dst, fit := n.write(dst, budget.Unlimited, budget.Unlimited)
	if len(dst)-start <= room {
		return dst, fit
	}
	rest := room - len(`{"":}`) - len(n.text) - n.sourceBytes()
	half := (rest - len(`,"":`) - len(n.reason)) / 2
	if half < noteBytesMin {
		dst, fit = n.write(dst[:start], rest, 0)
	} else if n.note.Reason == "" {
		dst, fit = n.write(dst[:start], rest, 0)
	} else {
		dst, fit = n.write(dst[:start], half, half)
	}
	if fit == budget.Missing {
		return dst[:start], fit
	}
	return dst, budget.Cut
}

// noteBytesMin is the least of each text of a note; where there is less the reason is left out.
const noteBytesMin = 40

// sourceBytes is what the handoff takes.
func (n noteItem) sourceBytes() int {
	if n.handoff.IsZero() {
		return 0
	}
	return len(`,"handoff_id":""`) + len(n.handoff.Format(id.Handoff))
}

// write gives each text some room; one that has none for its reason goes without.
func (n noteItem) write(dst []byte, textRoom, reasonRoom int) ([]byte, budget.Fit) {
	dst = appendKey(append(dst, '{'), n.text)
	dst, fit := budget.AppendText(dst, n.note.Text, n.chars, textRoom)
	if n.note.Reason != "" && fit != budget.Missing {
		with := appendKey(append(dst, ','), n.reason)
		with, told := budget.AppendText(with, n.note.Reason, n.chars, reasonRoom)
		if told != budget.Missing {
			dst = with
		}
		fit = min(fit, max(told, budget.Cut))
	}
	if !n.handoff.IsZero() {
		dst = appendID(append(dst, `,"handoff_id":`...), id.Handoff, n.handoff)
	}
	return append(dst, '}'), fit
}

func appendKey(dst []byte, key string) []byte {
	return append(jsonschema.AppendString(dst, key), ':')
}

// blockerItem is a BLOCKED task among the blockers, in a sentence.
type blockerItem struct {
	task  *work.Task
	chars int
}

// Append implements budget.Item.
func (i blockerItem) Append(dst []byte, room int) ([]byte, budget.Fit) {
	text := i.task.Spec.Title + " (" + i.task.ID.Format(id.Task) + ")"
	if blocked := i.task.Blocked; blocked != nil && blocked.Reason != "" {
		text += ": " + blocked.Reason
	}
	return budget.AppendText(dst, text, i.chars, room)
}

// changeItem is a ResumeChange.
type changeItem struct {
	call      *Call
	project   *work.Project
	changeset *work.Changeset
	level     *detail
}

// Head implements budget.Parts.
func (i changeItem) Head(dst []byte, _ budget.Form) []byte {
	from := i.changeset
	dst = appendID(append(dst, `{"id":`...), id.Changeset, from.ID)
	dst = appendInt(append(dst, `,"sequence":`...), int64(from.Sequence))
	dst = i.call.appendAgentRef(append(dst, `,"author":`...), from.Author)
	dst = Time(from.CreatedAt).append(append(dst, `,"created_at":`...))
	return appendInt(append(dst, `,"operation_count":`...), int64(len(from.Ops)))
}

// Text implements budget.Parts.
func (i changeItem) Text() (string, budget.Text) {
	if i.changeset.Message == "" {
		return "", budget.Text{}
	}
	return "message", budget.Text{Text: i.changeset.Message, Chars: i.level.chars}
}

// Rest implements budget.Parts.
func (i changeItem) Rest(dst []byte) ([]byte, bool) {
	ops := i.changeset.Ops
	if len(ops) == 0 {
		return dst, false
	}
	dst = append(dst, `,"paths":[`...)
	for at := range ops[:min(len(ops), i.level.paths)] {
		if at > 0 {
			dst = append(dst, ',')
		}
		dst = jsonschema.AppendString(dst, *ops[at].Path)
	}
	dst = append(dst, ']')
	if i.level.whole {
		dst = append(dst, `,"operations":[`...)
		for at := range ops {
			if at > 0 {
				dst = append(dst, ',')
			}
			dst = i.operation(dst, &ops[at])
		}
		dst = append(dst, ']')
	}
	return dst, len(ops) > i.level.paths
}

// operation writes a ResumeOperation.
func (i changeItem) operation(dst []byte, op *work.Op) []byte {
	dst = append(append(append(dst, `{"action":"`...), op.Action.String()...), `","path":`...)
	dst = jsonschema.AppendString(dst, *op.Path)
	if op.From != nil {
		dst = jsonschema.AppendString(append(dst, `,"previous_path":`...), *op.From)
	}
	if op.Action != work.Delete {
		dst = appendHash(append(dst, `,"blob_hash":`...), &op.Blob)
	}
	if before, stood := i.project.Before(i.changeset, op); stood {
		dst = appendHash(append(dst, `,"previous_blob_hash":`...), &before.Blob)
	}
	if op.Action != work.Delete {
		dst = appendInt(append(dst, `,"size_bytes":`...), int64(op.Size))
		dst = jsonschema.AppendString(append(dst, `,"content_type":`...), op.Type.Value())
	}
	return append(dst, '}')
}

func (c *Call) appendAgentRef(dst []byte, agent id.ID) []byte {
	dst = appendID(append(dst, `{"agent_id":`...), id.Agent, agent)
	dst = jsonschema.AppendString(append(dst, `,"handle":`...), c.handle(agent))
	return append(dst, '}')
}

// sessionItem is a ResumeSession.
type sessionItem struct {
	call    *Call
	session *work.WorkSession
}

// Head implements budget.Parts.
func (i sessionItem) Head(dst []byte, _ budget.Form) []byte {
	s := i.session
	dst = appendID(append(dst, `{"id":`...), id.WorkSession, s.ID)
	dst = i.call.appendAgentRef(append(dst, `,"agent":`...), s.Agent)
	dst = append(append(dst, `,"status":"`...), s.Status(i.call.Now).String()...)
	dst = Time(s.StartedAt).append(append(dst, `","started_at":`...))
	return Time(s.LastActiveAt).append(append(dst, `,"last_active_at":`...))
}

// Text implements budget.Parts.
func (i sessionItem) Text() (string, budget.Text) { return "", budget.Text{} }

// Rest implements budget.Parts.
func (i sessionItem) Rest(dst []byte) ([]byte, bool) { return dst, false }
