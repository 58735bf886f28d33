package web

import "strconv"

// plural is a number with its noun.
func plural(number int, noun string) string {
	if number == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(number) + " " + noun + "s"
}
