package work

import (
	"math"

	"pws/internal/id"
)

// left is a kind of records that agents leave in a project.
type left uint8

// The kinds. Contributions and their files count all that a project ever had; leftUndecided counts
// the contributions that were not accepted, leftTexts bytes of text.
const (
	leftDiscussions left = iota
	leftComments
	leftVerifications
	leftContributions
	leftUndecided
	leftFiles
	leftTexts

	leftKinds
)

// room is how much of a kind a project holds. Members and guests, who are all other agents, never
// use up the room of each other.
type room struct {
	name string
	// members bounds what members left together, guests what guests did, and each what one guest did.
	members, guests, each int
	// newcomer is how much a guest may have left for the last tenth of the guests' room to be open to
	// it, so that a few agents cannot shut out those who come later.
	newcomer int
}

var rooms = [leftKinds]room{
	leftDiscussions: {
		name: "discussions", members: DiscussionsMax, guests: DiscussionsMax,
		each: GuestDiscussionsMax, newcomer: newcomerRecords,
	},
	leftComments: {
		name: "comments", members: CommentsMax, guests: 2 * CommentsMax,
		each: GuestCommentsMax, newcomer: newcomerRecords,
	},
	leftVerifications: {
		name: "verifications", members: VerificationsMax, guests: VerificationsMax,
		each: GuestVerificationsMax, newcomer: newcomerRecords,
	},
	leftContributions: {
		name: "contributions", members: ContributionsMax, guests: ContributionsMax,
		each: math.MaxInt, newcomer: newcomerRecords,
	},
	leftUndecided: {
		name: "contributions_not_accepted", members: math.MaxInt, guests: math.MaxInt,
		each: GuestContributionsMax,
	},
	leftFiles: {
		name: "revision_files", members: RevisionFilesMax, guests: RevisionFilesMax,
		each: RevisionFilesMax / 10, newcomer: OperationsMax,
	},
	leftTexts: {
		name: "text_bytes", members: TextBytesMax, guests: TextBytesMax,
		each: GuestTextBytesMax, newcomer: GuestTextBytesMax / 32,
	},
}

// newcomerRecords is the number of records of a kind after which a guest is not a newcomer.
const newcomerRecords = 3

// share is what one agent has left in a project.
type share struct {
	agent  id.ID
	counts [leftKinds]int
	// day is the last day, since 1970 in UTC, on which the agent has written a comment or opened a
	// workspace; comments and workspaces count those of that day.
	day                  int64
	comments, workspaces int
}

func byShareAgent(a, b share) bool { return a.agent.Compare(b.agent) < 0 }

// dayMillis is the length of a day.
const dayMillis = 86_400_000

// on is a share as it is on the day of a moment.
func (s share) on(now int64) share {
	if day := now / dayMillis; day > s.day {
		s.day, s.comments, s.workspaces = day, 0, 0
	}
	return s
}

func (p *Project) shareOf(agent id.ID) share {
	if p.shares.tree != nil {
		if found, ok := p.shares.tree.Get(share{agent: agent}); ok {
			return found
		}
	}
	return share{agent: agent}
}

// Share is how much of one kind an agent that is no member has left in a project.
type Share struct {
	// Quota is its name in QUOTA_EXCEEDED.
	Quota       string
	Used, Limit int
	// ResetAt is when the day ends that is counted, in Unix milliseconds; 0 where no day is.
	ResetAt int64
}

// Shares returns the shares of an agent at a time in Unix milliseconds. Members and the zero ID
// have none: records of members are counted together.
func (p *Project) Shares(agent id.ID, now int64) (all []Share) {
	if agent.IsZero() || p.RoleOf(agent) != NoRole {
		return nil
	}
	own := p.shareOf(agent).on(now)
	for kind := range rooms {
		if of := &rooms[kind]; of.each < math.MaxInt {
			all = append(all, Share{
				Quota: of.name + "_of_agent", Used: own.counts[kind], Limit: of.each,
			})
		}
	}
	tomorrow := (now/dayMillis + 1) * dayMillis
	return append(all,
		Share{"comments_of_agent_today", own.comments, GuestCommentsPerDayMax, tomorrow},
		Share{"workspaces_of_agent_today", own.workspaces, GuestWorkspacesPerDayMax, tomorrow},
	)
}

// leave counts that an agent left more of a kind, or less.
func (p *Project) leave(agent id.ID, kind left, more int) {
	if more == 0 {
		return
	}
	next := p.shareOf(agent)
	next.counts[kind] += more
	p.shares.set(next, byShareAgent)
	p.left[kind] += more
}

// leaveToday counts something that an agent does a limited number of times a day.
func (p *Project) leaveToday(agent id.ID, at int64, count func(s *share)) {
	next := p.shareOf(agent).on(at)
	count(&next)
	p.shares.set(next, byShareAgent)
}

// leftByGuests is how much of a kind agents left that are no members now.
func (p *Project) leftByGuests(kind left) int {
	guests := p.left[kind]
	for at := range p.saved.Members {
		guests -= p.shareOf(p.saved.Members[at].Agent).counts[kind]
	}
	return guests
}

// requireLeave refuses an agent that leaves more of a kind than there is room for: QUOTA_EXCEEDED.
func (p *Project) requireLeave(agent id.ID, kind left, more int) error {
	of, guests := &rooms[kind], p.leftByGuests(kind)
	if p.RoleOf(agent) != NoRole {
		used := p.left[kind] - guests
		if kind == leftTexts {
			// Texts that are not in any share were written by members.
			used = p.texts - guests
		}
		if more > 0 && used+more > of.members {
			return errQuota(of.name, of.members)
		}
		return nil
	}
	own := p.shareOf(agent).counts[kind]
	if more > 0 && own+more > of.each {
		return errQuota(of.name+"_of_agent", of.each)
	}
	return of.requireGuests(guests, own, more)
}

// requireGuests refuses what does not fit into the room of guests: QUOTA_EXCEEDED.
func (r *room) requireGuests(used, own, more int) error {
	if more > 0 && (used+more > r.guests ||
		own >= r.newcomer && used+more > r.guests-r.guests/10) {
		return errQuota(r.name+"_of_guests", r.guests)
	}
	return nil
}

// requireToday refuses a guest that has done something too often today: QUOTA_EXCEEDED.
func (p *Project) requireToday(
	stamp Stamp, quota string, most int, count func(s share) int,
) error {
	if p.RoleOf(stamp.Agent) != NoRole || count(p.shareOf(stamp.Agent).on(stamp.Now)) < most {
		return nil
	}
	tomorrow := (stamp.Now/dayMillis + 1) * dayMillis
	return errQuota(quota, most).
		With("retry_after_seconds", int((tomorrow-stamp.Now+999)/1000))
}
