package checkout

import (
	"runtime"
	"strings"
	"unicode"
)

// The reasons for which a path of the server is not written.
const (
	reasonGit     = "belongs to git"
	reasonPws     = "belongs to pws"
	reasonSystem  = "has a name that this system does not have"
	reasonRemoved = "has no content: it was removed from the server"
)

// reserved says why a path is never written nor read here, empty if it may be. A project of
// others could bring programs that git runs, or bind the directory to another server.
func reserved(name string) string {
	for segment := range strings.SplitSeq(name, "/") {
		if reason := reservedSegment(segment); reason != "" {
			return reason
		}
	}
	if runtime.GOOS == "windows" {
		return windowsProblem(name)
	}
	return ""
}

// reservedSegment compares as the most lenient file systems do: without case, without characters
// that are not seen, without dots and spaces at the end, and with the short names of Windows.
func reservedSegment(segment string) string {
	seen := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) {
			return -1
		}
		return unicode.ToLower(r)
	}, segment)
	seen, _, _ = strings.Cut(seen, ":")
	seen = strings.TrimRight(seen, ". ")
	switch seen {
	case ".git", "git~1":
		return reasonGit
	case ".pws", "pws~1":
		return reasonPws
	}
	return ""
}

// windowsProblem says why Windows cannot have a path. It takes the end of a segment, the
// characters and the names of devices that Windows reserves.
func windowsProblem(name string) string {
	for segment := range strings.SplitSeq(name, "/") {
		stem, _, _ := strings.Cut(strings.ToUpper(segment), ".")
		stem = strings.TrimRight(stem, " ")
		device := stem == "CON" || stem == "PRN" || stem == "AUX" || stem == "NUL" ||
			stem == "CONIN$" || stem == "CONOUT$"
		for _, port := range []string{"COM", "LPT"} {
			number, ok := strings.CutPrefix(stem, port)
			device = device || ok && strings.Contains("0 1 2 3 4 5 6 7 8 9 ¹ ² ³", number) &&
				strings.TrimSpace(number) != ""
		}
		if device || strings.ContainsAny(segment, `<>:"|?*`) ||
			strings.TrimRight(segment, ". ") != segment {
			return reasonSystem
		}
	}
	return ""
}

// folded is a path as a file system sees it that takes upper and lower case as equal.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }
