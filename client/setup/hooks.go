package setup

import (
	"fmt"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/tailscale/hujson"
)

// ownHook is the form of the commands that are the program's own.
var ownHook = regexp.MustCompile(
	`(^|[/\\"' ])pws(\.exe)?["']? hook (session-start|beat|session-end|pre-compact)\b`)

// hook is an entry of an event: its value, and the event in the words of the host.
type hook struct {
	event string
	value jsontext.Value
}

// putHooks adds entries to the lists of events, and replaces what is there of the program's own.
func putHooks(text []byte, hooks []hook) ([]byte, error) {
	return edit(text, func(d *document) error {
		for _, one := range hooks {
			if err := d.putHook(one); err != nil {
				return err
			}
		}
		return nil
	})
}

func (d *document) putHook(one hook) error {
	list, err := d.find("hooks", one.event)
	if err != nil {
		return err
	}
	if list == nil {
		return d.put(jsontext.Value("["+string(one.value)+"]"), "hooks", one.event)
	}
	if list.Value.Kind() != '[' {
		return fmt.Errorf("hooks.%s is not an array", one.event)
	}
	// Entries of ours that are right stay where they are; all others of ours go.
	right := false
	for {
		nth, of := d.wrong(list, one.value, &right)
		if nth < 0 {
			break
		}
		if err := d.remove(of, nth); err != nil {
			return err
		}
		if list, err = d.find("hooks", one.event); err != nil {
			return err
		}
		right = false
	}
	if right {
		return nil
	}
	return d.insert(list, "", one.value)
}

// wrong finds an entry of the program's own that is not the wanted one, or is that a second time:
// an element of the list, or of the hooks of an element that has others too. It returns -1 for
// none. right is set when the wanted entry is there.
func (d *document) wrong(
	list *hujson.Value, want jsontext.Value, right *bool,
) (nth int, of *hujson.Value) {
	array, ok := list.Value.(*hujson.Array)
	if !ok {
		return -1, nil
	}
	for i := range array.Elements {
		element := &array.Elements[i]
		own, inner := ownIn(element)
		switch {
		case own == 0:
		case want != nil && !*right && equal(element, want):
			*right = true
		case inner == nil || own == len(spansOf(inner)):
			return i, list
		default:
			group, _ := inner.Value.(*hujson.Array)
			for nth := range group.Elements {
				if isOwn(&group.Elements[nth]) {
					return nth, inner
				}
			}
		}
	}
	return -1, nil
}

// ownIn counts the commands of the program's own in an entry, and returns its list of hooks; nil
// for an entry that is one command.
func ownIn(element *hujson.Value) (own int, inner *hujson.Value) {
	object, ok := element.Value.(*hujson.Object)
	if !ok {
		return 0, nil
	}
	for nth := range object.Members {
		group, ok := object.Members[nth].Value.Value.(*hujson.Array)
		if nameOf(&object.Members[nth]) != "hooks" || !ok {
			continue
		}
		for i := range group.Elements {
			if isOwn(&group.Elements[i]) {
				own++
			}
		}
		return own, &object.Members[nth].Value
	}
	if isOwn(element) {
		own = 1
	}
	return own, nil
}

func isOwn(entry *hujson.Value) bool {
	var said struct {
		Command string `json:"command"`
	}
	return entry.Value.Kind() == '{' && json.Unmarshal(standard(entry), &said) == nil &&
		ownHook.MatchString(said.Command)
}

// removeHooks removes the program's own entries from the lists of all events, and lists that are
// empty then.
func removeHooks(text []byte) ([]byte, error) {
	return edit(text, func(d *document) error {
		for {
			event, err := d.removeHook()
			if err != nil || event == "" {
				return err
			}
			list, err := d.find("hooks", event)
			if err == nil && d.empty(list) {
				err = d.removeAt("hooks", event)
			}
			if err != nil {
				return err
			}
		}
	})
}

// removeHook removes one entry and returns its event, empty if there is none.
func (d *document) removeHook() (event string, err error) {
	all, err := d.find("hooks")
	if err != nil || all == nil {
		return "", err
	}
	events, ok := all.Value.(*hujson.Object)
	if !ok {
		return "", nil
	}
	for i := range events.Members {
		member := &events.Members[i]
		if nth, of := d.wrong(&member.Value, nil, new(bool)); nth >= 0 {
			event := nameOf(member)
			return event, d.remove(of, nth)
		}
	}
	return "", nil
}
