package bench

import (
	"math/rand/v2"
	"strconv"
	"strings"
)

// prose generates texts similar to those of agents: common words, so that they compress like
// natural text, without characters that JSON escapes.
type prose struct{ dice *rand.PCG }

func newProse(seed int) *prose {
	return &prose{dice: rand.NewPCG(uint64(seed), 0x2545f4914f6cdd1d)}
}

// A word is chosen by six random bits, so there are at most 64.
var proseWords = strings.Fields(`
	parser branch cursor schema retry timeout handler record fails passes because after before
	when the a of in with without test log index page change rename lock queue order snapshot
	writes reads covers misses returns checks expects needs moved added removed follows input
	output limit error header body field list value agent task file project session claim`)

// text appends words of about the given number of characters, at least one word.
func (p *prose) text(dst []byte, chars int) []byte {
	end := len(dst) + chars
	for bits := uint64(0); ; bits >>= 6 {
		if bits < 64 {
			bits = p.dice.Uint64() | 1<<63
		}
		dst = append(dst, proseWords[bits%uint64(len(proseWords))]...)
		if len(dst) >= end {
			return dst
		}
		dst = append(dst, ' ')
	}
}

// member appends a JSON member with a text.
func (p *prose) member(dst []byte, name string, chars int) []byte {
	dst = append(appendName(dst, name), '"')
	return append(p.text(dst, chars), '"')
}

// list appends a JSON member with a list of texts.
func (p *prose) list(dst []byte, name string, items, chars int) []byte {
	dst = append(appendName(dst, name), '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(p.text(append(dst, '"'), chars), '"')
	}
	return append(dst, ']')
}

// reasoned appends a JSON member with a list of one object with two texts.
func (p *prose) reasoned(dst []byte, name, first, second string, chars int) []byte {
	dst = append(appendName(dst, name), '[', '{')
	dst = p.member(dst, first, chars)
	dst = p.member(dst, second, chars)
	return append(dst, '}', ']')
}

// appendName appends the name of a JSON member, after a comma unless it is the first.
func appendName(dst []byte, name string) []byte {
	if len(dst) > 0 && dst[len(dst)-1] != '{' {
		dst = append(dst, ',')
	}
	dst = append(append(dst, '"'), name...)
	return append(dst, '"', ':')
}

// state appends a continuation state of about a kilobyte.
func (p *prose) state(dst []byte) []byte {
	dst = p.member(append(dst, '{'), "summary", 160)
	dst = p.member(dst, "objective", 100)
	dst = p.member(dst, "current_focus", 60)
	dst = p.list(dst, "completed", 3, 60)
	dst = p.list(dst, "in_progress", 1, 60)
	dst = p.list(dst, "known_problems", 2, 60)
	dst = p.list(dst, "next_actions", 3, 60)
	return append(p.list(dst, "open_questions", 1, 60), '}')
}

// fullState appends the state of a project with a long history.
func (p *prose) fullState(dst []byte) []byte {
	dst = p.member(append(dst, '{'), "summary", 400)
	dst = p.member(dst, "objective", 200)
	dst = p.member(dst, "current_focus", 100)
	dst = p.list(dst, "completed", 20, 80)
	dst = p.list(dst, "in_progress", 4, 80)
	dst = p.list(dst, "known_problems", 8, 80)
	dst = p.list(dst, "decisions", 10, 80)
	dst = p.list(dst, "next_actions", 8, 80)
	dst = append(appendName(dst, "important_files"), `["src/w0/file-0.txt","src/w0/file-1.txt"]`...)
	dst = p.list(dst, "dependencies", 5, 30)
	return append(p.list(dst, "open_questions", 5, 80), '}')
}

// handoff appends a handoff of about a kilobyte.
func (p *prose) handoff(dst []byte) []byte {
	dst = p.member(append(dst, '{'), "summary", 160)
	dst = p.list(dst, "completed_work", 2, 80)
	dst = p.reasoned(dst, "decisions", "decision", "rationale", 80)
	dst = p.reasoned(dst, "failed_approaches", "approach", "reason", 80)
	dst = p.list(dst, "blockers", 1, 60)
	dst = p.list(dst, "open_questions", 1, 60)
	return append(p.list(dst, "next_actions", 2, 60), '}')
}

// task appends a new task of about a third of a kilobyte.
func (p *prose) task(dst []byte, number int) []byte {
	dst = append(appendName(append(dst, '{'), "title"), `"Task `...)
	dst = append(strconv.AppendInt(dst, int64(number), 10), ' ')
	dst = append(p.text(dst, 30), '"')
	dst = p.member(dst, "description", 160)
	dst = append(appendName(dst, "skills"), `["go","tests"]`...)
	return append(p.member(dst, "expected_output", 40), '}')
}
