package api

import (
	"testing"

	"pws/api/jsonschema"
)

// bodyKiB has the largest body of each operation whose body has less than the limit of the service.
var bodyKiB = map[string]int{
	"meta.negotiate": 64, "agent.register_start": 64, "agent.register_complete": 64,
	"auth.challenge": 64, "auth.session": 64, "key.add_start": 64, "key.add_complete": 64,
	"profile.declare": 196, "project.create": 68, "project.update": 72, "project.fork": 64,
	"upload.create": 64, "upload.finish": 64,
	"member.add": 64, "block.add": 64, "member.change": 64, "file.delete": 64, "file.read_batch": 707,
	"changeset.revert": 64, "session.end": 64, "task.create": 1970, "task.update": 2078,
	"task.renew": 64, "task.release": 64, "task.claim_next": 80, "workspace.file.rename": 64,
	"turn.submit": 64, "workspace.submit": 64,
	"contribution.accept": 64, "contribution.reject": 64, "contribution.withdraw": 64,
	"contribution.review": 5141, "verification.create": 1284, "relation.create": 64,
	"artifact.create": 668, "artifact.import": 64, "discussion.create": 247,
	"discussion.comment": 238, "discussion.update": 64, "discussion.delete": 64,
	"discussion.delete_comment": 64, "verification.delete": 64, "handoff.delete": 64,
	"contribution.delete": 64, "contribution.delete_review": 64,
	"inbox.update": 3035, "report.create": 64,
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
		if got := op.BodyLimit(1 << 10); got != 1<<10 {
			t.Errorf("%s: a body of %d bytes, with a limit of 1 KiB", op.Name, got)
		}
		if op.Request == nil {
			continue
		}
		permitted := jsonschema.MaxBytes(op.Request, RequestBytesMax)
		if op.BodyMax > max(bodySmall, permitted) {
			t.Errorf("%s: BodyMax is more than the checks permit", op.Name)
		}
	}
}
