package http

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
)

// The scopes of a limit: the owners of its buckets.
const (
	// ScopeIP limits count by address. Without a category they are for anonymous callers only,
	// because many agents may share an address. With one they are for all callers.
	ScopeIP = "IP"
	// ScopeAgent and ScopeSession limits count authenticated callers.
	ScopeAgent   = "AGENT"
	ScopeSession = "SESSION"
	// ScopeCategory limits count by agent, or by the address of an anonymous caller.
	ScopeCategory = "ENDPOINT_CATEGORY"
)

// DefaultLimits are the limits of a deployment that configures none.
func DefaultLimits() []api.RateLimit {
	limits := []api.RateLimit{
		{Name: "anonymous", Scope: ScopeIP, Quota: 600, WindowSeconds: 60},
		{
			Name: "registration", Scope: ScopeIP, Category: api.CategoryRegistration,
			Quota: 60, WindowSeconds: 3600,
		},
		{
			Name: "registration-start", Scope: ScopeIP, Category: api.CategoryRegistrationStart,
			Quota: 600, WindowSeconds: 3600,
		},
		{
			Name: "agent-read", Scope: ScopeAgent, Category: api.CategoryRead,
			Quota: 6000, WindowSeconds: 60,
		},
		{
			Name: "agent-write", Scope: ScopeAgent, Category: api.CategoryWrite,
			Quota: 1200, WindowSeconds: 60,
		},
		{
			Name: "creation", Scope: ScopeAgent, Category: api.CategoryCreation,
			Quota: 600, WindowSeconds: 3600,
		},
		{Name: "session", Scope: ScopeSession, Quota: 7200, WindowSeconds: 60},
		{
			Name: "search", Scope: ScopeCategory, Category: api.CategorySearch,
			Quota: 300, WindowSeconds: 60,
		},
		{
			Name: "report", Scope: ScopeCategory, Category: api.CategoryReport,
			Quota: 60, WindowSeconds: 3600,
		},
		{
			Name: "report-address", Scope: ScopeIP, Category: api.CategoryReport,
			Quota: 300, WindowSeconds: 3600,
		},
		{
			Name: "processor", Scope: ScopeAgent, Category: api.CategoryExpensive,
			Unit: api.UnitProcessor, Quota: 30, WindowSeconds: 60,
		},
		{
			Name: "processor-anonymous", Scope: ScopeIP,
			Unit: api.UnitProcessor, Quota: 10, WindowSeconds: 60,
		},
		{
			Name: "processor-network", Scope: ScopeIP, Category: api.CategoryExpensive,
			Unit: api.UnitProcessor, Quota: 60, WindowSeconds: 60,
		},
		{
			Name: "page", Scope: ScopeCategory, Category: api.CategoryPage,
			Quota: 300, WindowSeconds: 60,
		},
	}
	for i := range limits {
		if limits[i].Unit == "" {
			limits[i].Unit = api.UnitRequests
		}
	}
	return limits
}

// limit is a definition with its buckets.
type limit struct {
	api.RateLimit
	buckets *buckets
	// wider are the buckets of widerNetworks; they are nil if the limit does not count requests of
	// addresses.
	wider [len(widerNetworks)]*buckets
}

// limiter holds the limits in force by what they apply to.
type limiter struct {
	// byCaller has the limits of each category for each kind of caller.
	byCaller map[api.Category]*[2]limitSet
	// all has each limit of a kind of caller once.
	all [2][]*limit
	// spent are the limits of processor time of a kind of caller, which are charged AFTER an
	// expensive operation.
	spent [2][]*limit
	// unrouted are the limits of requests that reach no operation.
	unrouted limitSet
	// cells is the number of cells of all limits.
	cells int
}

// limitSet is the limits of one kind of request, with the value of RateLimit-Policy: policy, and
// expensive for expensive operations.
type limitSet struct {
	limits            []*limit
	policy, expensive []byte
}

const (
	anonymousCaller = iota
	authenticatedCaller
)

var categories = []api.Category{
	api.CategoryRead, api.CategoryWrite, api.CategoryRegistration,
	api.CategoryRegistrationStart, api.CategoryCreation, api.CategorySearch, api.CategoryReport,
	api.CategoryPage, api.CategorySecurity,
}

func newLimiter(definitions []api.RateLimit, keys int) (*limiter, error) {
	l := &limiter{byCaller: map[api.Category]*[2]limitSet{}}
	for _, category := range categories {
		l.byCaller[category] = &[2]limitSet{}
	}
	for _, one := range definitions {
		if one.Name == "" || one.Quota < 1 || one.WindowSeconds < 1 || one.WindowSeconds > 1<<30 {
			return nil, fmt.Errorf("rate limit %q: quota and window must be positive", one.Name)
		}
		switch one.Scope {
		case ScopeIP, ScopeAgent, ScopeSession, ScopeCategory:
		default:
			return nil, fmt.Errorf("rate limit %q: unknown scope %q", one.Name, one.Scope)
		}
		if one.Unit == "" {
			one.Unit = api.UnitRequests
		}
		if one.Unit != api.UnitRequests && one.Unit != api.UnitProcessor {
			return nil, fmt.Errorf("rate limit %q: unknown unit %q", one.Name, one.Unit)
		}
		if !l.knows(one.Category, one.Unit) {
			return nil, fmt.Errorf("rate limit %q: unknown category %q", one.Name, one.Category)
		}
		l.add(bucketsOf(one, keys))
	}
	for _, ofCategory := range l.byCaller {
		for kind := range ofCategory {
			ofCategory[kind].addExpensive(l.spent[kind])
		}
	}
	return l, nil
}

// knows reports whether a limit of a unit may have a category. Processor time is counted for
// expensive operations of all categories.
func (l *limiter) knows(category api.Category, unit string) bool {
	if category == "" || unit == api.UnitProcessor {
		return category == "" || category == api.CategoryExpensive
	}
	return l.byCaller[category] != nil
}

func (l *limiter) add(one *limit) {
	l.cells += len(one.buckets.cells)
	for _, wider := range one.wider {
		if wider != nil {
			l.cells += len(wider.cells)
		}
	}
	requests := one.Unit == api.UnitRequests
	if one.Scope == ScopeIP && one.Category == "" && requests {
		l.unrouted.add(one)
	}
	ofCaller := [2]bool{
		anonymousCaller:     one.Scope != ScopeAgent && one.Scope != ScopeSession,
		authenticatedCaller: one.Scope != ScopeIP || one.Category != "",
	}
	for caller, applies := range ofCaller {
		if !applies {
			continue
		}
		l.all[caller] = append(l.all[caller], one)
		if !requests {
			l.spent[caller] = append(l.spent[caller], one)
			continue
		}
		for _, category := range categories {
			if covers(one.Category, category) {
				l.byCaller[category][caller].add(one)
			}
		}
	}
}

func (a *limitSet) add(one *limit) {
	a.limits = append(a.limits, one)
	a.policy = appendPolicy(a.policy, one)
}

// addExpensive adds the limits of processor time to the policy for expensive operations.
func (a *limitSet) addExpensive(spent []*limit) {
	a.expensive = slices.Clone(a.policy)
	for _, one := range spent {
		a.expensive = append(appendPolicy(a.expensive, one), `;qu="processor-seconds"`...)
	}
}

func appendPolicy(policy []byte, one *limit) []byte {
	if len(policy) > 0 {
		policy = append(policy, ", "...)
	}
	return fmt.Appendf(policy, "%q;q=%d;w=%d", one.Name, one.Quota, one.WindowSeconds)
}

// policyOf is the policy for an operation, which may be nil.
func (a *limitSet) policyOf(op *api.Operation) []byte {
	if op != nil && op.Expensive {
		return a.expensive
	}
	return a.policy
}

// covers reports whether a limit of one category counts requests of another. Searches are reads;
// creations, registrations and reports are writes.
func covers(of, category api.Category) bool {
	switch category {
	case api.CategorySearch:
		return of == "" || of == category || of == api.CategoryRead
	case api.CategoryCreation, api.CategoryRegistration, api.CategoryRegistrationStart,
		api.CategoryReport:
		return of == "" || of == category || of == api.CategoryWrite
	case api.CategoryRead, api.CategoryWrite, api.CategoryPage, api.CategorySecurity:
	}
	return of == "" || of == category
}

// rateState is what the headers of a response say about rate limits: the limit with the fewest
// requests left, and all limits as a policy.
type rateState struct {
	tightest *limit
	policy   []byte
	level    level
}

func (s *rateState) note(one *limit, now level) {
	if s.tightest == nil || now.remaining < s.level.remaining {
		s.tightest, s.level = one, now
	}
}

// caller is the party that limits count. Agent and session are zero for anonymous callers.
type caller struct {
	ip             netip.Addr
	agent, session id.ID
}

func (x *exchange) caller() caller {
	return caller{ip: x.ip, agent: x.call.Agent, session: x.sessionID}
}

// kind is the index of the caller's limits.
func (c *caller) kind() int {
	if c.agent.IsZero() {
		return anonymousCaller
	}
	return authenticatedCaller
}

// key is the caller's bucket in a limit. Addresses of IPv6 count by their /64, which is what one
// customer has; places adds wider networks. Processor time of all callers counts by the /48, which
// is what one can get.
func (c *caller) key(one *limit) uint64 {
	switch {
	case one.Scope == ScopeSession:
		return one.buckets.keyOf(c.session[:])
	case one.Scope == ScopeAgent || one.Scope == ScopeCategory && !c.agent.IsZero():
		return one.buckets.keyOf(c.agent[:])
	}
	address := addressKey(c.ip)
	if one.Unit == api.UnitProcessor && one.Category != "" {
		address = networkKey(c.ip)
	}
	return one.buckets.keyOf(address[:])
}

// count counts a request against the limits of its caller and keeps the state for the headers.
// Errors: RATE_LIMITED.
func (s *Server) count(x *exchange) error {
	op, who := x.operation(), x.caller()
	of := s.limiter.of(op, &who)
	if op != nil && op.Category == api.CategoryProbe {
		x.rates = of.peek(&who, x.call.Now)
		return nil
	}
	var err error
	x.rates, err = of.take(&who, x.call.Now)
	x.rates.policy = of.policyOf(op)
	x.overLimit = err != nil
	x.unused = err == nil && op != nil && op.Category == api.CategoryCreation
	return err
}

// giveBack returns what a request took of the limits for creations, because it was refused or had
// the answer of an earlier one. It still counts as a write.
func (s *Server) giveBack(x *exchange) {
	who := x.caller()
	for _, one := range s.limiter.of(x.operation(), &who).limits {
		if one.Category == api.CategoryCreation {
			one.giveBack(&who, x.call.Now*1e6)
		}
	}
}

// countUnrouted counts a request that reaches no operation. Errors: RATE_LIMITED.
func (s *Server) countUnrouted(x *exchange) error {
	who := x.caller()
	var err error
	x.rates, err = s.limiter.unrouted.take(&who, x.call.Now)
	x.overLimit = err != nil
	return err
}

// exhausted refuses a request that reaches no operation if its caller has used up a limit. It does
// not count the request. Errors: RATE_LIMITED.
func (s *Server) exhausted(x *exchange) error {
	who := x.caller()
	if now := s.limiter.unrouted.peek(&who, x.call.Now); now.tightest != nil &&
		now.level.remaining == 0 {
		x.rates, x.overLimit = now, true
		return limitFault(now.tightest, now.level, x.call.Now)
	}
	return nil
}

// take counts a request of a caller at a time in Unix milliseconds. A refused request counts
// against no limit. Errors: RATE_LIMITED.
func (a *limitSet) take(who *caller, millis int64) (rateState, error) {
	now := millis * 1e6
	state := rateState{policy: a.policy}
	for i, one := range a.limits {
		after, ok := one.take(who, now)
		if !ok {
			for _, taken := range a.limits[:i] {
				taken.giveBack(who, now)
			}
			state.tightest, state.level = one, after
			return state, limitFault(one, after, millis)
		}
		state.note(one, after)
	}
	return state, nil
}

// peek is the state of a caller's limits without a request.
func (a *limitSet) peek(who *caller, millis int64) rateState {
	state := rateState{policy: a.policy}
	for _, one := range a.limits {
		state.note(one, one.peek(who, millis*1e6))
	}
	return state
}

// of is the set of limits of an operation for a caller. The operation may be nil.
func (l *limiter) of(op *api.Operation, who *caller) *limitSet {
	if op == nil {
		return &l.unrouted
	}
	category := op.Category
	if category == api.CategoryProbe {
		// The headers of a probe say what is left for reads.
		category = api.CategoryRead
	}
	kinds := l.byCaller[category]
	if kinds == nil {
		return &l.unrouted
	}
	return &kinds[who.kind()]
}

func ceilSeconds(nanos int64) int64 { return (nanos + 1e9 - 1) / 1e9 }

// limitFault returns the error of a limit. Errors: RATE_LIMITED.
func limitFault(one *limit, now level, millis int64) error {
	retry := max(1, ceilSeconds(now.retry))
	reset := millis + ceilSeconds(now.reset)*1000
	return fault.New(fault.RateLimited, "The rate limit "+one.Name+" is used up.").
		With("limit", now.limit).
		With("remaining", now.remaining).
		With("reset_at", jsonschema.TimeText(reset)).
		With("reason", strings.ToUpper(strings.ReplaceAll(one.Name, "-", "_"))).
		With("recommended_retry_at", jsonschema.TimeText(millis+retry*1000)).
		With("retry_after_seconds", retry)
}

var (
	headerLimit     = []byte("RateLimit-Limit")
	headerRemaining = []byte("RateLimit-Remaining")
	headerReset     = []byte("RateLimit-Reset")
	headerPolicy    = []byte("RateLimit-Policy")
)

// writeRates sets the RateLimit headers, unless no limits are in force. A request that was not
// counted has those of its caller.
func (s *Server) writeRates(x *exchange) {
	rates := &x.rates
	if rates.tightest == nil {
		who := x.caller()
		of := s.limiter.of(x.operation(), &who)
		*rates = of.peek(&who, x.call.Now)
		rates.policy = of.policyOf(x.operation())
	}
	if rates.tightest == nil {
		return
	}
	h, scratch := &x.ctx.Response.Header, x.scratch[:0]
	h.SetCanonical(headerLimit, strconv.AppendInt(scratch, rates.level.limit, 10))
	h.SetCanonical(headerRemaining, strconv.AppendInt(scratch, rates.level.remaining, 10))
	h.SetCanonical(headerReset, strconv.AppendInt(scratch, ceilSeconds(rates.level.reset), 10))
	h.SetCanonical(headerPolicy, rates.policy)
}
