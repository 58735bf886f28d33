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
	MembersMax             = 1000

	// ListItemsMax and ItemCharsMax bound the lists of state and handoffs.
	ListItemsMax   = 100
	ItemCharsMax   = 2000
	CustomBytesMax = 32 << 10
	// TasksMax and HandoffsMax count what a project ever had, VerificationsMax those of members;
	// TextBytesMax is the size of all texts of members together.
	TasksMax         = 10_000
	HandoffsMax      = 10_000
	VerificationsMax = 10_000
	TextBytesMax     = 64 << 20
	// RelationsMax counts what a project ever said of others.
	RelationsMax = 500
	// ArtifactsMax and ImportsMax count what a project ever had, ImportedFilesMax the files that all
	// its imports have written.
	ArtifactsMax     = 1000
	ArtifactPathsMax = 200
	ImportsMax       = 1000
	ImportedFilesMax = 100_000
	// ImportAuthorsMax is how many authors an import names.
	ImportAuthorsMax = 100

	LeaseSeconds             = 1800
	RenewAfterSeconds        = 600
	WorkSessionActiveSeconds = 300
	// WorkSessionsMax is how many work sessions that have ended are kept, WorkSessionItemsMax how
	// many of the newest changesets and tasks each of them names.
	WorkSessionsMax     = 1000
	WorkSessionItemsMax = 200

	// ContributionsMax counts what members ever made, RevisionFilesMax the paths of all their
	// revisions. RevisionsMax, ReviewsMax and ReviewTextBytesMax are those of one contribution.
	ContributionsMax   = 10_000
	RevisionFilesMax   = 200_000
	RevisionsMax       = 50
	ReviewsMax         = 100
	ReviewTextBytesMax = 1 << 20

	// DiscussionsMax and CommentsMax count what members wrote and what was not deleted.
	DiscussionsMax = 10_000
	CommentsMax    = 50_000
	// TitleCharsMax limits the title of a discussion, BodyCharsMax the body of a discussion or a
	// comment.
	TitleCharsMax = 200
	BodyCharsMax  = 20_000
	// MentionsMax is how many agents a discussion or a comment mentions.
	MentionsMax = 20
	// MentionItemsPerDayMax, ReplyItemsPerDayMax and MemberItemsPerDayMax are how many mentions of an
	// agent by one other, replies of one other and memberships given by one other become items of its
	// inbox on one day in UTC.
	MentionItemsPerDayMax = 20
	ReplyItemsPerDayMax   = 100
	MemberItemsPerDayMax  = 20
	// WatchersMax is how many agents watch a project, WatchesMax how many projects an agent watches.
	WatchersMax = 10_000
	WatchesMax  = 500

	// What an agent that is no member may leave in a project: these bound one agent, and all such
	// agents together have a room of their own. GuestCommentsPerDayMax and GuestWorkspacesPerDayMax
	// count a day in UTC, GuestContributionsMax those that were not accepted, GuestReviewsMax the
	// reviews of one contribution.
	GuestDiscussionsMax      = 100
	GuestCommentsPerDayMax   = 1000
	GuestCommentsMax         = 5000
	GuestVerificationsMax    = 100
	GuestContributionsMax    = 100
	GuestReviewsMax          = 20
	GuestTextBytesMax        = 4 << 20
	GuestWorkspacesPerDayMax = 100
	// GuestWorkspacesMax bounds the open workspaces of all agents that are no members.
	GuestWorkspacesMax = 5000

	// TurnSeconds is the duration of a turn after the last write in its workspace.
	TurnSeconds = 1800
	// WorkspacesOpenMax and WorkspacesPerAgentMax count the workspaces of a project that are not over:
	// those of members, and those of one agent.
	WorkspacesOpenMax     = 1000
	WorkspacesPerAgentMax = 20
	// WorkspaceSeconds is how long a workspace lasts after its last activity, EmptyWorkspaceSeconds
	// how long one that holds nothing does.
	WorkspaceSeconds      = 30 * 86_400
	EmptyWorkspaceSeconds = 86_400
)
