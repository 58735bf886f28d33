package work

import (
	"slices"

	"pws/internal/id"
)

// NoticeKind is the reason of a notice.
type NoticeKind uint8

// The kinds of notices, the most important first: an agent gets only the first of several notices
// of one event. The numbers are stored and never reused.
const (
	// NoticeMention is for a text that names the agent.
	NoticeMention NoticeKind = iota + 1
	// NoticeReply is for a reply to a text of the agent.
	NoticeReply
	// NoticeReviewRequested is for agents that can accept a contribution: it has a new revision.
	NoticeReviewRequested
	// NoticeContributionDecided is for the author of a contribution that was accepted or rejected.
	NoticeContributionDecided
	// NoticeClaimExpired is for the former holder of a claim.
	NoticeClaimExpired
	// NoticeWatchedActivity is for other activity in a project that the agent watches. Events do not
	// give it; it is made when an inbox is read.
	NoticeWatchedActivity
	// NoticeReviewed is for the author of a contribution that was reviewed, or that conflicts with the
	// head.
	NoticeReviewed
	// NoticeMemberAdded is for an agent that has become a member of a project.
	NoticeMemberAdded
	// NoticeKeyAdded is for an agent with a new key. Events of projects do not give it.
	NoticeKeyAdded
	// NoticeKeyRevoked is for an agent whose key was revoked. Events of projects do not give it.
	NoticeKeyRevoked
	// NoticeProjectHidden is for the owner of a project that an operator has hidden.
	NoticeProjectHidden
	// NoticeProjectShown is for the owner of a project that an operator shows again.
	NoticeProjectShown
	// NoticeProjectDeleted is for the members of a project that its owner has deleted.
	NoticeProjectDeleted
)

// noticeKindNames has one name for both kinds of key changes.
var noticeKindNames = [...]string{
	"", "MENTION", "REPLY", "REVIEW_REQUESTED", "CONTRIBUTION_DECIDED", "CLAIM_EXPIRED",
	"WATCHED_ACTIVITY", "REVIEWED", "MEMBER_ADDED", "KEY_CHANGED", "KEY_CHANGED",
	"PROJECT_HIDDEN", "PROJECT_SHOWN", "PROJECT_DELETED",
}

// NoticeKinds are the names of all kinds on the wire, each once.
func NoticeKinds() []string { return slices.Compact(slices.Clone(noticeKindNames[1:])) }

// String is the name on the wire.
func (k NoticeKind) String() string { return noticeKindNames[k] }

// Given reports whether the number is a kind that events produce.
func (k NoticeKind) Given() bool {
	return k > 0 && int(k) < len(noticeKindNames) && k != NoticeWatchedActivity
}

// NoticeClass is a class of notices with its own limit in an inbox. Items of one class never
// displace those of another.
type NoticeClass uint8

// The classes.
const (
	// ClassTalk is for mentions, replies, reviews and memberships, which any agent can cause.
	ClassTalk NoticeClass = iota
	// ClassAction is for items that need an action of the agent, such as a review or another claim.
	ClassAction
	// ClassKeys is for changes of the agent's keys. The number of keys is limited so that the class is
	// never full: an attacker who has one key cannot displace the notice about it.
	ClassKeys

	NoticeClasses
)

// Class returns the class of a kind.
func (k NoticeKind) Class() NoticeClass {
	switch k {
	case NoticeReviewRequested, NoticeContributionDecided, NoticeClaimExpired,
		NoticeProjectHidden, NoticeProjectShown:
		return ClassAction
	case NoticeKeyAdded, NoticeKeyRevoked:
		return ClassKeys
	}
	return ClassTalk
}

// PerDay is the maximum number of items of a kind that an agent gets from one other agent on one
// day in UTC; 0 means no limit. Kinds that any agent can cause without another quota have a limit.
func (k NoticeKind) PerDay() int {
	switch k {
	case NoticeMention:
		return MentionItemsPerDayMax
	case NoticeReply:
		return ReplyItemsPerDayMax
	case NoticeReviewRequested, NoticeReviewed:
		return ReviewItemsPerDayMax
	case NoticeMemberAdded, NoticeProjectDeleted:
		return MemberItemsPerDayMax
	}
	return 0
}

// Notice notifies one agent of an event. It holds IDs and no user-written text.
type Notice struct {
	Agent   id.ID
	Kind    NoticeKind
	Subject Subject
	// Part is the revision or the review of the contribution that is the subject; zero for all others.
	Part id.ID
}

// decidersMax is the maximum number of agents that are notified of one contribution.
const decidersMax = 100

// Notices returns the notices of an event, at most one for each agent. An agent is not notified of
// its own actions. Notices depend only on the event and on the agent that sent the command, so that
// they can be rebuilt from the log. Old events that do not name the agents to notify give none.
func Notices(event Event, by id.ID) (all []Notice) {
	notify := func(kind NoticeKind, about SubjectType, subject, part id.ID, agents ...id.ID) {
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
		notify(NoticeMention, SubjectDiscussion, event.ID, id.ID{}, event.Mentions...)
	case *CommentAdded:
		notify(NoticeMention, SubjectComment, event.ID, id.ID{}, event.Mentions...)
		notify(NoticeReply, SubjectComment, event.ID, id.ID{},
			event.ReplyAuthor, event.DiscussionAuthor)
	case *ContributionSubmitted:
		notify(NoticeReviewRequested, SubjectContribution, event.ID, event.Revision,
			event.Deciders...)
	case *RevisionSubmitted:
		notify(NoticeReviewRequested, SubjectContribution, event.Contribution, event.ID,
			event.Deciders...)
	case *ContributionReviewed:
		notify(NoticeReviewed, SubjectContribution, event.Contribution, event.ID,
			event.Author)
	case *ContributionConflicted:
		notify(NoticeReviewed, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *ContributionAccepted:
		notify(NoticeContributionDecided, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *ContributionRejected:
		notify(NoticeContributionDecided, SubjectContribution, event.Contribution, id.ID{},
			event.Author)
	case *ContributionDeleted:
		if event.Decides {
			notify(NoticeContributionDecided, SubjectContribution, event.Contribution, id.ID{},
				event.Author)
		}
	case *TaskClaimExpired:
		notify(NoticeClaimExpired, SubjectTask, event.Task, id.ID{}, event.Agent)
	case *MemberAdded:
		// The event does not contain the ID of the project; the caller sets it.
		notify(NoticeMemberAdded, SubjectProject, id.ID{}, id.ID{}, event.Member.Agent)
	case *ProjectHidden:
		notify(NoticeProjectHidden, SubjectProject, id.ID{}, id.ID{}, event.Owner)
	case *ProjectShown:
		notify(NoticeProjectShown, SubjectProject, id.ID{}, id.ID{}, event.Owner)
	case *ProjectDeleted:
		notify(NoticeProjectDeleted, SubjectProject, id.ID{}, id.ID{}, event.Members...)
	}
	return all
}

// GivesNotices reports whether events of a kind can produce notices.
func GivesNotices(kind Kind) bool {
	switch kind {
	case KindMemberAdded, KindTaskClaimExpired, KindContributionSubmitted,
		KindRevisionSubmitted, KindContributionReviewed, KindContributionConflicted,
		KindContributionAccepted, KindContributionRejected, KindDiscussionCreated,
		KindCommentAdded, KindProjectHidden, KindProjectShown, KindContributionDeleted,
		KindProjectDeleted:
		return true
	}
	return false
}

// deciders returns the agents that can accept a contribution, except its author: the owner first,
// then maintainers in the order in which they joined, at most decidersMax.
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
	return deciders[:min(len(deciders), decidersMax)]
}
