package actors

import (
	"bytes"
	"testing"

	"pws/api"
	"pws/internal/fault"
	"pws/work"
)

// TestKeysAreFreeAfterAWeek uses a key, uses it again when its result has run out, and expects the
// newer result to be returned then, also after a restart.
func TestKeysAreFreeAfterAWeek(t *testing.T) {
	e, project, owner := oneProject(t, nil)
	do := func(request, content string) (api.Done, error) {
		return e.Do(api.Order{Project: project, Agent: owner, Command: putOf("a", content),
			Idempotency: keyFor("key", request)})
	}
	first, err := do("first", "1")
	if err != nil || first.Replayed {
		t.Fatalf("%+v, %v", first, err)
	}
	e.Advance(work.IdempotencySeconds*1000 - 10_000)
	if again, err := do("first", "1"); err != nil || !again.Replayed ||
		again.Result != first.Result {
		t.Fatalf("a repeat within a week: %+v, %v", again, err)
	}
	if _, err := do("second", "2"); fault.CodeOf(err) != fault.IdempotencyKeyReused {
		t.Fatalf("another request within a week: %v", err)
	}
	e.Advance(10_000)
	second, err := do("second", "2")
	if err != nil || second.Replayed || second.Result == first.Result {
		t.Fatalf("another request after a week: %+v, %v", second, err)
	}
	config := e.config
	for range 2 {
		again, err := do("second", "2")
		if err != nil || !again.Replayed || again.Result != second.Result {
			t.Fatalf("a repeat of the second: %+v, %v", again, err)
		}
		stop(t, e)
		e = start(t, config)
	}
	if _, err := do("first", "1"); fault.CodeOf(err) != fault.IdempotencyKeyReused {
		t.Fatalf("the first request after the second: %v", err)
	}
}

// TestStoredAnswersKeepNoSpareMemory packs a body that compresses well: what is kept for days takes
// no more memory than it has bytes.
func TestStoredAnswersKeepNoSpareMemory(t *testing.T) {
	body := bytes.Repeat([]byte("a body that repeats itself "), 30_000)
	packed := pack(body)
	if cap(packed) > len(packed)+len(packed)/4+64 {
		t.Errorf("%d bytes take %d", len(packed), cap(packed))
	}
	if back, err := unpack(packed); err != nil || !bytes.Equal(back, body) {
		t.Errorf("%d bytes come back, %v", len(back), err)
	}
}
