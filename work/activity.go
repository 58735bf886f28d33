package work

import (
	"slices"

	"pws/internal/id"
)

// Activity is a public entry of the activity feed, made from one event of a project. It holds IDs
// and small facts, and no user-written text: texts are read from the project when an activity is
// shown.
type Activity struct {
	Type ActivityType
	// Actor is the agent that acted; zero means the agent that sent the command.
	Actor   id.ID
	Subject Subject
	// Other is another project that the activity names, zero for none. Agents that may not read it
	// do not see that it is named: see ActivityType.NeedsOther and FactName.OfOther.
	Other id.ID
	Facts []Fact
}

// ActivityType is the type of an activity.
type ActivityType uint8

// The activity types. The numbers are stored and never reused.
const (
	ActivityProjectCreated ActivityType = iota + 1
	ActivityProjectUpdated
	ActivityVisibilityChanged
	ActivityChangesetPublished
	ActivityStateUpdated
	ActivityCheckpointCreated
	ActivityHandoffCreated
	ActivityTaskCreated
	ActivityTaskUpdated
	ActivityTaskClaimed
	ActivityTaskReleased
	ActivityClaimExpired
	ActivityTaskCompleted
	ActivityWorkspaceOpened
	ActivityWorkspaceRefreshed
	ActivityContributionSubmitted
	ActivityContributionReviewed
	ActivityContributionAccepted
	ActivityContributionRejected
	ActivityContributionWithdrawn
	ActivityContributionConflicted
	ActivityForkCreated
	ActivityArtifactCreated
	ActivityArtifactImported
	ActivityRelationCreated
	ActivityDiscussionCreated
	ActivityCommentCreated
	ActivityVerificationCreated
	ActivityMemberAdded
	ActivityMemberRemoved
	ActivityAgentBlocked
	ActivityAgentUnblocked
	ActivityTurnEnded
	ActivityDiscussionDeleted
	ActivityCommentDeleted
	ActivityVerificationDeleted
	ActivityReviewDeleted
	ActivityContributionDeleted
	ActivityHandoffDeleted
	ActivityProjectDeleted
	ActivityProjectRestored
)

var activityTypeNames = [...]string{
	"",
	"project.created", "project.updated", "project.visibility_changed",
	"changeset.published", "state.updated", "checkpoint.created", "handoff.created",
	"task.created", "task.updated", "task.claimed", "task.released", "task.claim_expired",
	"task.completed", "workspace.opened", "workspace.refreshed", "contribution.submitted",
	"contribution.reviewed", "contribution.accepted", "contribution.rejected",
	"contribution.withdrawn", "contribution.conflicted", "fork.created", "artifact.created",
	"artifact.imported", "relation.created", "discussion.created", "comment.created",
	"verification.created", "member.added", "member.removed", "agent.blocked", "agent.unblocked",
	"turn.ended", "discussion.deleted", "comment.deleted", "verification.deleted",
	"contribution.review_deleted", "contribution.deleted", "handoff.deleted",
	"project.deleted", "project.restored",
}

// ActivityTypes are the names of all types on the wire.
func ActivityTypes() []string { return slices.Clone(activityTypeNames[1:]) }

// Known reports whether a number is that of a type.
func (t ActivityType) Known() bool { return t > 0 && int(t) < len(activityTypeNames) }

// String is the name on the wire.
func (t ActivityType) String() string { return activityTypeNames[t] }

// ParseActivityType reads the name on the wire; zero is no type.
func ParseActivityType(name string) ActivityType {
	return ActivityType(max(0, slices.Index(activityTypeNames[:], name)))
}

// ActivityVisible reports whether an agent may see an activity of the project now. For an activity
// that names another project, the caller must also check that project.
func (p *Project) ActivityVisible(a *Activity, agent id.ID) bool {
	if a.Type.OfMembers() && !p.IsMember(agent) {
		return false
	}
	return p.Readable(agent) && (!a.Type.OfWorkspace() || !agent.IsZero() && a.Actor == agent ||
		MayReadWorkspaces.Require(p, agent) == nil)
}

// NeedsOther reports whether activities of a type only describe a relation between two projects.
// Agents that may not read the other project do not see them.
func (t ActivityType) NeedsOther() bool { return t == ActivityRelationCreated }

// OfWorkspace reports whether activities of a type are visible only to agents that may read the
// workspace: its author, which is the actor, and maintainers.
func (t ActivityType) OfWorkspace() bool {
	return t == ActivityWorkspaceOpened || t == ActivityWorkspaceRefreshed
}

// OfMembers reports whether activities of a type are visible only to members.
func (t ActivityType) OfMembers() bool {
	return t == ActivityAgentBlocked || t == ActivityAgentUnblocked
}

// SubjectType is the type of the entity that an activity is about.
type SubjectType uint8

// The subject types. The numbers are stored and never reused.
const (
	SubjectProject SubjectType = iota + 1
	SubjectChangeset
	SubjectTask
	SubjectHandoff
	SubjectCheckpoint
	SubjectWorkspace
	SubjectContribution
	SubjectArtifact
	SubjectImport
	SubjectRelation
	SubjectDiscussion
	SubjectComment
	SubjectVerification
	SubjectAgent
	// SubjectKey is a key of an agent. No activity is about one.
	SubjectKey
)

var subjectTypes = [...]struct {
	name   string
	prefix id.Prefix
}{
	{},
	{"PROJECT", id.Project}, {"CHANGESET", id.Changeset}, {"TASK", id.Task},
	{"HANDOFF", id.Handoff}, {"CHECKPOINT", id.Checkpoint}, {"WORKSPACE", id.Workspace},
	{"CONTRIBUTION", id.Contribution}, {"ARTIFACT", id.Artifact}, {"IMPORT", id.Import},
	{"RELATION", id.Relation}, {"DISCUSSION", id.Discussion}, {"COMMENT", id.Comment},
	{"VERIFICATION", id.Verification}, {"AGENT", id.Agent},
	{"KEY", id.Key},
}

// Known reports whether a number is that of a type.
func (t SubjectType) Known() bool { return t > 0 && int(t) < len(subjectTypes) }

// String is the name on the wire.
func (t SubjectType) String() string { return subjectTypes[t].name }

// Prefix is the ID prefix of a type.
func (t SubjectType) Prefix() id.Prefix { return subjectTypes[t].prefix }

// Subject is the entity that an activity is about.
type Subject struct {
	Type SubjectType
	ID   id.ID
}

// FactName names a fact.
type FactName uint8

// The facts. The numbers are stored and never reused.
const (
	FactVisibility FactName = iota + 1
	FactProjectKind
	FactSource
	FactAuthor
	FactOperations
	FactChangeset
	FactClaim
	FactAgent
	FactStatus
	FactRevision
	FactReview
	FactVerdict
	FactConflicts
	FactSourceProject
	FactSourceChangeset
	FactArtifact
	FactArtifactType
	FactRelationType
	FactTargetProject
	FactDiscussion
	FactReplyTo
	FactEntityType
	FactEntity
	FactVerificationKind
	FactOutcome
	FactRole
	FactMode
)

// factNames has for each fact the key on the wire, and the prefix of its IDs. A fact without a
// prefix is a text or a number.
var factNames = [...]struct {
	key     string
	prefix  id.Prefix
	number  bool
	ofOther bool
}{
	{},
	FactVisibility:       {key: "visibility"},
	FactProjectKind:      {key: "kind"},
	FactSource:           {key: "source"},
	FactAuthor:           {key: "author_id", prefix: id.Agent},
	FactOperations:       {key: "operation_count", number: true},
	FactChangeset:        {key: "changeset_id", prefix: id.Changeset},
	FactClaim:            {key: "claim_id", prefix: id.Claim},
	FactAgent:            {key: "agent_id", prefix: id.Agent},
	FactStatus:           {key: "status"},
	FactRevision:         {key: "revision_id", prefix: id.Revision},
	FactReview:           {key: "review_id", prefix: id.Review},
	FactVerdict:          {key: "verdict"},
	FactConflicts:        {key: "conflict_count", number: true},
	FactSourceProject:    {key: "source_project_id", prefix: id.Project, ofOther: true},
	FactSourceChangeset:  {key: "source_changeset_id", prefix: id.Changeset, ofOther: true},
	FactArtifact:         {key: "artifact_id", prefix: id.Artifact, ofOther: true},
	FactArtifactType:     {key: "artifact_type"},
	FactRelationType:     {key: "relation_type"},
	FactTargetProject:    {key: "target_project_id", prefix: id.Project, ofOther: true},
	FactDiscussion:       {key: "discussion_id", prefix: id.Discussion},
	FactReplyTo:          {key: "reply_to_id", prefix: id.Comment},
	FactEntityType:       {key: "entity_type"},
	FactEntity:           {key: "entity_id"},
	FactVerificationKind: {key: "kind"},
	FactOutcome:          {key: "outcome"},
	FactRole:             {key: "role"},
	FactMode:             {key: "mode"},
}

// Known reports whether a number is that of a fact.
func (n FactName) Known() bool { return n > 0 && int(n) < len(factNames) }

// Key is the name on the wire.
func (n FactName) Key() string { return factNames[n].key }

// Prefix is the prefix of its IDs, empty for a text or a number.
func (n FactName) Prefix() id.Prefix { return factNames[n].prefix }

// Number reports whether the fact is a number.
func (n FactName) Number() bool { return factNames[n].number }

// OfOther reports whether the fact names the other project of its activity. It is hidden from
// agents that may not read that project.
func (n FactName) OfOther() bool { return factNames[n].ofOther }

// Fact is a detail of an activity. Its value is in one of ID, Text and Number.
type Fact struct {
	Name   FactName
	ID     id.ID
	Text   string
	Number int64
}

// ActivitiesMax is the maximum number of activities of one event.
const ActivitiesMax = 4

// Activities returns the activities of an event, which may be none. They depend on the event alone,
// so that they can be rebuilt from the log.
func Activities(event Event) []Activity {
	if activities := taskActivities(event); activities != nil {
		return activities
	}
	if activities := contributionActivities(event); activities != nil {
		return activities
	}
	return recordActivities(event)
}

// activity returns a list of one activity.
func activity(kind ActivityType, about SubjectType, subject id.ID, facts ...Fact) []Activity {
	return []Activity{{Type: kind, Subject: Subject{Type: about, ID: subject}, Facts: facts}}
}

func factID(name FactName, value id.ID) Fact { return Fact{Name: name, ID: value} }

func factText(name FactName, value string) Fact { return Fact{Name: name, Text: value} }

func factNumber(name FactName, value int) Fact { return Fact{Name: name, Number: int64(value)} }

func taskActivities(event Event) []Activity {
	switch event := event.(type) {
	case *TaskCreated:
		return activity(ActivityTaskCreated, SubjectTask, event.ID)
	case *TaskUpdated:
		kind, facts := ActivityTaskUpdated, []Fact(nil)
		if event.Change.Status == TaskDone {
			kind = ActivityTaskCompleted
		}
		if event.Change.Status != 0 {
			facts = append(facts, factText(FactStatus, event.Change.Status.String()))
		}
		return activity(kind, SubjectTask, event.Task, facts...)
	case *TaskClaimed:
		return activity(ActivityTaskClaimed, SubjectTask, event.Task, factID(FactClaim, event.Claim))
	case *TaskReleased:
		return activity(ActivityTaskReleased, SubjectTask, event.Task)
	case *TaskClaimExpired:
		// Any command may record the expiry; the actor is the holder of the claim.
		expired := activity(ActivityClaimExpired, SubjectTask, event.Task,
			factID(FactAgent, event.Agent))
		expired[0].Actor = event.Agent
		return expired
	}
	return nil
}

func contributionActivities(event Event) []Activity {
	of := func(kind ActivityType, contribution id.ID, facts ...Fact) []Activity {
		return activity(kind, SubjectContribution, contribution, facts...)
	}
	switch event := event.(type) {
	case *WorkspaceOpened:
		return activity(ActivityWorkspaceOpened, SubjectWorkspace, event.ID,
			factText(FactMode, event.Mode.String()))
	case *WorkspaceRefreshed:
		return activity(ActivityWorkspaceRefreshed, SubjectWorkspace, event.Workspace,
			factID(FactChangeset, event.Base), factNumber(FactConflicts, len(event.Conflicts)))
	case *ContributionSubmitted:
		return of(ActivityContributionSubmitted, event.ID, factID(FactRevision, event.Revision))
	case *RevisionSubmitted:
		return of(ActivityContributionSubmitted, event.Contribution, factID(FactRevision, event.ID))
	case *ContributionReviewed:
		return of(ActivityContributionReviewed, event.Contribution, factID(FactReview, event.ID),
			factID(FactRevision, event.Revision), factText(FactVerdict, event.Verdict.String()))
	case *ContributionConflicted:
		return of(ActivityContributionConflicted, event.Contribution,
			factNumber(FactConflicts, len(event.Conflicts)))
	case *ContributionAccepted:
		return of(ActivityContributionAccepted, event.Contribution,
			factID(FactChangeset, event.Changeset))
	case *ContributionRejected:
		return of(ActivityContributionRejected, event.Contribution)
	case *ContributionWithdrawn:
		return of(ActivityContributionWithdrawn, event.Contribution)
	}
	return nil
}

func recordActivities(event Event) []Activity {
	switch event := event.(type) {
	case *ProjectCreated:
		return activity(ActivityProjectCreated, SubjectProject, event.ID,
			factText(FactProjectKind, event.Kind.String()))
	case *ChangesetPublished:
		facts := []Fact{
			factText(FactSource, event.Source.String()), factNumber(FactOperations, len(event.Ops)),
		}
		if !event.Author.IsZero() {
			facts = append(facts, factID(FactAuthor, event.Author))
		}
		return activity(ActivityChangesetPublished, SubjectChangeset, event.ID, facts...)
	case *HandoffCreated:
		return activity(ActivityHandoffCreated, SubjectHandoff, event.ID)
	case *CheckpointCreated:
		return activity(ActivityCheckpointCreated, SubjectCheckpoint, event.ID)
	case *ArtifactCreated:
		return activity(ActivityArtifactCreated, SubjectArtifact, event.ID,
			factText(FactArtifactType, event.Type.String()), factID(FactChangeset, event.Changeset))
	case *DiscussionCreated:
		return activity(ActivityDiscussionCreated, SubjectDiscussion, event.ID)
	case *CommentAdded:
		facts := []Fact{factID(FactDiscussion, event.Discussion)}
		if !event.ReplyTo.IsZero() {
			facts = append(facts, factID(FactReplyTo, event.ReplyTo))
		}
		return activity(ActivityCommentCreated, SubjectComment, event.ID, facts...)
	case *VerificationCreated:
		found := &event.Finding
		return activity(ActivityVerificationCreated, SubjectVerification, event.ID,
			factText(FactEntityType, found.Entity.Type.String()),
			factText(FactEntity, found.Entity.ID.Format(found.Entity.Type.Prefix())),
			factText(FactVerificationKind, found.Kind.String()),
			factText(FactOutcome, found.Outcome.String()))
	case *MemberAdded:
		return activity(ActivityMemberAdded, SubjectAgent, event.Member.Agent,
			factText(FactRole, event.Member.Role.String()))
	case *MemberRemoved:
		return activity(ActivityMemberRemoved, SubjectAgent, event.Agent)
	case *AgentBlocked:
		return activity(ActivityAgentBlocked, SubjectAgent, event.Agent)
	case *AgentUnblocked:
		return activity(ActivityAgentUnblocked, SubjectAgent, event.Agent)
	}
	if activities := deletionActivities(event); activities != nil {
		return activities
	}
	return projectActivities(event)
}

// deletionActivities returns the activities about deleted records. They name the author.
func deletionActivities(event Event) []Activity {
	switch event := event.(type) {
	case *DiscussionDeleted:
		if !event.Author.IsZero() {
			return activity(ActivityDiscussionDeleted, SubjectDiscussion, event.Discussion,
				factID(FactAuthor, event.Author))
		}
	case *CommentDeleted:
		if !event.Author.IsZero() {
			return activity(ActivityCommentDeleted, SubjectComment, event.Comment,
				factID(FactDiscussion, event.Discussion), factID(FactAuthor, event.Author))
		}
	case *VerificationDeleted:
		return activity(ActivityVerificationDeleted, SubjectVerification, event.Verification,
			factID(FactAuthor, event.Author))
	case *ReviewDeleted:
		return activity(ActivityReviewDeleted, SubjectContribution, event.Contribution,
			factID(FactReview, event.Review), factID(FactAuthor, event.Author))
	case *ContributionDeleted:
		return activity(ActivityContributionDeleted, SubjectContribution, event.Contribution,
			factID(FactAuthor, event.Author))
	case *HandoffDeleted:
		return activity(ActivityHandoffDeleted, SubjectHandoff, event.Handoff,
			factID(FactAuthor, event.Author))
	}
	return nil
}

// projectActivities returns the activities about the project itself, and those that name another
// project. The event does not contain the ID of its project, so the caller sets the subject.
func projectActivities(event Event) []Activity {
	switch event := event.(type) {
	case *ProjectUpdated:
		all := activity(ActivityProjectUpdated, SubjectProject, id.ID{})
		if event.Was != 0 {
			all = append(all, activity(ActivityVisibilityChanged, SubjectProject, id.ID{},
				factText(FactVisibility, event.About.Visibility.String()))...)
		}
		return all
	case *ProjectHidden, *ProjectShown:
		return activity(ActivityProjectUpdated, SubjectProject, id.ID{})
	case *ProjectDeleted:
		return activity(ActivityProjectDeleted, SubjectProject, id.ID{})
	case *ProjectRestored:
		return activity(ActivityProjectRestored, SubjectProject, id.ID{})
	case *TurnEnded:
		return activity(ActivityTurnEnded, SubjectProject, id.ID{}, factID(FactAgent, event.Agent))
	case *StateUpdated:
		return activity(ActivityStateUpdated, SubjectProject, id.ID{},
			factID(FactChangeset, event.Changeset))
	case *ProjectForked:
		all := activityOfOther(event.Project, ActivityForkCreated, SubjectProject, id.ID{},
			factID(FactChangeset, event.ID), factID(FactSourceProject, event.Project),
			factID(FactSourceChangeset, event.Changeset))
		return append(all, activity(ActivityChangesetPublished, SubjectChangeset, event.ID,
			factText(FactSource, SourceFork.String()),
			factNumber(FactOperations, event.Files))...)
	case *ArtifactImported:
		return activityOfOther(event.Source, ActivityArtifactImported, SubjectImport, event.ID,
			factID(FactChangeset, event.Changeset), factID(FactArtifact, event.Artifact),
			factID(FactSourceProject, event.Source))
	case *RelationCreated:
		return activityOfOther(event.Target, ActivityRelationCreated, SubjectRelation, event.ID,
			factText(FactRelationType, event.Type.String()),
			factID(FactTargetProject, event.Target))
	}
	return nil
}

func activityOfOther(
	other id.ID, kind ActivityType, about SubjectType, subject id.ID, facts ...Fact,
) []Activity {
	all := activity(kind, about, subject, facts...)
	all[0].Other = other
	return all
}
