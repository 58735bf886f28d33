package work_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// silent are the kinds of events without activities, each with the reason.
var silent = map[work.Kind]string{
	4:  "a changed role is no type of activity; members are listed with their roles",
	7:  "work sessions show in the project's list of them",
	8:  "work sessions show in the project's list of them",
	15: "a renewed claim is a claim as before",
	19: "what an author does in its workspace is its own until it is submitted",
	21: "the changeset in front of it says so",
	22: "a turn is short, and its result is a changeset",
	23: "a renewed turn changes nothing for others",
	36: "the creation event before it is enough; its records are another project's history",
	42: "watches are private to the watcher",
	43: "watches are private to the watcher",
	44: "what an agent gives up in its workspace is its own",
	45: "whether a discussion takes comments is read from it",
	46: "older events do not name the author",
	57: "only operators know what they have purged",
	47: "older events do not name the author",
	50: "nobody can read the project any more",
	56: "nobody could read the project any more",
	54: "a request for a turn changes only how often the turn is renewed",
}

// TestEveryKindHasActivitiesOrIsSilent fails for a new kind of event that is in neither list.
func TestEveryKindHasActivitiesOrIsSilent(t *testing.T) {
	for kind, event := range emptyEvents(t) {
		activities, reason := work.Activities(event), silent[kind]
		switch {
		case len(activities) > work.ActivitiesMax:
			t.Errorf("kind %d comes to %d activities", kind, len(activities))
		case len(activities) == 0 && reason == "":
			t.Errorf("kind %d, %T, has no activity; give it one or list it in silent", kind, event)
		case len(activities) > 0 && reason != "":
			t.Errorf("kind %d, %T, is listed as silent and has activity %v", kind, event, activities[0].Type)
		}
	}
}

// activitySamples are the first frozen event of each kind, and events with other activities.
func activitySamples() (all []frozenEvent) {
	kinds := map[work.Kind]bool{}
	for _, sample := range frozenSamples() {
		if kind := work.KindOf(sample.event); !kinds[kind] {
			kinds[kind] = true
			all = append(all, sample)
		}
	}
	return append(all,
		frozenEvent{"hidden", &work.ProjectUpdated{
			Was: work.Public, About: work.About{Visibility: work.Private},
		}},
		frozenEvent{"written by another", &work.ChangesetPublished{
			ID: agent("changeset"), Source: work.SourceContribution, Author: agent("eve"),
			Ops: make([]work.OpRecord, 3),
		}},
		frozenEvent{"done", &work.TaskUpdated{
			Task: agent("task"), Change: work.TaskChange{Status: work.TaskDone}, EndsClaim: true,
		}},
		frozenEvent{"deleted discussion", &work.DiscussionDeleted{
			Discussion: agent("discussion"), Author: agent("eve"),
		}},
		frozenEvent{"deleted comment", &work.CommentDeleted{
			Discussion: agent("discussion"), Comment: agent("comment"), Author: agent("eve"),
		}},
		frozenEvent{"plain comment", &work.CommentAdded{
			ID: agent("comment"), Discussion: agent("discussion"),
		}},
	)
}

// TestActivities compares the activities of events with a table.
func TestActivities(t *testing.T) {
	var table strings.Builder
	seen := map[string]bool{}
	for _, sample := range activitySamples() {
		for _, one := range work.Activities(sample.event) {
			seen[one.Type.String()] = true
			fmt.Fprintf(&table, "%s: %s\n", sample.file, activityText(&one))
		}
	}
	const name = "testdata/activities.txt"
	if *update {
		if err := os.WriteFile(name, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if table.String() != string(want) {
		t.Errorf("activities are\n%s", table.String())
	}
	for _, kind := range work.ActivityTypes() {
		if !seen[kind] {
			t.Errorf("no frozen event and no event of activitySamples has an activity %s", kind)
		}
		if parsed := work.ParseActivityType(kind); !parsed.Known() || parsed.String() != kind {
			t.Errorf("%s is read as %d", kind, parsed)
		}
	}
	if work.ParseActivityType("project.sold") != 0 || work.ParseActivityType("") != 0 {
		t.Error("what is no type is read as one")
	}
	if work.ActivityType(len(work.ActivityTypes())+1).Known() || work.ActivityType(0).Known() {
		t.Error("a number that is no type is known")
	}
}

// activityText prints the names from which the IDs of the samples are made.
func activityText(a *work.Activity) string {
	name := func(of id.ID) string {
		if of.IsZero() {
			return "-"
		}
		return strings.TrimRight(string(of[6:]), "\x00")
	}
	text := fmt.Sprintf("%s %s %s", a.Type, a.Subject.Type, name(a.Subject.ID))
	if !a.Actor.IsZero() {
		text += " by " + name(a.Actor)
	}
	if !a.Other.IsZero() {
		text += " names " + name(a.Other)
	}
	for _, fact := range a.Facts {
		value := any(fact.Text)
		switch {
		case fact.Name.Number():
			value = fact.Number
		case fact.Name.Prefix() != "":
			value = name(fact.ID)
		}
		text += fmt.Sprintf(" %s=%v", fact.Name.Key(), value)
	}
	return text
}

// TestActivityVisible checks which callers see an activity, in every kind of project.
func TestActivityVisible(t *testing.T) {
	const author, member, maintainer, stranger = "author", "member", "maintainer", "stranger"
	plain := &work.Activity{Type: work.ActivityTaskCreated, Actor: agent(author)}
	draft := &work.Activity{Type: work.ActivityWorkspaceOpened, Actor: agent(author)}
	for _, test := range []struct {
		visibility work.Visibility
		plain      []string
		draft      []string
	}{
		{work.Public, []string{"", author, member, maintainer, stranger}, []string{author, maintainer}},
		{work.Unlisted, []string{"", author, member, maintainer, stranger}, []string{author, maintainer}},
		{work.Private, []string{member, maintainer}, []string{maintainer}},
	} {
		p := work.NewProject()
		at := work.Moment{Now: testNow, Agent: agent("owner")}
		p.Apply(&work.ProjectCreated{
			ID: agent("project"), Kind: work.Standard, Owner: agent("owner"),
			About: work.About{Visibility: test.visibility, Reuse: work.AllowReuse, Status: work.Active},
		}, at)
		for name, role := range map[string]work.Role{
			member: work.Contributor, maintainer: work.Maintainer,
		} {
			p.Apply(&work.MemberAdded{Member: work.Member{Agent: agent(name), Role: role}}, at)
		}
		for _, caller := range []string{"", author, member, maintainer, stranger} {
			var who id.ID
			if caller != "" {
				who = agent(caller)
			}
			if p.ActivityVisible(plain, who) != slices.Contains(test.plain, caller) {
				t.Errorf("%s: %q sees a task: %v", test.visibility, caller,
					p.ActivityVisible(plain, who))
			}
			if p.ActivityVisible(draft, who) != slices.Contains(test.draft, caller) {
				t.Errorf("%s: %q sees a workspace: %v", test.visibility, caller,
					p.ActivityVisible(draft, who))
			}
		}
	}
}
