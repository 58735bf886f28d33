package api

import (
	"pws/api/jsonschema"
	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// noteItem is a note in the form in which it was sent; both of its texts can be cut.
type noteItem struct {
	note  work.Note
	kind  *noteKind
	chars int
	// object says that it is an object in any case, with the handoff that it comes from; that is zero
	// where there is none.
	object  bool
	handoff id.ID
}

// Append implements sizelimit.Item.
func (n noteItem) Append(dst []byte, room int) ([]byte, sizelimit.Fit) {
	if !n.note.Reasoned && !n.object {
		return sizelimit.AppendText(dst, n.note.Text, n.chars, room)
	}
	start := len(dst)
	dst, fit := n.write(dst, sizelimit.Unlimited, sizelimit.Unlimited)
	if len(dst)-start <= room {
		return dst, fit
	}
	rest := room - len(`{"":}`) - len(n.kind.text) - n.sourceBytes()
	half := (rest - len(`,"":`) - len(n.kind.reason)) / 2
	if half < noteBytesMin {
		dst, fit = n.write(dst[:start], rest, 0)
	} else if n.note.Reason == "" {
		dst, fit = n.write(dst[:start], rest, 0)
	} else {
		dst, fit = n.write(dst[:start], half, half)
	}
	if fit == sizelimit.Missing {
		return dst[:start], fit
	}
	return dst, sizelimit.Cut
}

// noteBytesMin is the least of each text of a note; where there is less the reason is left out.
const noteBytesMin = 40

// sourceBytes is what the handoff takes.
func (n noteItem) sourceBytes() int {
	if n.handoff.IsZero() {
		return 0
	}
	return len(`,"":""`) + len(n.kind.handoff) + len(n.handoff.Format(id.Handoff))
}

// write gives each text some room; one that has none for its reason goes without.
func (n noteItem) write(dst []byte, textRoom, reasonRoom int) ([]byte, sizelimit.Fit) {
	dst = appendKey(append(dst, '{'), n.kind.text)
	dst, fit := sizelimit.AppendText(dst, n.note.Text, n.chars, textRoom)
	if n.note.Reason != "" && fit != sizelimit.Missing {
		with := appendKey(append(dst, ','), n.kind.reason)
		with, written := sizelimit.AppendText(with, n.note.Reason, n.chars, reasonRoom)
		if written != sizelimit.Missing {
			dst = with
		}
		fit = min(fit, max(written, sizelimit.Cut))
	}
	if !n.handoff.IsZero() {
		dst = appendID(appendKey(append(dst, ','), n.kind.handoff), id.Handoff, n.handoff)
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

// Append implements sizelimit.Item.
func (i blockerItem) Append(dst []byte, room int) ([]byte, sizelimit.Fit) {
	text := i.task.Spec.Title + " (" + i.task.ID.Format(id.Task) + ")"
	if blocked := i.task.Blocked; blocked != nil && blocked.Reason != "" {
		text += ": " + blocked.Reason
	}
	return sizelimit.AppendText(dst, text, i.chars, room)
}

// messageOf returns the message of a changeset, which is empty if too many texts were read already.
func (b *resumeBuild) messageOf(from *work.Changeset) string {
	if from.Away != nil {
		if b.taskBytes+from.Away.Bytes > taskTextsMax*b.wish.bytes {
			return ""
		}
		b.taskBytes += from.Away.Bytes
	}
	return b.call.recordText(from.Message, from.Away)
}

// change is a ResumeChange.
func (b *resumeBuild) change(from *work.Changeset) sizelimit.Item {
	return sizelimit.Record{Chars: b.wish.chars, Make: func(form sizelimit.Form) (any, bool) {
		change := &ResumeChange{
			ID: from.ID.Format(id.Changeset), Sequence: from.Sequence,
			Author: b.call.agentRef(from.Author), CreatedAt: Time(from.CreatedAt),
			Count: len(from.Ops), Message: b.messageOf(from),
		}
		if form != sizelimit.Full || len(from.Ops) == 0 {
			return change, false
		}
		change.Paths = make([]string, min(len(from.Ops), b.wish.paths))
		for i := range change.Paths {
			change.Paths[i] = *from.Ops[i].Path
		}
		if b.wish.whole {
			change.Operations = make([]ResumeOperation, len(from.Ops))
			for i := range from.Ops {
				op := operationRecord(b.project, from, &from.Ops[i])
				change.Operations[i] = ResumeOperation(op)
			}
		}
		return change, len(from.Ops) > b.wish.paths
	}}
}

// session is a ResumeSession.
func (b *resumeBuild) session(s *work.WorkSession) sizelimit.Item {
	return sizelimit.Record{Make: func(sizelimit.Form) (any, bool) {
		return &ResumeSession{
			ID: s.ID.Format(id.WorkSession), Agent: b.call.agentRef(s.Agent),
			Status: s.Status(b.call.Now).String(), StartedAt: Time(s.StartedAt),
			LastActiveAt: Time(s.LastActiveAt),
		}, false
	}}
}
