package actors

import (
	"math"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/puzpuzpuz/xsync/v3"

	"pws/api"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/work"
)

// hourNanos is the window of the hourly quota.
const hourNanos = 3_600_000_000_000

// endingBytesMax bounds the requests that are accepted where a quota is used up, because they only
// end something (work.EndsOnly).
const endingBytesMax = 4 << 10

// accounts count what agents have stored in all projects. The sizes are those of log entries
// (datadir.Entry.StoredBytes), so an account is a function of the log, entry by entry. It has a
// section of its own, and a start skips the entries that the section contains.
type accounts struct {
	limits api.StoredLimits
	of     *xsync.MapOf[id.ID, *account]
	// total is what all agents have stored, with what is on its way to the log.
	total atomic.Int64
	dirty struct {
		sync.Mutex
		accounts []*account
	}
}

// account is what one agent has stored.
type account struct {
	agent id.ID
	mu    struct {
		sync.Mutex
		// bytes is durable; reserved is on its way to the log.
		bytes, reserved int64
		// uploads are the parts of uploads, which are reserved too.
		uploads int64
		// receivedUntil is when parts that were received do not count any more, in Unix nanoseconds.
		receivedUntil int64
		// emptyAt is when the hourly quota is unused again, in Unix nanoseconds: a bucket that drains
		// by hourLimit in an hour. That is the quota of the newest entry that was counted.
		emptyAt, hourLimit int64
		// position is the newest entry that is counted.
		position uint64
		// dirty means that the account waits for the next snapshot.
		dirty bool
	}
}

func newAccounts(limits api.StoredLimits) *accounts {
	return &accounts{limits: limits, of: xsync.NewMapOf[id.ID, *account]()}
}

// account returns the account of an agent.
func (a *accounts) account(agent id.ID) *account {
	if found, ok := a.of.Load(agent); ok {
		return found
	}
	found, _ := a.of.LoadOrStore(agent, &account{agent: agent})
	return found
}

// storing is what one entry adds to the account of its caller, from before its append until it is
// durable. The service itself has no account.
type storing struct {
	accounts *accounts
	account  *account
	bytes    int64
	// now is the time of the entry in Unix milliseconds.
	now int64
}

// reserve reserves what an entry stores BEFORE it is given to the log, so that requests that run at
// the same time do not exceed a quota together: QUOTA_EXCEEDED. It reserves without a check where
// limits is nil.
func (a *accounts) reserve(s *storing, agent id.ID, limits *api.StoredLimits) error {
	s.accounts, s.account = a, a.account(agent)
	total := a.total.Add(s.bytes)
	err := s.account.reserve(s, limits)
	if err == nil && limits != nil && limits.All > 0 && total > limits.All {
		err = work.ErrStored("stored_bytes", limits.All)
		s.account.change(func(of *account) { of.mu.reserved -= s.bytes })
	}
	if err != nil {
		a.total.Add(-s.bytes)
		s.account = nil
	}
	return err
}

func (a *account) change(do func(of *account)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	do(a)
}

func (a *account) reserve(s *storing, limits *api.StoredLimits) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if limits != nil {
		if limits.Agent > 0 && a.mu.bytes+a.mu.reserved+s.bytes > limits.Agent {
			return work.ErrStored("stored_bytes_of_agent", limits.Agent)
		}
		if err := a.checkHour(s, limits.AgentHour); err != nil {
			return err
		}
	}
	a.mu.reserved += s.bytes
	return nil
}

// checkHour checks the hourly quota: QUOTA_EXCEEDED.
func (a *account) checkHour(s *storing, limit int64) error {
	if limit == 0 {
		return nil
	}
	over := a.hourUsed(s.now) + a.mu.reserved + s.bytes - limit
	if over <= 0 {
		return nil
	}
	refusal := work.ErrStored("stored_bytes_of_agent_hour", limit)
	if s.bytes > limit {
		return refusal
	}
	drain := limit
	if a.mu.hourLimit > 0 {
		drain = a.mu.hourLimit
	}
	return refusal.With("retry_after_seconds", int(ratio(over, hourNanos, drain)/1_000_000_000)+1)
}

// hourUsed returns how much of the hourly quota is used at a time in Unix milliseconds.
func (a *account) hourUsed(now int64) int64 {
	return ratio(a.mu.emptyAt-now*1_000_000, a.mu.hourLimit, hourNanos)
}

// ratio returns a*b/c, 0 for a negative a.
func ratio(a, b, c int64) int64 {
	if a <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return math.MaxInt64
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return int64(min(quotient, math.MaxInt64))
}

// release gives back what was reserved for an entry that the log did not take.
func (s *storing) release() {
	if s.account == nil {
		return
	}
	s.accounts.total.Add(-s.bytes)
	s.account.change(func(of *account) { of.mu.reserved -= s.bytes })
}

// reservePart is reserve for a part of an upload.
func (a *accounts) reservePart(s *storing, agent id.ID, limits *api.StoredLimits) error {
	err := a.reserve(s, agent, limits)
	if err == nil {
		s.account.change(func(of *account) { of.mu.uploads += s.bytes })
	}
	return err
}

func (s *storing) releasePart() {
	s.account.change(func(of *account) { of.mu.uploads -= s.bytes })
	s.release()
}

// receive counts a part that has arrived, at a time in Unix milliseconds, also if it is replaced or
// deleted later: QUOTA_EXCEEDED. The limit is the hourly quota; 0 is none.
func (a *accounts) receive(agent id.ID, bytes, now, hourLimit int64) (err error) {
	most := hourLimit * uploadHours
	if most == 0 {
		return nil
	}
	a.account(agent).change(func(of *account) {
		over := ratio(of.mu.receivedUntil-now*1_000_000, most, hourNanos) + bytes - most
		if over > 0 {
			err = work.ErrStored("upload_bytes_of_agent_hour", most).With(
				"retry_after_seconds", int(ratio(over, hourNanos, most)/1_000_000_000)+1)
			return
		}
		of.mu.receivedUntil = max(of.mu.receivedUntil, now*1_000_000) + ratio(bytes, hourNanos, most)
	})
	return err
}

// settle counts an entry that is durable. The log's committer calls it, in order: quotas are those
// of the entries in front of it, as a start finds them.
func (s *storing) settle(position uint64, e *Engine) {
	if s.account == nil {
		return
	}
	a := s.accounts
	hourLimit := e.hourLimit(s.account.agent)
	s.account.change(func(of *account) {
		of.mu.reserved -= s.bytes
		of.add(s.bytes, s.now, hourLimit)
		a.settled(of, position)
	})
}

// add counts bytes at a time in Unix milliseconds. Where the hourly quota has changed, what is used
// of it stays the same number of bytes.
func (a *account) add(bytes, now, hourLimit int64) {
	a.mu.bytes += bytes
	if hourLimit == 0 {
		return
	}
	if hourLimit != a.mu.hourLimit {
		a.mu.emptyAt = now*1_000_000 + ratio(a.hourUsed(now), hourNanos, hourLimit)
		a.mu.hourLimit = hourLimit
	}
	a.mu.emptyAt = max(a.mu.emptyAt, now*1_000_000) + ratio(bytes, hourNanos, hourLimit)
}

// settled notes that an account contains an entry. The account's lock is held.
func (a *accounts) settled(of *account, position uint64) {
	of.mu.position = position
	if of.mu.dirty {
		return
	}
	of.mu.dirty = true
	a.dirty.Lock()
	defer a.dirty.Unlock()
	a.dirty.accounts = append(a.dirty.accounts, of)
}

// refund takes off the accounts what was stored in a project that is removed. The hourly quota
// stays used.
func (a *accounts) refund(position uint64, events []work.Event) {
	for _, event := range events {
		removed, ok := event.(*work.ProjectRemoved)
		if !ok {
			continue
		}
		for _, one := range removed.Stored {
			if one.Agent.IsZero() {
				continue
			}
			a.account(one.Agent).change(func(of *account) {
				if position <= of.mu.position {
					return
				}
				back := min(one.Bytes, of.mu.bytes)
				of.mu.bytes -= back
				a.total.Add(-back)
				a.settled(of, position)
			})
		}
	}
}

// replayStored counts an entry behind the snapshot. The saved account of an agent may contain it
// already.
func (e *Engine) replayStored(in *replayed) error {
	if in.entry.Target != datadir.TargetProject {
		return nil
	}
	a := e.accounts
	if !in.entry.Agent.IsZero() {
		bytes, hourLimit := in.stored, e.hourLimit(in.entry.Agent)
		a.account(in.entry.Agent).change(func(of *account) {
			if in.position > of.mu.position {
				of.add(bytes, in.entry.Now, hourLimit)
				a.total.Add(bytes)
				a.settled(of, in.position)
			}
		})
	}
	for _, stored := range in.entry.Events {
		if work.Kind(stored.Kind) != work.KindProjectRemoved {
			continue
		}
		event, err := work.DecodeEvent(work.KindProjectRemoved, stored.Data)
		if err != nil {
			return err
		}
		a.refund(in.position, []work.Event{event})
	}
	return nil
}

// reserve checks the quotas for an entry, and reserves what it stores: QUOTA_EXCEEDED. What only
// ends something is counted and not refused.
func (a *projectActor) reserve(
	o *order, c *commit, bytes int64, stamp work.Stamp,
) error {
	c.storing = storing{bytes: bytes, now: stamp.Now}
	if stamp.Agent.IsZero() {
		return nil
	}
	accounts := a.engine.accounts
	if work.EndsOnly(o.Command) && bytes <= endingBytesMax {
		return accounts.reserve(&c.storing, stamp.Agent, nil)
	}
	limits := a.engine.storedLimits(stamp.Agent, a.handle.id)
	if err := a.working.RequireStored(stamp.Agent, bytes, limits.Project); err != nil {
		return err
	}
	return accounts.reserve(&c.storing, stamp.Agent, &limits)
}

// StoredBy implements api.Engine.
func (e *Engine) StoredBy(agent, project id.ID) api.StoredUsage {
	usage := api.StoredUsage{Limits: e.storedLimits(agent, project)}
	found, ok := e.accounts.of.Load(agent)
	if !ok {
		return usage
	}
	found.change(func(of *account) {
		usage.Bytes = of.mu.bytes + of.mu.uploads
		usage.Hour = of.hourUsed(e.Now()) + of.mu.uploads
		usage.HourResetAt = (of.mu.emptyAt + 999_999) / 1_000_000
	})
	return usage
}
