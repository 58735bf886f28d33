package cli

import (
	"maps"
	"slices"
	"strings"

	"pws/client"
)

// detailsHidden are the details of a failure that are for programs, or said by the next step.
var detailsHidden = []string{
	"fields", "recommended_action", "recommended_retry_at", "next_step", "remaining", "reset_at",
}

// detailLines are what the details of a failure tell a person: its fields first, and then texts,
// numbers and lists of these by name.
func detailLines(failure *client.Failure) (lines []string) {
	details, err := parseValue(failure.Details)
	if err != nil {
		return nil
	}
	for _, one := range details.at("fields").list() {
		lines = append(lines, detailLine(one.at("field").text(), one.at("problem").text()))
	}
	all, _ := details.any.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(detailsHidden, name) {
			continue
		}
		text := details.at(name).text()
		for _, one := range details.at(name).list() {
			if next := one.text(); text == "" || next == "" {
				text += next
			} else {
				text += ", " + next
			}
		}
		if text != "" {
			lines = append(lines, detailLine(name, text))
		}
	}
	return lines
}

// detailLine is one line, whatever the texts have in them. A long one is cut.
func detailLine(name, text string) string {
	const most = 300
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > most {
		text = string(runes[:most-1]) + "…"
	}
	return "  " + line(name) + ": " + line(text)
}
