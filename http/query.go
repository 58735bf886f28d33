package http

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// queryParam is a declared query parameter with its compiled check.
type queryParam struct {
	name    string
	integer bool
	// raw values may be any bytes; the operation checks them.
	raw   bool
	check *jsonschema.Check
}

// limitParam is the page size of every list. A bad one has an error code of its own.
const limitParam = "limit"

func (p *queryParam) isLimit() bool { return p.integer && p.name == limitParam }

// queryReader collects the values of declared query parameters and what is wrong with them.
type queryReader struct {
	declared []queryParam
	values   map[string]string
	faults   []fault.Field
	// badLimit is the parameter limit if its value is invalid.
	badLimit *queryParam
}

// readQuery reads a query into the call. All faults are named at once. Errors: VALIDATION_FAILED,
// PAGINATION_LIMIT_INVALID.
func (x *exchange) readQuery(declared []queryParam, query string) error {
	if query == "" && !anyRequired(declared) {
		return nil
	}
	r := queryReader{declared: declared, values: x.params}
	for rest := query; rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "&")
		if pair != "" {
			r.readPair(pair)
		}
	}
	return x.setQuery(&r)
}

func anyRequired(declared []queryParam) bool {
	for i := range declared {
		if declared[i].check.Required() {
			return true
		}
	}
	return false
}

// setQuery checks what was read and gives it to the call. Errors: VALIDATION_FAILED,
// PAGINATION_LIMIT_INVALID.
func (x *exchange) setQuery(r *queryReader) error {
	r.check()
	x.params, x.call.Query = r.values, r.values
	return r.fault()
}

// readPair reads one name with its value.
func (r *queryReader) readPair(pair string) {
	rawName, rawValue, _ := strings.Cut(pair, "=")
	name, nameOK := unescape(rawName)
	value, valueOK := unescape(rawValue)
	_, twice := r.values[name]
	param := findParam(r.declared, name)
	switch {
	case !nameOK || param == nil:
		r.note(printable(name), "is not a parameter of this operation")
	case !valueOK && (value == "" || !param.raw && !param.isLimit()):
		r.note(name, "must be percent-encoded UTF-8")
	case twice:
		r.note(name, "must be sent once")
	default:
		r.set(name, value)
	}
}

// note adds a fault, one for each name.
func (r *queryReader) note(name, problem string) {
	const faultsMax = 20
	known := func(one fault.Field) bool { return one.Field == name }
	if len(r.faults) < faultsMax && !slices.ContainsFunc(r.faults, known) {
		r.faults = append(r.faults, fault.Field{Field: name, Problem: problem})
	}
}

func (r *queryReader) set(name, value string) {
	if r.values == nil {
		r.values = make(map[string]string, 4)
	}
	r.values[name] = value
}

// check checks the values that were sent and finds what is missing.
func (r *queryReader) check() {
	for i := range r.declared {
		one := &r.declared[i]
		value, sent := r.values[one.name]
		if !sent {
			if one.check.Required() {
				r.note(one.name, "is required")
			}
			continue
		}
		problem := one.problem(value)
		if problem != "" && one.isLimit() {
			r.badLimit = one
		} else if problem != "" {
			r.note(one.name, problem)
		}
	}
}

// fault returns the error of the parameters, nil if they are valid. Errors: VALIDATION_FAILED,
// PAGINATION_LIMIT_INVALID.
func (r *queryReader) fault() error {
	var invalid, limit error
	if len(r.faults) > 0 {
		invalid = fault.Invalid(r.faults...)
	}
	if r.badLimit != nil {
		low, high := r.badLimit.check.Range()
		limit = fault.New(fault.PaginationLimitInvalid,
			fmt.Sprintf("The limit must be an integer from %d to %d.", low, high)).
			With("minimum", low).With("maximum", high)
	}
	return fault.Together(invalid, limit)
}

// problem describes why a value is invalid; empty if it is valid.
func (p *queryParam) problem(value string) string {
	if p.raw {
		return ""
	}
	if !p.integer {
		return p.check.Text(value)
	}
	for i := range len(value) {
		if c := value[i]; (c < '0' || c > '9') && (i > 0 || c != '-') {
			return "must be an integer"
		}
	}
	// What is too long for an integer is checked as the nearest one.
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

// unescape decodes a part of a query. It reports whether every % is followed by two hexadecimal
// digits and the result is UTF-8. A plus is a space, as in forms.
func unescape(raw string) (string, bool) {
	if strings.IndexByte(raw, '%') < 0 && strings.IndexByte(raw, '+') < 0 {
		return raw, true
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; c {
		case '+':
			out = append(out, ' ')
		case '%':
			if i+2 >= len(raw) || !isHex(raw[i+1]) || !isHex(raw[i+2]) {
				return "", false
			}
			out = append(out, hexValue(raw[i+1])<<4|hexValue(raw[i+2]))
			i += 2
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

// printable is a name that an answer can repeat: at most 100 bytes, valid UTF-8.
func printable(name string) string {
	const nameMax = 100
	if len(name) > nameMax {
		name = name[:nameMax]
	}
	return strings.ToValidUTF8(name, "")
}
