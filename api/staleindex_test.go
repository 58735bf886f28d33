package api_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pws/api"
	"pws/index"
	"pws/internal/id"
	"pws/work"
)

// staleEngine is a testEngine whose indexes and summaries can be kept stale, as for a reader
// that comes between them and the live view.
type staleEngine struct {
	*testEngine
	held    *index.Projections
	summary map[id.ID]*work.Project
}

func newStaleEngine(t *testing.T) *staleEngine {
	l := &staleEngine{testEngine: newTestEngine(t)}
	l.service = api.NewService(l, api.Config{})
	return l
}

// hold keeps what the indexes say now of a project, and its record.
func (l *staleEngine) hold(project id.ID) {
	l.t.Helper()
	view, err := l.Engine.Project(project)
	if err != nil {
		l.t.Fatal(err)
	}
	summary, err := l.Engine.Summary(project)
	if err != nil {
		l.t.Fatal(err)
	}
	l.summary, l.held = map[id.ID]*work.Project{project: summary}, index.NewProjections()
	l.held.Load(index.All, view)
}

// Indexes implements api.Engine.
func (l *staleEngine) Indexes(of index.Set) *index.Views {
	if l.held != nil {
		return onlyAsked(&l.held.Views, of)
	}
	return l.testEngine.Indexes(of)
}

func (l *staleEngine) Summary(project id.ID) (*work.Project, error) {
	if l.summary[project] != nil {
		return l.summary[project], nil
	}
	return l.Engine.Summary(project)
}

// text is the data of an answer.
func (l *staleEngine) text(who *testAgent, operation string, query map[string]string) string {
	l.t.Helper()
	_, data, err := l.call(who, request{operation: operation, query: query})
	if err != nil {
		l.t.Fatal(operation, err)
	}
	text, err := json.Marshal(data)
	if err != nil {
		l.t.Fatal(err)
	}
	return string(text)
}

// TestIndexesAreNotTrusted hides a project while the indexes of public work still name it. Lists of
// work must check the live view.
func TestIndexesAreNotTrusted(t *testing.T) {
	for _, hidden := range []work.Visibility{work.Private, work.Unlisted} {
		t.Run(hidden.String(), func(t *testing.T) {
			l := newStaleEngine(t)
			ada, eve := l.register("ada"), l.register("eve")
			project, _ := l.project(ada, work.Public)
			l.give(ada, project, &work.CreateTask{
				Spec: work.TaskSpec{Title: "task", Skills: []string{"rare"}},
			})
			l.hold(project)
			name := project.Format(id.Project)
			look := func(want bool) {
				t.Helper()
				for _, who := range []*testAgent{nil, eve} {
					lists := []string{l.text(who, "task.open", nil)}
					for _, query := range []map[string]string{{}, {"class": "OPEN_TASK"},
						{"class": "PROJECT_MATCH"}, {"skill": "rare"}} {
						lists = append(lists, l.text(who, "opportunity.list", query))
					}
					for i, list := range lists {
						if strings.Contains(list, name) != want {
							t.Errorf("list %d, session %v: %s", i, who != nil, list)
						}
					}
				}
			}
			look(true)
			l.give(ada, project, &work.UpdateProject{Visibility: hidden})
			look(false)
		})
	}
}

// TestInboxWithoutWords has a project hidden between the list of an inbox and the words of its
// items: an item then has none.
func TestInboxWithoutWords(t *testing.T) {
	l := newStaleEngine(t)
	ada, eve := l.register("ada"), l.register("eve")
	project, _ := l.project(ada, work.Public)
	l.give(ada, project, &work.CreateTask{
		Spec: work.TaskSpec{Title: "task", Skills: []string{"rare"}},
	})
	l.give(ada, project, &work.CreateDiscussion{
		Title: "the title", Body: "the words for @eve", Mentions: []id.ID{eve.id()},
	})
	l.hold(project)
	for _, want := range []bool{true, false} {
		inbox := l.text(eve, "inbox.read", nil)
		words := []bool{
			strings.Contains(inbox, "the title"), strings.Contains(inbox, "the words"),
		}
		if slices.Contains(words, !want) || !strings.Contains(inbox, `"kind":"MENTION"`) {
			t.Errorf("readable: %v: %s", want, inbox)
		}
		if want {
			l.give(ada, project, &work.UpdateProject{Visibility: work.Private})
		}
	}
}
