package work_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// TestStampIsOfTheFamily expects the IDs of a stamp, and all that may follow them in one
// millisecond, to be of the project's family.
func TestStampIsOfTheFamily(t *testing.T) {
	random := rand.NewChaCha8([32]byte{1})
	full := work.Stamp{Now: testNow, Entropy: [16]byte(bytes.Repeat([]byte{255}, 16))}
	for round := range 1000 {
		var project id.ID
		_, _ = random.Read(project[:])
		stamp := work.Stamp{Now: testNow}
		_, _ = random.Read(stamp.Entropy[:])
		if round == 0 {
			stamp = full
		}
		stamp = stamp.In(project)
		last := id.ID{}
		for _, n := range []uint16{0, 1, 255, 256, 65535} {
			made := stamp.ID(n)
			if made.ProjectBits() != project.ProjectBits() || made.Compare(last) <= 0 {
				t.Fatalf("round %d: %v of %v, after %v", round, made, project, last)
			}
			last = made
		}
		// Below the family 2^47 IDs follow even the last one.
		if last[10] > 127 {
			t.Fatalf("round %d: %v leaves no room behind it", round, last)
		}
		for range 1000 {
			last = last.Next()
		}
		if last.ProjectBits() != project.ProjectBits() || last.Millis() != testNow {
			t.Fatalf("round %d: %v is not of the family of %v", round, last, project)
		}
	}
	other := full.In(id.New(1, [10]byte{1})).ID(0)
	if other.ProjectBits() == full.In(id.New(1, [10]byte{2})).ID(0).ProjectBits() {
		t.Fatal("two projects have the same bits")
	}
}

// everyPart makes a changeset, two tasks and a handoff.
func everyPart(p *work.Project, path string) *work.CreateCheckpoint {
	head := p.Head().ID
	return &work.CreateCheckpoint{
		Summary: "step", Base: &head,
		Files: []work.CheckpointFile{
			{Path: path, Content: &work.Blob{}, ContentType: "text/plain"},
		},
		Tasks: []work.CheckpointTask{
			{Create: &work.TaskSpec{Title: "one"}}, {Create: &work.TaskSpec{Title: "two"}},
		},
		Handoff: &work.Continuation{Summary: "go on"},
	}
}

// TestClockThatGoesBack publishes, makes tasks and leaves handoffs while the time falls: their IDs
// follow one another and stay in the family.
func TestClockThatGoesBack(t *testing.T) {
	project := id.New(1, [10]byte{250, 251, 252, 253})
	p, last := (*work.Project)(nil), [3]id.ID{}
	for n := range 200 {
		stamp := work.Stamp{Now: testNow - int64(n/2), Agent: id.New(1, [10]byte{9})}
		stamp.Entropy = [16]byte(bytes.Repeat([]byte{byte(255 - n)}, 16))
		var command work.Command
		if p == nil {
			command = &work.CreateProject{ID: project, Kind: work.Standard, About: work.About{
				Name: "project", Visibility: work.Private,
			}}
		} else {
			command = everyPart(p, fmt.Sprint("file", n))
		}
		decision, err := work.Decide(command, p, stamp.In(project))
		if err != nil {
			t.Fatal(err)
		}
		if p == nil {
			p = work.NewProject()
		}
		for _, event := range decision.Events {
			p.Apply(event, work.Moment{Now: stamp.Now, Agent: stamp.Agent})
		}
		now := [3]id.ID{p.Head().ID}
		if n > 0 {
			now[1], now[2] = p.NewestTasks(1, testNow)[0].ID, p.LatestHandoff().ID
		}
		for i, made := range now {
			if n > 0 && (made.Compare(last[i]) <= 0 || made.ProjectBits() != project.ProjectBits()) {
				t.Fatalf("step %d: %v of %v, after %v", n, made, project, last[i])
			}
		}
		last = now
	}
}
