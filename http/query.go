package http

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pws/api/shape"
	"pws/internal/fault"
)

// queryParam is a declared query parameter with its compiled check.
type queryParam struct {
	name    string
	integer bool
	// raw values may be other bytes than UTF-8, which the operation judges.
	raw   bool
	check *shape.Check
}

// limitParam is the size of a page in every list; a bad one has a code of its own.
const limitParam = "limit"

// parseQuery reads the query into the call. All faults are named at once. Errors:
// VALIDATION_FAILED, PAGINATION_LIMIT_INVALID.
func (x *exchange) parseQuery() error {
	declared := x.route.query
	if x.query == "" && len(declared) == 0 {
		return nil
	}
	var faults []fault.Field
	note := func(name, problem string) {
		const faultsMax = 20
		known := func(one fault.Field) bool { return one.Field == name }
		if len(faults) < faultsMax && !slices.ContainsFunc(faults, known) {
			faults = append(faults, fault.Field{Field: name, Problem: problem})
		}
	}
	for rest := x.query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair == "" {
			continue
		}
		rawName, rawValue, _ := strings.Cut(pair, "=")
		name, nameOK := unescape(rawName)
		value, valueOK := unescape(rawValue)
		_, twice := x.params[name]
		param := findParam(declared, name)
		switch {
		case !nameOK || param == nil:
			note(printable(name), "is not a parameter of this operation")
		case !valueOK && (value == "" || !param.raw):
			note(name, "must be percent-encoded UTF-8")
		case twice:
			note(name, "must stand once")
		default:
			x.setParam(name, value)
		}
	}
	badLimit := x.checkParams(note)
	x.call.Query = x.params
	return refuseParams(faults, badLimit)
}

// refuseParams is the refusal of parameters, nil where there are no faults. Errors:
// VALIDATION_FAILED, PAGINATION_LIMIT_INVALID.
func refuseParams(faults []fault.Field, badLimit *queryParam) error {
	var invalid, limit error
	if len(faults) > 0 {
		invalid = fault.Invalid(faults...)
	}
	if badLimit != nil {
		low, high := badLimit.check.Range()
		limit = fault.New(fault.PaginationLimitInvalid,
			fmt.Sprintf("The limit must be an integer from %d to %d.", low, high)).
			With("minimum", low).With("maximum", high)
	}
	return fault.Together(invalid, limit)
}

func (x *exchange) setParam(name, value string) {
	if x.params == nil {
		x.params = make(map[string]string, 4)
	}
	x.params[name] = value
}

// checkParams judges what was sent and finds what is missing. A bad page size is returned apart.
func (x *exchange) checkParams(note func(name, problem string)) (badLimit *queryParam) {
	declared := x.route.query
	for i := range declared {
		one := &declared[i]
		value, sent := x.params[one.name]
		if !sent {
			if one.check.Required() {
				note(one.name, "is required")
			}
			continue
		}
		problem := one.judge(value)
		if problem != "" && one.integer && one.name == limitParam {
			badLimit = one
		} else if problem != "" {
			note(one.name, problem)
		}
	}
	return badLimit
}

func (p *queryParam) judge(value string) string {
	if !p.integer {
		return p.check.Text(value)
	}
	for i := range len(value) {
		if c := value[i]; (c < '0' || c > '9') && (i > 0 || c != '-') {
			return "must be an integer"
		}
	}
	// What is too long for a number is judged as the number next to it.
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return "must be an integer"
	}
	return p.check.Integer(n)
}

func findParam(declared []queryParam, name string) *queryParam {
	for i := range declared {
		if declared[i].name == name {
			return &declared[i]
		}
	}
	return nil
}

// unescape decodes a part of a query strictly: every % starts a byte, and the bytes are UTF-8. A
// plus is a space, as forms write it.
func unescape(raw string) (string, bool) {
	if strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 {
		return raw, true
	}
	out := make([]byte, 0, len(raw))
	for at := 0; at < len(raw); at++ {
		switch c := raw[at]; c {
		case '+':
			out = append(out, ' ')
		case '%':
			if at+2 >= len(raw) || !isHex(raw[at+1]) || !isHex(raw[at+2]) {
				return "", false
			}
			out = append(out, hexValue(raw[at+1])<<4|hexValue(raw[at+2]))
			at += 2
		default:
			out = append(out, c)
		}
	}
	return string(out), utf8.Valid(out)
}

func isHex(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'f'
}

func hexValue(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return (c | 0x20) - 'a' + 10
}

// printable is a name as an answer may repeat it.
func printable(name string) string {
	const nameMax = 100
	if len(name) > nameMax {
		name = name[:nameMax]
	}
	return strings.ToValidUTF8(name, "")
}
