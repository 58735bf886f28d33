package http

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"github.com/valyala/fasthttp"

	"pws/api"
	"pws/api/shape"
	"pws/internal/fault"
	"pws/internal/id"
)

// The scopes of a limit: whom its buckets belong to.
const (
	// ScopeIP limits belong to an address. Without a category they are for anonymous callers only,
	// since an address may be that of many agents; with one they are for all.
	ScopeIP = "IP"
	// ScopeAgent and ScopeSession limits are for authenticated callers.
	ScopeAgent   = "AGENT"
	ScopeSession = "SESSION"
	// ScopeCategory limits belong to the agent, or to the address of an anonymous caller.
	ScopeCategory = "ENDPOINT_CATEGORY"
)

// DefaultLimits are the limits of a deployment that sets none.
func DefaultLimits() []api.RateLimit {
	return []api.RateLimit{
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
	}
}

// limit is a definition with its buckets.
type limit struct {
	api.RateLimit
	buckets *buckets
}

// limiter holds the limits in force, by what they apply to.
type limiter struct {
	// byCaller has the limits of each category and kind of caller.
	byCaller map[api.Category]*[2]applied
	// all has every limit of a kind of caller once.
	all [2][]*limit
	// unrouted are the limits of requests that reach no operation.
	unrouted applied
}

// applied are the limits of one kind of request and what RateLimit-Policy says of them.
type applied struct {
	limits []*limit
	policy []byte
}

const (
	anonymousCaller = iota
	authenticatedCaller
)

var categories = []api.Category{
	api.CategoryRead, api.CategoryWrite, api.CategoryRegistration,
	api.CategoryRegistrationStart, api.CategoryCreation, api.CategorySearch, api.CategoryReport,
}

func newLimiter(definitions []api.RateLimit, keys int) (*limiter, error) {
	l := &limiter{byCaller: map[api.Category]*[2]applied{}}
	for _, category := range categories {
		l.byCaller[category] = &[2]applied{}
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
		if one.Category != "" && l.byCaller[one.Category] == nil {
			return nil, fmt.Errorf("rate limit %q: unknown category %q", one.Name, one.Category)
		}
		l.place(&limit{RateLimit: one, buckets: newBuckets(one.Quota, one.WindowSeconds, keys)})
	}
	return l, nil
}

func (l *limiter) place(one *limit) {
	if one.Scope == ScopeIP && one.Category == "" {
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
		for _, category := range categories {
			if covers(one.Category, category) {
				l.byCaller[category][caller].add(one)
			}
		}
	}
}

func (a *applied) add(one *limit) {
	a.limits = append(a.limits, one)
	if len(a.policy) > 0 {
		a.policy = append(a.policy, ", "...)
	}
	a.policy = fmt.Appendf(a.policy, "%q;q=%d;w=%d", one.Name, one.Quota, one.WindowSeconds)
}

// covers reports whether a limit of one category counts requests of another: searches are reads,
// and creations, registrations and reports are writes.
func covers(of, category api.Category) bool {
	switch category {
	case api.CategorySearch:
		return of == "" || of == category || of == api.CategoryRead
	case api.CategoryCreation, api.CategoryRegistration, api.CategoryRegistrationStart,
		api.CategoryReport:
		return of == "" || of == category || of == api.CategoryWrite
	case api.CategoryRead, api.CategoryWrite:
	}
	return of == "" || of == category
}

// standing is what the headers of a response say of the limits.
type standing struct {
	tightest *limit
	policy   []byte
	level    level
}

// charge counts a request against all limits of its caller. The tightest one is kept for the
// headers. A refused request takes nothing. Errors: RATE_LIMITED.
func (l *limiter) charge(x *exchange, of *applied) error {
	if x.probes() {
		l.peek(x, of)
		return nil
	}
	now := x.call.Now * 1e6
	x.standing = standing{policy: of.policy}
	for at, one := range of.limits {
		key := x.bucketKey(one)
		after, ok := one.buckets.take(key, now)
		if !ok {
			for _, taken := range of.limits[:at] {
				taken.buckets.giveBack(x.bucketKey(taken), now)
			}
			x.standing.tightest, x.standing.level = one, after
			return limitFault(one, after, x.call.Now)
		}
		x.standing.note(one, after)
	}
	return nil
}

// room refuses a request whose caller has used up a limit, without counting it. Errors:
// RATE_LIMITED.
func (l *limiter) room(x *exchange, of *applied) error {
	if x.probes() {
		return nil
	}
	for _, one := range of.limits {
		if now := one.buckets.peek(x.bucketKey(one), x.call.Now*1e6); now.remaining == 0 {
			x.standing = standing{tightest: one, policy: of.policy, level: now}
			return limitFault(one, now, x.call.Now)
		}
	}
	return nil
}

// probes says that a request counts against no limit.
func (x *exchange) probes() bool {
	return x.route != nil && x.route.operation.Category == api.CategoryProbe
}

// peek fills the headers of a response that is not counted.
func (l *limiter) peek(x *exchange, of *applied) {
	x.standing = standing{policy: of.policy}
	for _, one := range of.limits {
		x.standing.note(one, one.buckets.peek(x.bucketKey(one), x.call.Now*1e6))
	}
}

func (s *standing) note(one *limit, now level) {
	if s.tightest == nil || now.remaining < s.level.remaining {
		s.tightest, s.level = one, now
	}
}

// of are the limits of a call.
func (l *limiter) of(x *exchange) *applied {
	if x.route == nil {
		return &l.unrouted
	}
	caller := anonymousCaller
	if !x.call.Agent.IsZero() {
		caller = authenticatedCaller
	}
	category := x.route.operation.Category
	if category == api.CategoryProbe {
		// Its headers say what is left for reads.
		category = api.CategoryRead
	}
	kinds := l.byCaller[category]
	if kinds == nil {
		return &l.unrouted
	}
	return &kinds[caller]
}

// bucketKey is whom a limit counts a request for. Addresses of IPv6 count by their /64, which is
// what one customer has.
func (x *exchange) bucketKey(one *limit) uint64 {
	switch {
	case one.Scope == ScopeSession:
		return one.buckets.keyOf(x.sessionID[:])
	case one.Scope == ScopeAgent || one.Scope == ScopeCategory && !x.call.Agent.IsZero():
		return one.buckets.keyOf(x.call.Agent[:])
	}
	address := addressKey(x.ip)
	return one.buckets.keyOf(address[:])
}

func addressKey(ip netip.Addr) id.ID {
	key := id.ID(ip.As16())
	if ip.Is6() && !ip.Is4In6() {
		clear(key[8:])
	}
	return key
}

func ceilSeconds(nanos int64) int64 { return (nanos + 1e9 - 1) / 1e9 }

// limitFault is the refusal by a limit. Errors: RATE_LIMITED.
func limitFault(one *limit, now level, millis int64) error {
	retry := max(1, ceilSeconds(now.retry))
	reset := millis + ceilSeconds(now.reset)*1000
	return fault.New(fault.RateLimited, "The rate limit "+one.Name+" is used up.").
		With("limit", one.Quota).
		With("remaining", now.remaining).
		With("reset_at", timeText(reset)).
		With("reason", strings.ToUpper(strings.ReplaceAll(one.Name, "-", "_"))).
		With("recommended_retry_at", timeText(millis+retry*1000)).
		With("retry_after_seconds", retry)
}

func timeText(millis int64) string { return string(shape.AppendTimeText(nil, millis)) }

var (
	headerLimit     = []byte("RateLimit-Limit")
	headerRemaining = []byte("RateLimit-Remaining")
	headerReset     = []byte("RateLimit-Reset")
	headerPolicy    = []byte("RateLimit-Policy")
)

// writeTo sets the RateLimit headers, unless no limits are in force.
func (s *standing) writeTo(h *fasthttp.ResponseHeader, scratch []byte) {
	if s.tightest == nil {
		return
	}
	h.SetCanonical(headerLimit, strconv.AppendInt(scratch[:0], s.tightest.buckets.quota, 10))
	h.SetCanonical(headerRemaining, strconv.AppendInt(scratch[:0], s.level.remaining, 10))
	h.SetCanonical(headerReset, strconv.AppendInt(scratch[:0], ceilSeconds(s.level.reset), 10))
	h.SetCanonical(headerPolicy, s.policy)
}
