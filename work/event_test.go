package work

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"pws/internal/id"
)

// notAboutTask are the events with tasks that TaskOf does not name, each with the reason.
var notAboutTask = map[string]string{
	"ProjectImported": "its tasks are new with their project",
}

// hasTask reports whether an event is one of a task, by its name or by what its fields are.
func hasTask(event reflect.Type) bool {
	if strings.HasPrefix(event.Name(), "Task") || strings.HasPrefix(event.Name(), "Claim") {
		return true
	}
	for i := range event.NumField() {
		field := event.Field(i)
		if field.Name == "Task" || strings.Contains(field.Type.String(), "work.Task") {
			return true
		}
	}
	return false
}

// TestEventsOfTasks: TaskOf names the task of every event that has one. An expired claim of that
// task is recorded BEFORE the event, however many others have expired.
func TestEventsOfTasks(t *testing.T) {
	task := id.ID{15: 1}
	var expired []Event
	for range OrderEventsMax + 10 {
		expired = append(expired, new(TaskClaimExpired))
	}
	expired = append(expired, &TaskClaimExpired{Task: task})
	for kind, fresh := range kinds {
		event := fresh()
		value := reflect.ValueOf(event).Elem()
		if name := value.Type().Name(); !hasTask(value.Type()) || notAboutTask[name] != "" {
			if _, ok := TaskOf(event); ok {
				t.Errorf("TaskOf has a task of %s (%d), which seems to have none", name, kind)
			}
			continue
		}
		field := value.FieldByName("Task")
		if !field.IsValid() {
			field = value.FieldByName("ID")
		}
		field.Set(reflect.ValueOf(task))
		if got, ok := TaskOf(event); !ok || got != task {
			t.Errorf("TaskOf(%T) does not return its task: add it there", event)
		}
		recorded := recorded(expired, []Event{event})
		if !slices.Contains(recorded, expired[len(expired)-1]) {
			t.Errorf("the expired claim of the task is not recorded before a %T", event)
		}
	}
}

// kindsFree are the numbers that no event has had; they stay free.
var kindsFree = []Kind{37, 38, 39, 51, 58, 59, 64, 65, 66, 67, 68, 69}

// TestKindsAreConsecutive: a new event takes the number after the highest one.
func TestKindsAreConsecutive(t *testing.T) {
	for kind := Kind(1); int(kind) <= len(kinds)+len(kindsFree); kind++ {
		if free := slices.Contains(kindsFree, kind); Known(kind) == free {
			t.Errorf("kind %d: known is %t, free is %t", kind, Known(kind), free)
		}
	}
}
