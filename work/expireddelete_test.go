package work_test

import (
	"fmt"
	"testing"

	"pws/work"
)

// TestDeletedContributionOfExpiredWorkspace: the deletion of a contribution does the same to its
// expired workspace, whether or not the expiry was recorded.
func TestDeletedContributionOfExpiredWorkspace(t *testing.T) {
	var results []string
	for _, recorded := range []bool{false, true} {
		w := newWorld()
		w.create(t)
		w.put(t, "a", "1")
		eve := func(command work.Command) work.Decision {
			decision, err := w.do(agent("eve"), command)
			if err != nil {
				t.Fatal(err)
			}
			return decision
		}
		space := eve(new(work.OpenWorkspace)).Result.Subject
		eve(&work.WriteWorkspaceFile{
			Workspace: space, Path: "a", Blob: blob("2"), ContentType: "text/plain",
		})
		sent := eve(&work.SubmitWorkspace{Workspace: space, Summary: "s"}).Result.Subject
		w.now += work.WorkspaceSeconds*1000 + 1
		if recorded {
			w.must(t, new(work.OpenWorkspace))
		}
		eve(&work.DeleteContribution{Contribution: sent})
		after, _ := w.project.WorkspaceAt(space, w.now)
		results = append(results, fmt.Sprintf("%+v", *after))
	}
	if results[0] != results[1] {
		t.Errorf("the workspace is\n%s\nand, if its expiry was recorded,\n%s", results[0], results[1])
	}
}
