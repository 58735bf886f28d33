package http

import "testing"

func TestPreferredReturn(t *testing.T) {
	tests := map[string]preference{
		"":                                         anyReturn,
		"return":                                   anyReturn,
		"return=":                                  anyReturn,
		"return=all":                               anyReturn,
		"respond-async, wait=10":                   anyReturn,
		`x="return=minimal"`:                       anyReturn,
		`x="a, return=minimal"`:                    anyReturn,
		`x="\", return=minimal"`:                   anyReturn,
		"x; return=minimal":                        anyReturn,
		"returns=minimal":                          anyReturn,
		"return=minimal":                           returnMinimal,
		" Return = Minimal ":                       returnMinimal,
		`return="minimal"`:                         returnMinimal,
		"return=minimal; a=b;c":                    returnMinimal,
		"wait=10,return=minimal":                   returnMinimal,
		`x="\"," , return=minimal`:                 returnMinimal,
		",, return=minimal,":                       returnMinimal,
		"return=minimal, return=representation":    returnMinimal,
		"return=representation":                    returnRepresentation,
		"return=representation, return=minimal":    returnRepresentation,
		"handling=lenient;x,return=representation": returnRepresentation,
		"return=other, return=minimal":             anyReturn,
		`"`:                                        anyReturn,
	}
	for header, want := range tests {
		if got := preferredReturn([]byte(header)); got != want {
			t.Errorf("%q: %d, want %d", header, got, want)
		}
	}
}
