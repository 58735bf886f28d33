package work

import (
	"slices"
	"strings"

	"pws/internal/id"
)

// handleBytesMin and handleBytesMax bound the length of a handle.
const (
	handleBytesMin = 3
	handleBytesMax = 32
)

// Mentions returns the agents that a text names as @handle, each once, in order; find looks up
// handles. Text in Markdown code and parts of addresses are not mentions.
func Mentions(text string, find func(handle string) (id.ID, bool)) (agents []id.ID) {
	if !strings.Contains(text, "@") {
		return nil
	}
	prose(text, func(part string) {
		for i := strings.IndexByte(part, '@'); i >= 0; {
			end := i + 1
			for end < len(part) && isHandleByte(part[end]) {
				end++
			}
			if beginsMention(part[:i]) && !strings.HasPrefix(part[end:], "@") {
				agent, known := named(part[i+1:end], find)
				if known && !slices.Contains(agents, agent) {
					agents = append(agents, agent)
				}
			}
			next := strings.IndexByte(part[end:], '@')
			if next < 0 {
				return
			}
			i = end + next
		}
	})
	return agents
}

// named finds the agent that is named after an @. A handle may be followed by punctuation: it is
// looked up without trailing dots, then with them, then without any trailing characters that are
// neither letters nor digits.
func named(run string, find func(handle string) (id.ID, bool)) (agent id.ID, known bool) {
	sentence := strings.TrimRight(run, ".")
	for end := len(sentence); end <= min(len(run), handleBytesMax); end++ {
		if agent, known = handled(run[:end], find); known {
			return agent, true
		}
	}
	return handled(strings.TrimRight(sentence, "._-"), find)
}

func handled(handle string, find func(handle string) (id.ID, bool)) (agent id.ID, known bool) {
	if len(handle) < handleBytesMin || len(handle) > handleBytesMax || !isAlphanumeric(handle[0]) {
		return agent, false
	}
	return find(handle)
}

// beginsMention reports whether an @ after a text begins a mention: it is not part of an e-mail
// address, a path or another @, and it is not escaped.
func beginsMention(before string) bool {
	if before == "" {
		return true
	}
	switch before[len(before)-1] {
	case '@', '/', '\\':
		return false
	}
	for i := len(before) - 1; i >= 0 && isLocalByte(before[i]); i-- {
		if isAlphanumeric(before[i]) {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

func isHandleByte(c byte) bool { return isAlphanumeric(c) || c == '_' || c == '.' || c == '-' }

// isLocalByte reports whether a character is usual before the @ of an e-mail address.
func isLocalByte(c byte) bool { return isHandleByte(c) || c == '+' || c == '%' }

// prose yields the parts of a Markdown text that are not code: neither between fences nor between
// backticks.
func prose(text string, yield func(part string)) {
	var fence string
	paragraph := 0
	flush := func(end int) {
		if paragraph < end {
			outsideBackticks(text[paragraph:end], yield)
		}
	}
	for i := 0; i < len(text); {
		end := len(text)
		if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
			end = i + n + 1
		}
		line := text[i:end]
		switch marks, rest := fenceOf(line); {
		case fence != "":
			if strings.HasPrefix(marks, fence) && strings.TrimSpace(rest) == "" {
				fence = ""
			}
			paragraph = end
		case marks != "":
			flush(i)
			fence, paragraph = marks, end
		case strings.TrimSpace(line) == "":
			flush(i)
			paragraph = end
		}
		i = end
	}
	flush(len(text))
}

// fenceOf returns the fence at the start of a line and the text after it, empty without one.
func fenceOf(line string) (marks, rest string) {
	text := strings.TrimLeft(line, " ")
	if len(line)-len(text) > 3 || text == "" || text[0] != '`' && text[0] != '~' {
		return "", line
	}
	rest = strings.TrimLeft(text, text[:1])
	if marks = text[:len(text)-len(rest)]; len(marks) < 3 {
		return "", line
	}
	if text[0] == '`' && strings.Contains(rest, "`") {
		// A fence with backticks in the rest of its line is inline code.
		return "", line
	}
	return marks, rest
}

// outsideBackticks yields the parts of a paragraph outside of code. Code ends with as many
// backticks as it begins with; backticks without an end are plain text.
func outsideBackticks(paragraph string, yield func(part string)) {
	// last maps a run length to the start of the last run of that length, so that no search for
	// an end fails.
	last := map[int]int{}
	backticks(paragraph, 0, func(begin, end int) bool {
		last[end-begin] = begin
		return true
	})
	from := 0
	backticks(paragraph, 0, func(open, code int) bool {
		count := code - open
		if open < from || last[count] == open {
			return true
		}
		yield(paragraph[from:open])
		backticks(paragraph, code, func(begin, end int) bool {
			from = end
			return end-begin != count
		})
		return true
	})
	yield(paragraph[from:])
}

// backticks yields the runs of them from a place on.
func backticks(text string, at int, yield func(begin, end int) bool) {
	for {
		n := strings.IndexByte(text[at:], '`')
		if n < 0 {
			return
		}
		begin := at + n
		rest := strings.TrimLeft(text[begin:], "`")
		at = len(text) - len(rest)
		if !yield(begin, at) {
			return
		}
	}
}
