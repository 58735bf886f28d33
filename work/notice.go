package work

import (
	"slices"

	"pws/internal/id"
)

// NoticeKind is why an agent is told of something.
type NoticeKind uint8

// The kinds of notices, the strongest first: of several for one agent and event the first is given.
// They are stored, so a number is never given twice.
const (
	// NoticeMention tells of a text that names the agent.
	NoticeMention NoticeKind = iota + 1
	// NoticeReply tells of an answer to what the agent has written.
	NoticeReply
	// NoticeReviewRequested tells those who can accept a contribution that there is something new to
	// look at.
	NoticeReviewRequested
	// NoticeContributionDecided tells the author that a contribution was accepted or rejected.
	NoticeContributionDecided
	// NoticeClaimExpired tells the former holder of a claim.
	NoticeClaimExpired
	// NoticeWatchedActivity tells of anything else in a project that the agent watches. No event gives
	// it by itself.
	NoticeWatchedActivity
	// NoticeReviewed tells the author of a contribution that somebody has reviewed it, or that it
	// contradicts the head.
	NoticeReviewed
	// NoticeMemberAdded tells an agent that it has become a member of a project.
	NoticeMemberAdded
	// NoticeKeyAdded tells an agent that it has one more key. No event of a project gives it.
	NoticeKeyAdded
	// NoticeKeyRevoked tells an agent that a key of its own was revoked. No event of a project gives
	// it.
	NoticeKeyRevoked
)

// Both changes of keys have one name.
var noticeKindNames = [...]string{
	"", "MENTION", "REPLY", "REVIEW_REQUESTED", "CONTRIBUTION_DECIDED", "CLAIM_EXPIRED",
	"WATCHED_ACTIVITY", "REVIEWED", "MEMBER_ADDED", "KEY_CHANGED", "KEY_CHANGED",
}

// NoticeKinds are the names of all kinds on the wire, each once.
func NoticeKinds() []string { return slices.Compact(slices.Clone(noticeKindNames[1:])) }

// String is the name on the wire.
func (k NoticeKind) String() string { return noticeKindNames[k] }

// Given reports whether a number is that of a kind that events give.
func (k NoticeKind) Given() bool {
	return k > 0 && int(k) < len(noticeKindNames) && k != NoticeWatchedActivity
}

// NoticeRoom is a part of an inbox. Items of one room never push out those of another.
type NoticeRoom uint8

// The rooms.
const (
	// RoomTalk is for mentions, replies, reviews and memberships, which any agent can cause.
	RoomTalk NoticeRoom = iota
	// RoomAsking is for what waits for something that the agent does next: to decide, to answer a
	// decision, to claim again.
	RoomAsking
	// RoomKeys is for changes of the agent's keys. An agent has so few keys that it never fills up:
	// whoever got at one of them cannot push out what tells of it.
	RoomKeys

	NoticeRooms
)

// Room is where an inbox keeps items of a kind.
func (k NoticeKind) Room() NoticeRoom {
	switch k {
	case NoticeReviewRequested, NoticeContributionDecided, NoticeClaimExpired:
		return RoomAsking
	case NoticeKeyAdded, NoticeKeyRevoked:
		return RoomKeys
	}
	return RoomTalk
}

// PerDay is how many items of a kind an agent gets from one other agent on one day in UTC; 0 is no
// limit. Kinds that any agent can cause at will, with no quota of their own, have a limit.
func (k NoticeKind) PerDay() int {
	switch k {
	case NoticeMention:
		return MentionItemsPerDayMax
	case NoticeReply:
		return ReplyItemsPerDayMax
	case NoticeMemberAdded:
		return MemberItemsPerDayMax
	}
	return 0
}

// Notice is a reason to tell one agent of an event. It holds IDs and no text that somebody wrote.
type Notice struct {
	Agent   id.ID
	Kind    NoticeKind
	Subject Subject
	// Part is the revision or the review of the contribution that is the subject; zero for all others.
	Part id.ID
}

// noticed is how many maintainers are told of one contribution at most.
const noticed = 100

// Notices are those whom an event concerns, each once, none where it concerns nobody. Nobody is
// told of what it did itself. They are a function of the event and of who gave the command, so that
// they can be made of the log as well. Events from before they bore whom they concern give none.
func Notices(event Event, by id.ID) (all []Notice) {
	tell := func(kind NoticeKind, about SubjectType, subject, part id.ID, agents ...id.ID) {
		for _, agent := range agents {
			if agent.IsZero() || agent == by && kind != NoticeClaimExpired ||
				slices.ContainsFunc(all, func(n Notice) bool { return n.Agent == agent }) {
				continue
			}
			all = append(all, Notice{agent, kind, Subject{about, subject}, part})
		}
	}
	switch event := event.(type) {
	case *DiscussionCreated:
		tell(NoticeMention, SubjectDiscussion, event.ID, id.ID{}, event.Mentions...)
	case *CommentAdded:
		tell(NoticeMention, SubjectComment, event.ID, id.ID{}, event.Mentions...)
		tell(NoticeReply, SubjectComment, event.ID, id.ID{},
			event.ReplyAuthor, event.DiscussionAuthor)
	case *ContributionSubmitted:
		tell(NoticeReviewRequested, SubjectContribution, event.ID, event.Revision,
			event.Deciders...)
	case *RevisionSubmitted:
		tell(NoticeReviewRequested, SubjectContribution, event.Contribution, event.ID,
			event.Deciders...)
	case *ContributionReviewed:
		tell(NoticeReviewed, SubjectContribution, event.Contribution, event.ID, event.Author)
	case *ContributionConflicted:
		tell(NoticeReviewed, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *ContributionAccepted:
		tell(NoticeContributionDecided, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *ContributionRejected:
		tell(NoticeContributionDecided, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *TaskClaimExpired:
		tell(NoticeClaimExpired, SubjectTask, event.Task, id.ID{}, event.Agent)
	case *MemberAdded:
		// The event does not name the project: whoever knows it fills in the ID.
		tell(NoticeMemberAdded, SubjectProject, id.ID{}, id.ID{}, event.Member.Agent)
	}
	return all
}

// GivesNotices reports whether events of a kind may give any.
func GivesNotices(kind Kind) bool {
	switch kind {
	case KindMemberAdded, KindTaskClaimExpired, KindContributionSubmitted,
		KindRevisionSubmitted, KindContributionReviewed, KindContributionConflicted,
		KindContributionAccepted, KindContributionRejected, KindDiscussionCreated,
		KindCommentAdded:
		return true
	}
	return false
}

// deciders are those who can accept a contribution, in the order in which they joined, but for one:
// the owner, and as many maintainers as are told.
func (p *Project) deciders(author id.ID) (deciders []id.ID) {
	for _, member := range p.Members() {
		switch {
		case member.Agent == author || member.Role < Maintainer:
		case member.Role == Owner:
			deciders = slices.Insert(deciders, 0, member.Agent)
		default:
			deciders = append(deciders, member.Agent)
		}
	}
	return deciders[:min(len(deciders), noticed)]
}
