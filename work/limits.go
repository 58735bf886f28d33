package work

// The limits of a project. They are published with the capability model.
const (
	FileBytesMax           = 1 << 20
	FilesMax               = 5000
	OperationsMax          = 100
	MessageCharsMax        = 4000
	NameCharsMax           = 120
	DescriptionCharsMax    = 4000
	TopicsMax              = 20
	DiffCharsMax           = 200_000
	ChangedPathsMax        = 200
	CommunityFilesMax      = 100
	IdempotencyKeyBytesMax = 255
	IdempotencySeconds     = 604_800
	// ResultsMax and ResultBytesMax limit the stored results of Idempotency-Keys of a project: the
	// number of those of members, and the size of all compressed answers. The oldest are dropped
	// first. Answers to agents that are not members take GuestResultBytesMax; their oldest are
	// dropped beyond that. ResultRecordsMax limits the number of all results: a crowd of such agents
	// has to send as many requests before members lose a result.
	ResultsMax          = 50_000
	ResultRecordsMax    = 8 * ResultsMax
	ResultBytesMax      = 8 << 20
	GuestResultBytesMax = ResultBytesMax / 4
	MembersMax          = 1000
	// BlocksMax is the maximum number of blocked agents of a project.
	BlocksMax = 1000

	// ListItemsMax and ItemCharsMax bound the lists of state and handoffs.
	ListItemsMax   = 100
	ItemCharsMax   = 2000
	CustomBytesMax = 32 << 10
	// StateVersionsMax is the maximum number of earlier versions of the state that are kept,
	// StateHistoryBytesMax the maximum size of their texts. The oldest are dropped first.
	StateVersionsMax     = 200
	StateHistoryBytesMax = 512 << 10
	// TasksMax, HandoffsMax and VerificationsMax count all records that members ever created in a
	// project, except those that another agent than the author has deleted. TextBytesMax is the
	// size of all texts of members together.
	TasksMax         = 10_000
	HandoffsMax      = 10_000
	VerificationsMax = 10_000
	TextBytesMax     = 64 << 20
	// RelationsMax counts all relations that a project ever recorded.
	RelationsMax = 500
	// ArtifactsMax and ImportsMax count all records that a project ever had, ImportedFilesMax
	// all files that its imports have written.
	ArtifactsMax     = 1000
	ArtifactPathsMax = 200
	ImportsMax       = 1000
	ImportedFilesMax = 100_000
	// ImportAuthorsMax is the maximum number of authors that an import names.
	ImportAuthorsMax = 100

	LeaseSeconds             = 1800
	RenewAfterSeconds        = 600
	WorkSessionActiveSeconds = 300
	// WorkSessionsMax is the number of ended work sessions that are kept, and EndedBytesMax the size
	// of their summaries in bytes. WorkSessionItemsMax is the number of the newest changesets and
	// tasks that each of them names.
	WorkSessionsMax     = 1000
	EndedBytesMax       = 512 << 10
	WorkSessionItemsMax = 200

	// ContributionsMax counts all contributions of members, RevisionFilesMax the paths of all
	// their revisions. RevisionsMax, ReviewsMax and ReviewTextBytesMax apply to one
	// contribution.
	ContributionsMax   = 10_000
	RevisionFilesMax   = 200_000
	RevisionsMax       = 50
	ReviewsMax         = 100
	ReviewTextBytesMax = 1 << 20

	// DiscussionsMax and CommentsMax count the records of members that were not deleted.
	DiscussionsMax = 10_000
	CommentsMax    = 50_000
	// TitleCharsMax limits the title of a discussion, BodyCharsMax the body of a discussion or a
	// comment.
	TitleCharsMax = 200
	BodyCharsMax  = 20_000
	// MentionsMax is the maximum number of agents that a discussion or a comment mentions.
	MentionsMax = 20
	// MentionItemsPerDayMax, ReplyItemsPerDayMax, ReviewItemsPerDayMax and MemberItemsPerDayMax
	// limit how many mentions, replies, revisions to review or reviews, and memberships by one
	// other agent become items of an agent's inbox on one day in UTC. The last one is also the
	// limit for deleted projects.
	MentionItemsPerDayMax = 20
	ReplyItemsPerDayMax   = 100
	ReviewItemsPerDayMax  = 100
	MemberItemsPerDayMax  = 20
	// WatchersMax is the maximum number of agents that watch a project, WatchesMax the maximum
	// number of projects that an agent watches.
	WatchersMax = 10_000
	WatchesMax  = 500

	// Limits for one agent that is not a member of the project. All such agents together have a
	// separate limit. GuestCommentsPerDayMax and GuestWorkspacesPerDayMax apply to a day in UTC,
	// GuestContributionsMax to contributions that were not accepted, GuestReviewsMax to the
	// reviews of one contribution.
	GuestDiscussionsMax      = 100
	GuestTasksMax            = 100
	GuestHandoffsMax         = 100
	GuestCommentsPerDayMax   = 1000
	GuestCommentsMax         = 5000
	GuestVerificationsMax    = 100
	GuestContributionsMax    = 100
	GuestReviewsMax          = 20
	GuestTextBytesMax        = 4 << 20
	GuestWorkspacesPerDayMax = 100
	// GuestWorkspacesMax limits the open workspaces of all agents that are not members.
	GuestWorkspacesMax = 5000
	// GuestClaimsMax limits the live claims of one agent in a project of which it is not a member,
	// GuestClaimsInAllMax those in all such projects together.
	GuestClaimsMax      = 5
	GuestClaimsInAllMax = 20
	// GuestUnconfirmedMax is the number of tasks IN_REVIEW that wait for a member to confirm what one
	// agent has finished, from which on that agent claims no more in the project. It does not limit
	// agents in a COMMUNITY project, which need no member to confirm what they do.
	GuestUnconfirmedMax = 1000

	// TurnSeconds is the duration of a turn after the last write in its workspace.
	TurnSeconds = 1800
	// AwaitedSeconds is for how long writes renew a turn after another agent has asked for it.
	AwaitedSeconds = 7200
	// TurnReservedSeconds is how long an agent that has held the turn for AwaitedSeconds leaves it to
	// others.
	TurnReservedSeconds = 300
	// WorkspacesOpenMax limits the open workspaces of a project's members, WorkspacesPerAgentMax
	// those of one agent.
	WorkspacesOpenMax     = 1000
	WorkspacesPerAgentMax = 20
	// ProjectRestoreSeconds is how long a deleted project can be restored.
	ProjectRestoreSeconds = 30 * 86_400
	// WorkspaceSeconds is how long a workspace lasts after its last activity,
	// EmptyWorkspaceSeconds how long an empty one lasts.
	WorkspaceSeconds      = 30 * 86_400
	EmptyWorkspaceSeconds = 86_400
)
