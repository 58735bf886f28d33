package api

import (
	"github.com/go-json-experiment/json"
	"maps"
	"math"
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
	// tool says that it is the call of a tool, which takes no HTTPOnly parameters.
	tool bool
}

func (g *given) clone() *given {
	out := &given{path: maps.Clone(g.path), query: maps.Clone(g.query), key: g.key, tool: g.tool}
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
	g := &given{
		path: map[string]string{}, query: map[string]string{}, key: s.sent.Key, tool: s.client.MCP,
	}
	maps.Copy(g.query, s.sent.Query)
	for i, one := range op.pathParams() {
		if i >= len(s.call.Params) || s.call.Params[i] == "" {
			continue
		}
		text, err := url.PathUnescape(s.call.Params[i])
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

// repaired returns the refused request without its faults, nil if not all can be corrected. A fault
// that the checks do not find would be gone after any change. It is corrected only if there is a
// safe value, as a list begins without a cursor, or if the request was written otherwise than the
// checks see it.
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
	faults, found := s.refusal.Fields(), s.problems(g)
	for _, unseen := range fault.Unreported(found, faults) {
		if defaults[unseen.Field] == nil && unseen.Field != "cursor" && !s.sent.Loose {
			return nil
		}
	}
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
	for i, one := range faults {
		rest := slices.Delete(slices.Clone(faults), i, i+1)
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
	faults := []error{g.queryProblems(op)}
	if op.Idempotency == KeyRequired && g.key == "" {
		faults = append(faults, fault.New(fault.IdempotencyKeyRequired, "is required"))
	}
	whole := true
	for _, one := range op.pathParams() {
		if g.path[one.Name] == "" {
			missing := fault.Field{Field: one.Name, Problem: "is required"}
			faults, whole = append(faults, fault.Invalid(missing)), false
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
	if whole {
		faults = append(faults, op.Validate(&call, request)...)
	}
	joined := fault.Together(faults...)
	if joined == nil {
		return nil
	}
	if refusal, ok := joined.(*fault.Error); ok {
		return refusal.Fields()
	}
	return []fault.Field{{Problem: joined.Error()}}
}

// param returns the parameter of the query with a name, nil if the request can have none.
func (g *given) param(op *Operation, name string) *Param {
	for i := range op.Query {
		if one := &op.Query[i]; one.Name == name && !(g.tool && one.HTTPOnly) {
			return one
		}
	}
	return nil
}

// queryProblems checks the query against the declaration.
func (g *given) queryProblems(op *Operation) error {
	var fields []fault.Field
	for _, name := range slices.Sorted(maps.Keys(g.query)) {
		param := g.param(op, name)
		if param == nil {
			fields = append(fields, fault.Field{Field: name, Problem: "is not a parameter"})
			continue
		}
		check, problem := jsonschema.CompileCheck(param.Check), ""
		if number, err := strconv.ParseInt(g.query[name], 10, 64); !param.Integer {
			problem = check.Text(g.query[name])
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
	param := g.param(op, one.Field)
	switch {
	case one.Field == "Idempotency-Key":
		try(func(g *given) { g.key = s.call.RequestID })
	case inQuery && param == nil && one.Field == linesName && g.param(op, fromLineName) != nil:
		if wanted, ok := parseLines(text); ok {
			try(func(g *given) { g.setLines(wanted) })
		}
	case inQuery && param == nil:
		if name := op.likely(one.Field, g); name != "" {
			try(func(g *given) {
				delete(g.query, one.Field)
				g.put(op, name, text)
			})
		}
	case inQuery && one.Field == "cursor":
		try(func(g *given) { delete(g.query, one.Field) })
	case inQuery:
		for _, value := range param.likely(text) {
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

// setLines asks for lines by the parameters that tools have, too.
func (g *given) setLines(wanted wantedLines) {
	delete(g.query, linesName)
	g.query[fromLineName] = strconv.Itoa(wanted.from)
	if wanted.to != math.MaxInt {
		g.query[toLineName] = strconv.Itoa(wanted.to)
	}
}

// put sets a parameter of path or query, or a member of the body, by its name.
func (g *given) put(op *Operation, name string, value any) {
	text, isText := value.(string)
	inPath := func(p pathParam) bool { return p.Name == name }
	switch {
	case isText && slices.ContainsFunc(op.pathParams(), inPath):
		g.path[name] = text
		return
	case isText && g.param(op, name) != nil:
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
		if _, set := g.query[one.Name]; !set && g.param(o, one.Name) != nil {
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
