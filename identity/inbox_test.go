package identity

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pws/internal/fault"
)

// places reads "1,2.8": entries, and the number in the entry behind a point.
func (b *table) places(name string) (places []Place) {
	text := b.args[name]
	if text == "" {
		return nil
	}
	for _, word := range strings.Split(text, ",") {
		entry, nth, _ := strings.Cut(word, ".")
		first, err := strconv.ParseUint(entry, 10, 64)
		if err != nil {
			b.t.Fatal(err)
		}
		second, _ := strconv.ParseUint(nth, 10, 16)
		places = append(places, Place{first, uint16(second)})
	}
	return places
}

func (b *table) marking(command string) Command {
	status, ok := ParseItemStatus(b.args["status"])
	if !ok {
		b.t.Fatalf("no status %q", b.args["status"])
	}
	marking := &MarkInbox{
		Caller: b.caller(), Status: status, Items: b.places("items"),
		Spared: b.places("spared"), Gone: b.places("gone"),
	}
	if command == "mark-all" {
		marking.Through = b.places("through")[0]
	}
	return marking
}

// marks shows what the agent did with items, with the seconds from the start to when it read them.
func (b *table) marks() string {
	agent, _ := b.v.state.Agent(b.agents[b.args["agent"]])
	out := "ok"
	for _, place := range b.places("items") {
		mark := agent.Marks().At(place)
		out += " " + mark.Status.String()
		if mark.ReadAt != 0 {
			out += fmt.Sprintf("@%d", (mark.ReadAt-testNow)/1000)
		}
	}
	return fmt.Sprintf("%s singles=%d steps=%d", out, len(agent.Marks().Items),
		len(agent.Marks().Steps))
}

// marking marks any of a few places, one by one or all.
func (w *world) marking() Command {
	place := func(label string) Place {
		return Place{Entry: uint64(rapid.IntRange(1, 9).Draw(w.rt, label))}
	}
	marking := &MarkInbox{
		Caller: w.caller(), Status: ItemStatus(rapid.IntRange(0, 2).Draw(w.rt, "status")),
		Items: []Place{place("item")}, Gone: []Place{place("gone")},
	}
	if rapid.Bool().Draw(w.rt, "all") {
		marking.Through, marking.Spared = place("through"), []Place{place("spared")}
	}
	return marking
}

// naive is what marks mean, item by item.
type naive map[Place]Mark

func (n naive) mark(c *MarkInbox, now int64) (changed int) {
	for place, mark := range n {
		meant := false
		if c.Through == (Place{}) {
			for _, one := range c.Items {
				meant = meant || one == place
			}
		} else {
			meant = place.Compare(c.Through) <= 0 && mark.Status != ItemArchived
			for _, one := range c.Spared {
				meant = meant && one != place
			}
		}
		if meant && mark.Status != c.Status {
			n[place] = mark.as(c.Status, now)
			changed++
		}
	}
	return changed
}

// Whatever is marked, one by one and all at once, every item is as if each had been marked alone.
func TestMarksAreThoseOfEachItem(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		v := newServer()
		caller := callerOf(v.register(t, "ada").Session)
		want := naive{}
		head := uint64(0)
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			head += uint64(rapid.IntRange(0, 3).Draw(rt, "arrive"))
			for entry := uint64(len(want)) + 1; entry <= head; entry++ {
				want[Place{Entry: entry, Nth: uint16(entry%3) * 8}] = Mark{}
			}
			v.now += int64(rapid.IntRange(1, 3).Draw(rt, "advance"))
			command := &MarkInbox{
				Caller: caller, Status: ItemStatus(rapid.IntRange(0, 2).Draw(rt, "status")),
			}
			some := rapid.SliceOfN(rapid.Bool(), len(want), len(want)).Draw(rt, "some")
			if rapid.Bool().Draw(rt, "all") && head > 0 {
				// Those that were there a while ago: another request may have come in between.
				command.Through = Place{Entry: head - min(head-1, uint64(
					rapid.SampledFrom([]int{0, 0, 0, 2}).Draw(rt, "ago"))), Nth: 16}
			}
			for place := range want {
				switch chosen := some[place.Entry-1]; {
				case command.Through == (Place{}) && chosen:
					command.Items = append(command.Items, place)
				case command.Through != (Place{}) && place.Compare(command.Through) <= 0:
					if chosen && place.Entry%4 == 0 {
						command.Spared = append(command.Spared, place)
					} else {
						command.Items = append(command.Items, place)
					}
				}
			}
			result, err := v.do(command)
			if err != nil {
				rt.Fatal(err)
			}
			if got, want := result.(*InboxMarking).Changed, want.mark(command, v.now); got != want {
				rt.Fatalf("%+v changed %d, want %d", command, got, want)
			}
		}
		agent, _ := v.state.Agent(caller.Agent)
		if !agent.marks.sound() {
			rt.Fatalf("%+v cannot be", agent.marks)
		}
		for place, mark := range want {
			if got := agent.Marks().At(place); !got.same(mark) {
				rt.Fatalf("%+v is %+v, want %+v; %+v", place, got, mark, agent.Marks())
			}
		}
		restored := New()
		if err := restored.RestoreAgent(v.state.EncodeAgent(agent.ID)); err != nil {
			rt.Fatal(err)
		}
	})
}

// However often an agent marks, its record stays small, and what is newest stays exact.
func TestMarksAreBounded(t *testing.T) {
	v := newServer()
	ada := v.register(t, "ada")
	mark := func(entry uint64, command MarkInbox) {
		v.now++
		command.Caller = callerOf(ada.Session)
		command.Items = append(command.Items, Place{Entry: entry})
		if _, err := v.do(&command); err != nil {
			t.Fatal(err)
		}
	}
	agent := func() *Agent {
		found, _ := v.state.Agent(ada.Agent.ID)
		return found
	}
	for entry := range uint64(3 * MarkStepsMax) {
		mark(entry+1, MarkInbox{Status: ItemRead, Through: Place{Entry: entry + 1}})
		if entry == MarkStepsMax {
			mark(entry+1, MarkInbox{Status: ItemArchived, Through: Place{Entry: entry + 1}})
		}
	}
	if got := len(agent().marks.Steps); got != MarkStepsMax {
		t.Fatalf("%d steps", got)
	}
	for entry := range uint64(3 * MarkStepsMax) {
		want := ItemRead
		if entry <= MarkStepsMax {
			want = ItemArchived
		}
		if got := agent().Marks().At(Place{Entry: entry + 1}); got.Status != want || got.ReadAt == 0 {
			t.Fatalf("entry %d is %+v", entry+1, got)
		}
	}
	items := make([]Place, 0, MarksMax)
	for entry := range uint64(MarksMax) {
		items = append(items, Place{Entry: 1000 + entry})
	}
	mark(999_999, MarkInbox{Status: ItemArchived, Items: items})
	marks := agent().Marks()
	if len(marks.Items) != MarksMax || marks.At(items[0]).Status != ItemUnread ||
		marks.At(items[1]).Status != ItemArchived {
		t.Fatalf("%d singles, the first are %+v", len(marks.Items), marks.Items[:2])
	}
	mark(1_000_000, MarkInbox{Status: ItemRead, Gone: items})
	if got := agent().Marks().Singles(); len(got) != 2 || got[0].Entry != 999_999 {
		t.Fatalf("singles %v", got)
	}
	if _, err := v.do(&MarkInbox{}); fault.CodeOf(err) != fault.SessionInvalid {
		t.Fatalf("a caller without a session: %v", err)
	}
}
