package api

import (
	"github.com/go-json-experiment/json"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/work/path"
)

// The refused request with its faults corrected. A correction is tried and kept if the request then
// has fewer faults, so a repaired request is valid. Small bodies alone are repaired: a large one
// would cost its sender more than the correction is worth.

const (
	// repairBytes is the largest body that is repaired, repairRounds how many faults are.
	repairBytes  = 4 << 10
	repairRounds = 4
)

// repairs are the codes of faults that can be corrected without the caller.
var repairs = map[fault.Code]bool{
	fault.ValidationFailed: true, fault.InvalidPath: true, fault.IdempotencyKeyRequired: true,
	fault.IdempotencyKeyInvalid: true, fault.IdempotencyKeyReused: true,
	fault.PaginationLimitInvalid: true, fault.PaginationCursorInvalid: true,
	fault.ReusePolicyRequired: true, fault.InvalidLicense: true,
	fault.UnsupportedContentType: true,
}

// given is a request that is being repaired: path parameters as they are, not encoded.
type given struct {
	path, query map[string]string
	body        map[string]any
	key         string
}

func (g *given) clone() *given {
	out := &given{path: maps.Clone(g.path), query: maps.Clone(g.query), key: g.key}
	if g.body != nil {
		var copied map[string]any
		if err := json.Unmarshal(jsonOf(g.body), &copied); err != nil {
			panic("api: " + err.Error())
		}
		out.body = copied
	}
	return out
}

// given returns the refused request, nil if it cannot be repaired.
func (s *situation) given() *given {
	op := s.call.Operation
	if s.sent == nil || len(s.sent.Body) > repairBytes {
		return nil
	}
	g := &given{path: map[string]string{}, query: map[string]string{}, key: s.sent.Key}
	maps.Copy(g.query, s.sent.Query)
	for at, one := range op.pathParams() {
		if at >= len(s.call.Params) || s.call.Params[at] == "" {
			continue
		}
		text, err := url.PathUnescape(s.call.Params[at])
		if err != nil {
			return nil
		}
		g.path[one.Name] = text
	}
	if op.Method != "GET" && len(strings.TrimSpace(string(s.sent.Body))) > 0 {
		if json.Unmarshal(s.sent.Body, &g.body) != nil || g.body == nil {
			return nil
		}
	}
	return g
}

// next is the call of a request.
func (s *situation) next(g *given) *NextCall {
	return &NextCall{
		StepCall: StepCall{Operation: s.call.Operation, Params: g.path},
		Query:    g.query, Body: g.body, Key: g.key,
	}
}

// repaired returns the refused request without its faults, nil if not all can be corrected.
func (s *situation) repaired() *NextCall {
	// A body that is not JSON has no members to correct.
	if !repairs[s.refusal.Code] || s.call.Operation.RawMedia != nil {
		return nil
	}
	g := s.given()
	if g == nil {
		return nil
	}
	if s.refusal.Code == fault.IdempotencyKeyReused {
		g.key = s.call.RequestID
		return s.next(g)
	}
	faults := s.refusal.Fields()
	found := s.problems(g)
	faults = append(slices.Clone(faults), fault.Unreported(faults, found)...)
	for range repairRounds {
		if len(faults) == 0 {
			return s.next(g)
		}
		if g, faults = s.correct(g, faults); g == nil {
			return nil
		}
	}
	if len(faults) > 0 {
		return nil
	}
	return s.next(g)
}

// correct corrects one fault and returns the faults that are left. It returns nil if none can be
// corrected.
func (s *situation) correct(g *given, faults []fault.Field) (*given, []fault.Field) {
	for at, one := range faults {
		rest := slices.Delete(slices.Clone(faults), at, at+1)
		for _, try := range s.corrections(g, one) {
			left := s.problems(try)
			if len(fault.Unreported(rest, left)) == 0 {
				// A member with a wrong name was missing under its right one. Other faults that are not
				// found here are found by the handler.
				return try, slices.DeleteFunc(rest, func(other fault.Field) bool {
					return other.Problem == "is required" && !fault.Within(left, other.Field)
				})
			}
		}
	}
	return nil, nil
}

// problems returns the faults in the form of a request.
func (s *situation) problems(g *given) []fault.Field {
	op, call := s.call.Operation, *s.call
	call.Query, call.Params = g.query, nil
	for _, one := range op.pathParams() {
		call.Params = append(call.Params, escapePath(g.path[one.Name]))
	}
	faults := []error{op.queryProblems(g.query)}
	if op.Idempotency == KeyRequired && g.key == "" {
		faults = append(faults, fault.New(fault.IdempotencyKeyRequired, "is required"))
	}
	for _, one := range op.pathParams() {
		if g.path[one.Name] == "" {
			return []fault.Field{{Field: one.Name, Problem: "is required"}}
		}
	}
	request := op.NewRequest()
	if op.Method != "GET" && (g.body != nil || !op.BodyOptional) {
		text := []byte("{}")
		if g.body != nil {
			text = jsonOf(g.body)
		}
		faults = append(faults, jsonschema.Decode(text, request))
	}
	joined := fault.Together(append(faults, op.Validate(&call, request)...)...)
	if joined == nil {
		return nil
	}
	if refusal, ok := joined.(*fault.Error); ok {
		return refusal.Fields()
	}
	return []fault.Field{{Problem: joined.Error()}}
}

// queryProblems checks a query against the declaration.
func (o *Operation) queryProblems(query map[string]string) error {
	var fields []fault.Field
	for _, name := range slices.Sorted(maps.Keys(query)) {
		at := slices.IndexFunc(o.Query, func(one Param) bool { return one.Name == name })
		if at < 0 {
			fields = append(fields, fault.Field{Field: name, Problem: "is not a parameter"})
			continue
		}
		check, problem := jsonschema.CompileCheck(o.Query[at].Check), ""
		if number, err := strconv.ParseInt(query[name], 10, 64); !o.Query[at].Integer {
			problem = check.Text(query[name])
		} else if problem = check.Integer(number); err != nil {
			problem = "must be an integer"
		}
		if problem != "" {
			fields = append(fields, fault.Field{Field: name, Problem: problem})
		}
	}
	if fields == nil {
		return nil
	}
	return fault.Invalid(fields...)
}

// corrections returns the request with possible corrections of a fault, the likeliest first.
func (s *situation) corrections(g *given, one fault.Field) (tries []*given) {
	try := func(change func(g *given)) {
		next := g.clone()
		change(next)
		tries = append(tries, next)
	}
	op := s.call.Operation
	_, inPath := g.path[one.Field]
	text, inQuery := g.query[one.Field]
	param := slices.IndexFunc(op.Query, func(p Param) bool { return p.Name == one.Field })
	switch {
	case one.Field == "Idempotency-Key":
		try(func(g *given) { g.key = s.call.RequestID })
	case inQuery && param < 0:
		if name := op.likely(one.Field, g); name != "" {
			try(func(g *given) {
				delete(g.query, one.Field)
				g.put(op, name, text)
			})
		}
	case inQuery && one.Field == "cursor":
		try(func(g *given) { delete(g.query, one.Field) })
	case inQuery:
		for _, value := range op.Query[param].likely(text) {
			try(func(g *given) { g.query[one.Field] = value })
		}
	case inPath && (one.Field != "path" || g.body["path"] == nil):
		if clean := cleanPath(g.path[one.Field]); clean != "" {
			try(func(g *given) { g.path[one.Field] = clean })
		}
	default:
		for _, change := range op.bodyCorrections(g, one) {
			try(change)
		}
	}
	return tries
}

// put sets a parameter of path or query, or a member of the body, by its name.
func (g *given) put(op *Operation, name string, value any) {
	text, isText := value.(string)
	inPath := func(p pathParam) bool { return p.Name == name }
	inQuery := func(p Param) bool { return p.Name == name }
	switch {
	case isText && slices.ContainsFunc(op.pathParams(), inPath):
		g.path[name] = text
		return
	case isText && slices.ContainsFunc(op.Query, inQuery):
		g.query[name] = text
		return
	}
	if g.body == nil {
		g.body = map[string]any{}
	}
	g.body[name] = value
}

// likely returns the name that was meant by an unknown one, empty if there is none.
func (o *Operation) likely(unknown string, g *given) string {
	var names []string
	for _, one := range o.pathParams() {
		if g.path[one.Name] == "" {
			names = append(names, one.Name)
		}
	}
	for _, one := range o.Query {
		if _, set := g.query[one.Name]; !set {
			names = append(names, one.Name)
		}
	}
	for _, name := range o.bodyMembers() {
		if g.body[name] == nil {
			names = append(names, name)
		}
	}
	return likeliest(unknown, names)
}

// likely returns values that may have been meant by an invalid one.
func (p *Param) likely(text string) []string {
	var tries []string
	if p.Integer {
		low, high := jsonschema.CompileCheck(p.Check).Range()
		number, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			number = float64(p.Default)
		}
		return []string{strconv.FormatInt(min(max(int64(number), low), max(low, high)), 10)}
	}
	upper := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToUpper(text))
	tries = append(tries, upper, strings.ToLower(text), strings.TrimSpace(text))
	if p.Name == linesName {
		tries = append(tries, text+"-"+text)
	}
	if p.Check == booleanCheck {
		yes := slices.Contains([]string{"1", "yes", "on"}, strings.ToLower(text))
		tries = append(tries, strconv.FormatBool(yes))
	}
	return tries
}

// cleanPath returns the canonical path that a text means, empty if it is one already or means none.
func cleanPath(text string) string {
	clean := strings.ReplaceAll(text, `\`, "/")
	var kept []string
	for segment := range strings.SplitSeq(clean, "/") {
		if segment != "" && segment != "." {
			kept = append(kept, segment)
		}
	}
	clean = strings.Join(kept, "/")
	if clean == text || path.Problem(clean) != "" {
		return ""
	}
	return clean
}
