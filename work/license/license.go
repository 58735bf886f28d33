// Package license validates license_spdx values: NOASSERTION, NONE, or a license
// expression as the SPDX specification defines it.
//
//	expression = and-term *( "OR" and-term )
//	and-term   = term *( "AND" term )
//	term       = "(" expression ")" / simple [ "WITH" addition ]
//	simple     = license-id [ "+" ] / [ document-ref ":" ] "LicenseRef-" name
//	addition   = exception-id / [ document-ref ":" ] "AdditionRef-" name
//	document-ref = "DocumentRef-" name
//	name       = 1*( letter / digit / "-" / "." )
//
// Identifiers and keywords match in any case; operators are all upper or all lower case. The
// canonical form has the case of the SPDX lists, upper-case operators, one space around operators
// and none elsewhere. It keeps the order and the parentheses of the writer, because equal meaning
// is not for this service to decide.
//
// ids.txt and exceptions.txt are the identifiers of the SPDX license list and of its exceptions,
// deprecated ones included, one on a line, sorted without regard to case.
package license

import (
	_ "embed"
	"strings"
)

// Values that are not expressions: nothing is stated about the license, or there is none.
const (
	NoAssertion = "NOASSERTION"
	None        = "NONE"
)

// Limits of an expression, in the given and in the canonical form.
const (
	LengthBytesMax = 400
	DepthMax       = 32
)

//go:embed ids.txt
var idLines string

//go:embed exceptions.txt
var exceptionLines string

var (
	ids        = byLowerCase(idLines)
	exceptions = byLowerCase(exceptionLines)
)

// byLowerCase maps the lower-case form of each line to the line.
func byLowerCase(lines string) map[string]string {
	canonical := make(map[string]string)
	for line := range strings.Lines(lines) {
		line = strings.TrimSuffix(line, "\n")
		canonical[strings.ToLower(line)] = line
	}
	return canonical
}

// Canonical returns the canonical form of a license_spdx value. If there is none, the form is
// empty and problem says why; callers return INVALID_LICENSE. The canonical form of a canonical
// form is itself.
func Canonical(expr string) (canonical string, problem string) {
	if len(expr) > LengthBytesMax {
		return "", problemLength
	}
	for i := 0; i < len(expr); i++ {
		if c := expr[i]; !isWordByte(c) && c != ' ' && c != '(' && c != ')' {
			return "", problemCharacter
		}
	}
	p := parser{rest: expr}
	p.next()
	if p.token == "" {
		return "", "The license expression is empty."
	}
	if word := strings.ToUpper(p.token); word == NoAssertion || word == None {
		if p.next(); p.token == "" {
			return word, ""
		}
		return "", word + " must be used alone; it cannot be part of a license expression."
	}
	p.expression(0)
	if p.problem == "" && p.token != "" {
		p.fail("There is " + quote(p.token) + " where AND, OR or the end was expected.")
	}
	if p.problem == "" && p.out.Len() > LengthBytesMax {
		p.fail(problemLength)
	}
	if p.problem != "" {
		return "", p.problem
	}
	return p.out.String(), ""
}

const (
	problemLength    = "The license expression is longer than 400 bytes."
	problemCharacter = "The license expression has a character that is not allowed; it is made of " +
		"ASCII letters, digits, \"-\", \".\", \"+\", \":\", blanks and parentheses."
)

// quote quotes a part of the expression, which has no control characters and is bounded.
func quote(piece string) string { return "\"" + piece + "\"" }
