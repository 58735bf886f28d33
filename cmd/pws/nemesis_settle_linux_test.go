package main

import (
	"fmt"
	"slices"
	"testing"

	"github.com/anishathalye/porcupine"
)

// settleHistory is a history of one file that 40 writes of unknown outcome were sent to, of which
// every second one took effect, in the order that it returns, newest first.
func settleHistory() (*nemesisHistory, *nemesisWorld, []string) {
	h, world := newNemesisHistory(), &nemesisWorld{project: "prj"}
	var names []string
	for i := range 40 {
		in := nemesisInput{
			object: fileObject(world, "a.txt"), action: nemesisWrite, value: fmt.Sprint("w", i),
		}
		h.add(i, h.now(), in, nemesisOutput{outcome: nemesisUnknown})
		h.effect(world, in, nemesisUnknown)
		if i%2 == 0 {
			names = append(names, in.value)
			h.add(100, h.now(), nemesisInput{object: in.object},
				nemesisOutput{outcome: nemesisDone, value: in.value})
		}
		// It is decided between the writes: what it expects is never there.
		refused := in
		refused.action, refused.value, refused.old = nemesisReplace, fmt.Sprint("r", i), "other"
		h.add(101, h.now(), refused, nemesisOutput{outcome: nemesisRefused})
	}
	slices.Reverse(names)
	return h, world, names
}

// verdict is that of the search for an order of all operations, which are on one object.
func (h *nemesisHistory) verdict() porcupine.CheckResult {
	return porcupine.CheckOperationsTimeout(nemesisModel, h.mu.operations, nemesisCheckMax)
}

// TestSettledHistoriesAreDecided checks that what the servers list at the end decides a history
// that has many writes of unknown outcome.
func TestSettledHistoriesAreDecided(t *testing.T) {
	tests := []struct {
		name string
		// change changes the history or what is listed at the end.
		change func(h *nemesisHistory, names []string) []string
		want   porcupine.CheckResult
	}{
		{"as it was", func(_ *nemesisHistory, names []string) []string {
			return names
		}, porcupine.Ok},
		{"two writes are listed the other way round", func(_ *nemesisHistory, n []string) []string {
			n[3], n[4] = n[4], n[3]
			return n
		}, porcupine.Illegal},
		{"a write that was read is not listed", func(_ *nemesisHistory, n []string) []string {
			return n[1:]
		}, porcupine.Illegal},
		{"a read is older than the one before", func(h *nemesisHistory, n []string) []string {
			h.add(100, h.now(), nemesisInput{object: h.mu.effects["w0"].input.object},
				nemesisOutput{outcome: nemesisDone, value: "w0"})
			return n
		}, porcupine.Illegal},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			h, world, names := settleHistory()
			h.settle(world, test.change(h, names))
			if got := h.verdict(); got != test.want {
				t.Errorf("the verdict is %s, want %s", got, test.want)
			}
		})
	}
}
