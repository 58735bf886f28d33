package work

import (
	"math"

	"pws/internal/id"
)

// quotaKind is a kind of records that is limited in each project.
type quotaKind uint8

// The kinds. quotaVerifications, quotaContributions, quotaTasks and quotaHandoffs count all records
// that a project ever had, except those that another agent than the author has deleted; quotaFiles
// counts the files of all revisions, quotaUndecided the contributions that were not accepted,
// quotaTexts the bytes of text, and quotaUnconfirmed the tasks that an agent has finished and no
// member has confirmed.
const (
	quotaDiscussions quotaKind = iota
	quotaComments
	quotaVerifications
	quotaContributions
	quotaUndecided
	quotaFiles
	quotaTexts
	quotaTasks
	quotaHandoffs
	quotaUnconfirmed

	quotaKinds
)

// quota holds the limits of a kind. Members and guests, who are all other agents, have separate
// limits.
type quota struct {
	name string
	// members limits all members together, guests all guests together, and each one guest. The last
	// tenth for members is for maintainers and the owner.
	members, guests, each int
	// newcomer is the usage from which on a guest cannot use the last tenth of the limit for guests,
	// so that a few agents cannot use up the limit for all later ones.
	newcomer int
}

var quotas = [quotaKinds]quota{
	quotaDiscussions: {
		name: "discussions", members: DiscussionsMax, guests: DiscussionsMax,
		each: GuestDiscussionsMax, newcomer: newcomerRecords,
	},
	quotaComments: {
		name: "comments", members: CommentsMax, guests: 2 * CommentsMax,
		each: GuestCommentsMax, newcomer: newcomerRecords,
	},
	quotaVerifications: {
		name: "verifications", members: VerificationsMax, guests: VerificationsMax,
		each: GuestVerificationsMax, newcomer: newcomerRecords,
	},
	quotaContributions: {
		name: "contributions", members: ContributionsMax, guests: ContributionsMax,
		each: math.MaxInt, newcomer: newcomerRecords,
	},
	quotaUndecided: {
		name: "contributions_not_accepted", members: math.MaxInt, guests: math.MaxInt,
		each: GuestContributionsMax,
	},
	quotaFiles: {
		name: "revision_files", members: RevisionFilesMax, guests: RevisionFilesMax,
		each: RevisionFilesMax / 10, newcomer: OperationsMax,
	},
	quotaTexts: {
		name: "text_bytes", members: TextBytesMax, guests: TextBytesMax,
		each: GuestTextBytesMax, newcomer: GuestTextBytesMax / 32,
	},
	quotaTasks: {
		name: "tasks", members: TasksMax, guests: TasksMax, each: GuestTasksMax,
		newcomer: newcomerRecords,
	},
	quotaHandoffs: {
		name: "handoffs", members: HandoffsMax, guests: HandoffsMax, each: GuestHandoffsMax,
		newcomer: newcomerRecords,
	},
	quotaUnconfirmed: {
		name: "unconfirmed_results", members: math.MaxInt, guests: math.MaxInt,
		each: GuestUnconfirmedMax,
	},
}

// newcomerRecords is the number of records of a kind after which a guest is not a newcomer.
const newcomerRecords = 3

// usage counts the records of one agent in a project.
type usage struct {
	agent  id.ID
	counts [quotaKinds]int
	// day is the last day on which the agent has written a comment or opened a workspace, in days
	// since 1970 in UTC; comments and workspaces count those of that day.
	day                  int64
	comments, workspaces int
}

var byAgent = inOrder(func(a, b usage) bool { return a.agent.Compare(b.agent) < 0 })

// dayMillis is the length of a day.
const dayMillis = 86_400_000

// on returns the usage on the day of a time: the counts of an earlier day are zero.
func (u usage) on(now int64) usage {
	if day := now / dayMillis; day > u.day {
		u.day, u.comments, u.workspaces = day, 0, 0
	}
	return u
}

func (p *Project) usageOf(agent id.ID) usage {
	if found, ok := p.usages.get(usage{agent: agent}, byAgent); ok {
		return found
	}
	return usage{agent: agent}
}

// QuotaUsage is the usage of one quota by a guest.
type QuotaUsage struct {
	// Quota is the name of the quota in QUOTA_EXCEEDED.
	Quota       string
	Used, Limit int
	// ResetAt is the end of the counted day in Unix milliseconds; 0 if the quota is not daily.
	ResetAt int64
}

// QuotaUsages returns the usage of an agent at a time in Unix milliseconds. It is empty for
// members, whose records are counted together, and for the zero ID.
func (p *Project) QuotaUsages(agent id.ID, now int64) (all []QuotaUsage) {
	if agent.IsZero() || p.IsMember(agent) {
		return nil
	}
	own := p.usageOf(agent).on(now)
	free := !p.needsClaim(agent)
	for kind := range quotas {
		if quotaKind(kind) == quotaUnconfirmed && free {
			continue
		}
		if of := &quotas[kind]; of.each < math.MaxInt {
			all = append(all, QuotaUsage{
				Quota: of.name + "_of_agent", Used: own.counts[kind], Limit: of.each,
			})
		}
	}
	tomorrow := (now/dayMillis + 1) * dayMillis
	return append(all,
		QuotaUsage{"comments_of_agent_today", own.comments, GuestCommentsPerDayMax, tomorrow},
		QuotaUsage{"workspaces_of_agent_today", own.workspaces, GuestWorkspacesPerDayMax, tomorrow},
	)
}

// countUsage adds to the count of an agent's records of a kind; more may be negative.
func (p *Project) countUsage(agent id.ID, kind quotaKind, more int) {
	if more == 0 {
		return
	}
	next := p.usageOf(agent)
	p.beyondGuests[kind] -= next.beyondGuest(kind)
	next.counts[kind] += more
	p.beyondGuests[kind] += next.beyondGuest(kind)
	p.usages.set(next, byAgent)
	p.used[kind] += more
}

// countToday changes a daily count of an agent. A restored project counts its records in another
// order than they were made: those of earlier days than one that was counted change nothing.
func (p *Project) countToday(agent id.ID, at int64, count func(u *usage)) {
	next := p.usageOf(agent)
	if at/dayMillis < next.day {
		return
	}
	next = next.on(at)
	count(&next)
	p.usages.set(next, byAgent)
}

// beyondGuest is the part of a count that the agent made as a member, because a guest may not have
// that many.
func (u *usage) beyondGuest(kind quotaKind) int { return max(0, u.counts[kind]-quotas[kind].each) }

// usedByGuests returns the count of a kind for all agents that are not members now. What one of
// them has beyond the limit of a guest stays in the room of members: a member that leaves takes no
// more room of guests than one guest, and makes room for no other member.
func (p *Project) usedByGuests(kind quotaKind) int {
	guests := p.used[kind] - p.beyondGuests[kind]
	for i := range p.saved.Members {
		member := p.usageOf(p.saved.Members[i].Agent)
		guests -= member.counts[kind] - member.beyondGuest(kind)
	}
	return guests
}

// requireQuota checks the limits for more records of a kind by an agent: QUOTA_EXCEEDED. None is
// always accepted.
func (p *Project) requireQuota(agent id.ID, kind quotaKind, more int) error {
	if more <= 0 {
		return nil
	}
	of, guests := &quotas[kind], p.usedByGuests(kind)
	if role := p.RoleOf(agent); role != NoRole {
		used, most := p.used[kind]-guests, of.members
		if role < Maintainer {
			// One contributor may fill the rest; the owner must be able to go on.
			most -= most / 10
		}
		if kind == quotaTexts {
			// Texts that are not counted for any agent were written by members.
			used = p.texts - guests
		}
		if used+more > most {
			return errQuota(of.name, most)
		}
		return nil
	}
	own := p.usageOf(agent).counts[kind]
	if own+more > of.each {
		return errQuota(of.name+"_of_agent", of.each)
	}
	return of.requireGuests(guests, own, more)
}

// requireGuests checks the limit for all guests: QUOTA_EXCEEDED.
func (q *quota) requireGuests(used, own, more int) error {
	most := q.guests
	if own >= q.newcomer {
		most -= most / 10
	}
	if used+more > most {
		return errQuota(q.name+"_of_guests", most)
	}
	return nil
}

// requireDailyQuota checks a daily limit for guests: QUOTA_EXCEEDED.
func (p *Project) requireDailyQuota(
	stamp Stamp, quota string, most int, count func(u usage) int,
) error {
	if p.IsMember(stamp.Agent) || count(p.usageOf(stamp.Agent).on(stamp.Now)) < most {
		return nil
	}
	tomorrow := (stamp.Now/dayMillis + 1) * dayMillis
	return errQuota(quota, most).
		With("retry_after_seconds", int((tomorrow-stamp.Now+999)/1000))
}
