package actors

import (
	"testing"

	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// TestVerifyFindsMissingAgentsOfBlocksAndMarks adds blocks, handoffs and deletions to the log that
// name agents which do not exist.
func TestVerifyFindsMissingAgentsOfBlocksAndMarks(t *testing.T) {
	c := newContributors(t)
	mustPut(t, c.e, c.project, c.owner, "a", "base")
	c.submit("ours", "a")
	saveAll(t, c.e)
	dir := crashCopy(t, c.e.config.Dir)
	mustVerify(t, dir)
	stranger := id.New(c.e.Now(), [10]byte{7})
	said := id.New(c.e.Now(), [10]byte{8})
	gone := &work.ContributionDeleted{Contribution: c.offer, Author: c.eve, Decides: true}
	left := &work.HandoffCreated{ID: said}
	for want, test := range map[string]struct {
		by     id.ID
		events []work.Event
	}{
		"blocked":             {c.owner, []work.Event{&work.AgentBlocked{Agent: stranger}}},
		"blocker":             {stranger, []work.Event{&work.AgentBlocked{Agent: c.eve}}},
		"author of a handoff": {stranger, []work.Event{left}},
		"deleter of a record": {stranger, []work.Event{gone}},
		"":                    {c.owner, []work.Event{&work.AgentBlocked{Agent: c.eve}, gone, left}},
	} {
		entry := datadir.Entry{
			Target: datadir.TargetProject, ID: c.project, Now: c.e.Now(), Agent: test.by,
		}
		for _, event := range test.events {
			entry.Events = append(entry.Events, eventOf(t, event)...)
		}
		tail := crashCopy(t, dir)
		logged(t, tail, entry.Encode())
		if want == "" {
			mustVerify(t, tail)
			continue
		}
		wantFaults(t, tail, want+" "+stranger.Format(id.Agent)+" does not exist")
	}
}
