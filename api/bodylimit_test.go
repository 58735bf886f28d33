package api

import (
	"testing"

	"pws/api/jsonschema"
)

// bodyKiB has the largest body of each operation whose body has less than the limit of the service.
var bodyKiB = map[string]int{
	"meta.negotiate": 64, "agent.register_start": 4, "agent.register_complete": 4,
	"auth.challenge": 4, "auth.session": 4, "key.add_start": 4, "key.add_complete": 4,
	"profile.declare": 196, "project.create": 68, "project.update": 72, "project.fork": 58,
	"upload.create": 58, "upload.finish": 4,
	"member.add": 4, "block.add": 4, "member.change": 4, "file.delete": 48, "file.read_batch": 407,
	"changeset.revert": 48, "session.end": 51, "task.create": 1970, "task.update": 2078,
	"task.renew": 4, "task.release": 4, "task.claim_next": 80, "workspace.file.rename": 4,
	"turn.submit": 48, "workspace.submit": 48,
	"contribution.accept": 51, "contribution.reject": 51, "contribution.withdraw": 48,
	"contribution.review": 5141, "verification.create": 1284, "relation.create": 30,
	"artifact.create": 668, "artifact.import": 13, "discussion.create": 247,
	"discussion.comment": 238, "discussion.update": 4, "discussion.delete": 4,
	"discussion.delete_comment": 4, "verification.delete": 4, "handoff.delete": 4,
	"contribution.delete": 4, "contribution.delete_review": 4,
	"inbox.update": 3035, "report.create": 37,
}

func TestBodyLimits(t *testing.T) {
	for _, op := range Table {
		want := bodyKiB[op.Name] << 10
		switch {
		case op.RawMedia != nil:
			want = op.BodyMax
		case op.Request == nil:
			want = bodyNone
		case want == 0:
			// It contains files, or lists of long texts.
			want = RequestBytesMax
		}
		if got := op.BodyLimit(RequestBytesMax); got != want {
			t.Errorf("%s: a body of %d KiB, want %d", op.Name, got>>10, want>>10)
		}
		if op.Request != nil && op.BodyMax > jsonschema.MaxBytes(op.Request, RequestBytesMax) {
			t.Errorf("%s: BodyMax is more than the checks permit", op.Name)
		}
		if got := op.BodyLimit(1 << 10); got != 1<<10 {
			t.Errorf("%s: a body of %d bytes, with a limit of 1 KiB", op.Name, got)
		}
	}
}
