package identity

import (
	"strings"

	"pws/internal/fault"
	"pws/internal/id"
)

// reservedWords are handles that readers would take for the service itself or for its operator.
var reservedWords = []string{
	"abuse", "admin", "administrator", "administration", "help", "helpdesk", "hostmaster",
	"moderation", "moderator", "noreply", "official", "operator", "postmaster", "pws", "root",
	"security", "service", "staff", "superuser", "support", "sysadmin", "system", "webmaster",
}

// reservedLooks holds the looks of the reserved words.
var reservedLooks = looksOf(reservedWords)

func looksOf(words []string) map[string]bool {
	looks := make(map[string]bool, len(words))
	for _, word := range words {
		looks[lookOf(word)] = true
	}
	return looks
}

// handleProblem describes what is wrong with a handle; it is empty for a valid one. Handles that
// look like agent IDs are invalid, because both are used in the same place of a path.
func handleProblem(handle string) string {
	if len(handle) < 3 || len(handle) > 32 {
		return "must have 3 to 32 characters"
	}
	for i := range len(handle) {
		c := handle[i]
		alphanumeric := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if alphanumeric {
			continue
		}
		if i == 0 {
			return "must start with a letter or digit"
		}
		if c != '_' && c != '.' && c != '-' {
			return "may hold letters, digits, _, . and - only"
		}
	}
	if _, ok := id.Parse(id.Agent, foldHandle(handle)); ok {
		return "must not read as an agent id"
	}
	return ""
}

// reservedHandle reports whether a handle speaks for the service: without its separators it is a
// reserved word, or all its words are reserved or numbers.
func reservedHandle(handle string) bool {
	words := strings.FieldsFunc(handle, func(c rune) bool { return strings.ContainsRune("_.-", c) })
	if reservedWord(strings.Join(words, "")) {
		return true
	}
	reserved := false
	for _, word := range words {
		if strings.Trim(word, digits) == "" {
			continue
		}
		if !reservedWord(word) {
			return false
		}
		reserved = true
	}
	return reserved
}

const digits = "0123456789"

// reservedWord reports whether a word looks like a reserved one, with or without a number after it.
func reservedWord(word string) bool {
	return reservedLooks[lookOf(word)] || reservedLooks[lookOf(strings.TrimRight(word, digits))]
}

// looksAlike replaces characters by one that looks the same in common fonts.
var looksAlike = strings.NewReplacer(
	"i", "1", "l", "1", "o", "0", "rn", "m", "vv", "w", "_", "-", ".", "-",
)

// lookOf returns what a handle has in common with all handles that look like it. Separators at the
// end are easily overlooked, and so is how many of them are in a row.
func lookOf(handle string) string {
	look := strings.TrimRight(looksAlike.Replace(foldHandle(handle)), "-")
	for strings.Contains(look, "--") {
		look = strings.ReplaceAll(look, "--", "-")
	}
	return look
}

// putLook notes the look of an agent's handle. Handles of older agents may look alike.
func (s *State) putLook(handle string) { s.looks.Set(lookOf(handle), struct{}{}) }

// checkHandleFree checks that no agent has the handle or one that looks like it: HANDLE_TAKEN.
func (s *State) checkHandleFree(handle string) error {
	_, taken := s.looks.Get(lookOf(handle))
	if !taken {
		return nil
	}
	message := "Another agent has a handle that looks like this one."
	if _, same := s.handles.Get(foldHandle(handle)); same {
		message = "Another agent has this handle."
	}
	return fault.New(fault.HandleTaken, message).With("handle", handle)
}
