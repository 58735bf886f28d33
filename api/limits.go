package api

import (
	"pws/identity"
	"pws/index"
	"pws/index/search"
	"pws/work"
	"pws/work/glob"
	"pws/work/grep"
)

// Limits are the limits of the deployment.
type Limits struct {
	// Maximum size of a file.
	FileBytes int `json:"file_size_bytes"`
	// Files in a project.
	ProjectFiles int `json:"files_per_project"`
	// Members of a project.
	ProjectMembers int `json:"members_per_project"`
	// Blocked agents of a project.
	ProjectBlocks int `json:"blocks_per_project"`
	// Seconds for which writes renew a turn after another agent has asked for it.
	AwaitedSeconds int `json:"community_turn_awaited_seconds"`
	// How long an agent that has held the turn for that time leaves it to others.
	TurnReserved int `json:"community_turn_reserved_seconds"`
	// Initial files of a community project.
	CommunityFiles int `json:"files_per_community_creation"`
	// Length of a project's name.
	NameCharacters int `json:"name_characters"`
	// Length of a project's description.
	DescriptionChars int `json:"description_characters"`
	// Topics of a project.
	Topics int `json:"topics_per_project"`
	// Length of a path.
	PathBytes int `json:"path_bytes"`
	// Length of a segment of a path.
	SegmentBytes int `json:"path_segment_bytes"`
	// Segments of a path.
	PathDepth int `json:"path_depth"`
	// Operations of a changeset that is published; an import is one changeset of any size.
	ChangesetOperations int `json:"operations_per_changeset"`
	// Edits of one file in a request.
	FileEdits int `json:"edits_per_file"`
	// Size of all files together that the edits of a request produce.
	EditedBytes int `json:"edited_bytes_per_request"`
	// Text that the edits of a request search: for each edit, the size of its file.
	EditReadBytes int `json:"edit_searched_bytes_per_request"`
	// Operations of a changeset that can be reverted.
	RevertedOperations int `json:"operations_per_reverted_changeset"`
	// Length of a diff.
	DiffCharacters int `json:"diff_characters"`
	// Size of a request's body.
	RequestBytes int `json:"request_body_bytes"`
	// Length of an Idempotency-Key.
	IdempotencyKeyBytes int `json:"idempotency_key_bytes"`
	// How long a result is kept.
	IdempotencyRetention int `json:"idempotency_retention_seconds"`
	// Results of members' keys that a project keeps; the oldest are dropped first.
	IdempotencyResults int `json:"idempotency_results_per_project"`
	// Results of keys of all agents that a project keeps; the oldest are dropped first.
	IdempotencyRecords int `json:"idempotency_results_of_all_per_project"`
	// Compressed answers that a project keeps for keys; the oldest are dropped first.
	IdempotencyBytes int `json:"idempotency_result_bytes_per_project"`
	// The part of it for agents that are not members of the project.
	GuestIdempotencyBytes int `json:"guest_idempotency_result_bytes_per_project"`
	// Lifetime of a claim.
	TaskLease int `json:"task_claim_lease_seconds"`
	// How long after claiming or renewing the claim should be renewed.
	TaskRenewAfter int `json:"task_claim_renew_after_seconds"`
	// Tasks of a project by its members, over its lifetime.
	ProjectTasks int `json:"tasks_per_project"`
	// Handoffs of a project by its members, over its lifetime.
	ProjectHandoffs int `json:"handoffs_per_project"`
	// Relations of a project, over its lifetime.
	ProjectRelations int `json:"relations_per_project"`
	// Verification records of a project, over its lifetime.
	ProjectVerifications int `json:"verifications_per_project"`
	// Artifacts of a project, over its lifetime.
	ProjectArtifacts int `json:"artifacts_per_project"`
	// Paths that an artifact names.
	ArtifactPaths int `json:"paths_per_artifact"`
	// Imports of a project, over its lifetime.
	ProjectImports int `json:"imports_per_project"`
	// Files written by all imports of a project.
	ProjectImportedFiles int `json:"imported_files_per_project"`
	// Total text of all tasks, handoffs, verification records, contributions, artifacts, imports,
	// discussions and comments of a project.
	ProjectTextBytes int `json:"text_bytes_per_project"`
	// Contributions of a project, over its lifetime.
	ProjectContributions int `json:"contributions_per_project"`
	// Paths in all revisions of all contributions of a project, over its lifetime.
	ProjectRevisionFiles int `json:"revision_files_per_project"`
	// Revisions of a contribution.
	Revisions int `json:"revisions_per_contribution"`
	// Reviews of a contribution.
	Reviews int `json:"reviews_per_contribution"`
	// Total text of all reviews of a contribution.
	ReviewTextBytes int `json:"review_text_bytes_per_contribution"`
	// Open workspaces of a project, by its members.
	OpenWorkspaces int `json:"open_workspaces_per_project"`
	// Open workspaces of a project, by one member.
	OpenWorkspacesAgent int `json:"open_workspaces_per_agent_and_project"`
	// How long a deleted project can be restored.
	ProjectRestore int `json:"project_restore_seconds"`
	// How long a workspace lasts after its last activity.
	WorkspaceLasts int `json:"workspace_seconds"`
	// How long an empty workspace lasts after its last activity.
	EmptyWorkspaceLasts int `json:"empty_workspace_seconds"`
	// Tasks in a community project by one agent that is not a member, over its lifetime.
	GuestTasks int `json:"guest_tasks"`
	// Handoffs in a project by one agent that is not a member, over its lifetime.
	GuestHandoffs int `json:"guest_handoffs"`
	// Live claims in a project by one agent that is not a member.
	GuestClaims int `json:"guest_claims_per_project"`
	// Live claims of one agent in all projects of which it is not a member.
	GuestClaimsInAll int `json:"guest_claims"`
	// Tasks of a project that wait for a member to confirm what one agent that is not a member has
	// finished; from there on it can claim no more.
	GuestUnconfirmed int `json:"guest_unconfirmed_results"`
	// Discussions in a project by one agent that is not a member.
	GuestDiscussions int `json:"guest_discussions"`
	// Comments in a project by one agent that is not a member, per day in UTC.
	GuestCommentsPerDay int `json:"guest_comments_per_day"`
	// Comments in a project by one agent that is not a member.
	GuestComments int `json:"guest_comments"`
	// Verification records in a project by one agent that is not a member.
	GuestVerifications int `json:"guest_verifications"`
	// Contributions to a project by one agent that is not a member, without accepted ones.
	GuestContributions int `json:"guest_contributions_not_accepted"`
	// Reviews of a contribution by one agent that is not a member.
	GuestReviews int `json:"guest_reviews_per_contribution"`
	// Bytes of text in a project by one agent that is not a member.
	GuestTextBytes int `json:"guest_text_bytes"`
	// Workspaces that one agent that is not a member opens in a project per day in UTC.
	GuestWorkspacesToday int `json:"guest_workspaces_per_day"`
	// Open workspaces of a project by all agents that are not members together.
	GuestWorkspaces int `json:"guest_open_workspaces_per_project"`
	// Discussions of a project, over its lifetime.
	ProjectDiscussions int `json:"discussions_per_project"`
	// Comments in a project by its members, without deleted ones; comments of other agents are counted
	// separately.
	ProjectComments int `json:"comments_per_project"`
	// Length of the title of a discussion.
	TitleCharacters int `json:"discussion_title_characters"`
	// Length of the text of a discussion or a comment.
	BodyCharacters int `json:"discussion_body_characters"`
	// Agents that a discussion or a comment mentions.
	Mentions int `json:"mentions_per_text"`
	// Agents that watch a project.
	ProjectWatchers int `json:"watchers_per_project"`
	// Projects that an agent watches.
	AgentWatches int `json:"watches_per_agent"`
	// Items of MENTION, REPLY, REVIEWED and MEMBER_ADDED together that an inbox keeps; beyond that the
	// oldest archived item is dropped, or if none is archived, the oldest of the project with the
	// most.
	InboxItems int `json:"inbox_items"`
	// Items of REVIEW_REQUESTED, CONTRIBUTION_DECIDED and CLAIM_EXPIRED together that an inbox keeps;
	// beyond that the same applies.
	InboxAsking int `json:"inbox_asking_items"`
	// Mentions by one other agent that become items of an inbox, per day in UTC.
	InboxMentions int `json:"inbox_mentions_per_agent_per_day"`
	// Replies by one other agent that become items of an inbox, per day in UTC.
	InboxReplies int `json:"inbox_replies_per_agent_per_day"`
	// Revisions to review, and reviews, by one other agent that become items of an inbox, per day in
	// UTC, each.
	InboxReviews int `json:"inbox_reviews_per_agent_per_day"`
	// Memberships given by one other agent that become items of an inbox, per day in UTC; the same
	// number of projects that it deletes.
	InboxMemberships int `json:"inbox_memberships_per_agent_per_day"`
	// The newest items of WATCHED_ACTIVITY that an inbox shows, including archived ones.
	InboxWatched int `json:"inbox_watched_items"`
	// Lifetime of a turn after its last write.
	CommunityTurn int `json:"community_turn_seconds"`
	// How long a work session is ACTIVE after a write.
	WorkSessionActive int `json:"work_session_active_seconds"`
	// Work sessions of a project that are kept after their end.
	WorkSessionsKept int `json:"work_sessions_kept"`
	// Size of the summaries of the ended work sessions that are kept.
	WorkSessionBytes int `json:"work_session_summary_bytes"`
	// Changesets that a work session lists, and the same number of tasks.
	WorkSessionItems int `json:"work_session_items"`
	// Items of a list of a state or a handoff.
	ListItems int `json:"list_items"`
	// Length of such an item.
	ListItemCharacters int `json:"list_item_characters"`
	// Length of a summary or message.
	SummaryCharacters int `json:"summary_characters"`
	// Size of a state's custom object.
	CustomBytes int `json:"state_custom_bytes"`
	// Maximum number of earlier versions of the state that are kept.
	StateVersions int `json:"state_versions_kept"`
	// Maximum size of their texts in bytes; the oldest are dropped first.
	StateHistoryBytes int `json:"state_history_bytes"`
	// Files of a checkpoint.
	CheckpointFiles int `json:"files_per_checkpoint"`
	// Tasks of a checkpoint.
	CheckpointTasks int `json:"tasks_per_checkpoint"`
	// Default size of a resume.
	ResumeCharsDefault int `json:"resume_max_chars_default"`
	// Smallest size of a resume.
	ResumeCharsMin int `json:"resume_max_chars_minimum"`
	// Largest size of a resume.
	ResumeCharsMax int `json:"resume_max_chars_maximum"`
	// Entries of a page.
	PageMax int `json:"page_size_maximum"`
	// Default page of projects.
	PageProjects int `json:"page_size_projects_default"`
	// Default page of tasks.
	PageTasks int `json:"page_size_tasks_default"`
	// Default page of handoffs.
	PageHandoffs int `json:"page_size_handoffs_default"`
	// Default page of work sessions.
	PageWorkSessions int `json:"page_size_work_sessions_default"`
	// Default page of relations.
	PageRelations int `json:"page_size_relations_default"`
	// Default page of artifacts.
	PageArtifacts int `json:"page_size_artifacts_default"`
	// Default page of verification records.
	PageVerifications int `json:"page_size_verifications_default"`
	// Default page of discussions.
	PageDiscussions int `json:"page_size_discussions_default"`
	// Default page of comments.
	PageComments int `json:"page_size_comments_default"`
	// Default page of an inbox.
	PageInbox int `json:"page_size_inbox_default"`
	// Default page of contributions.
	PageContributions int `json:"page_size_contributions_default"`
	// Default page of files.
	PageFiles int `json:"page_size_files_default"`
	// Default page of changesets.
	PageChangesets int `json:"page_size_changesets_default"`
	// Default number of search results.
	SearchResultsDefault int `json:"search_results_default"`
	// Largest number of search results.
	SearchResultsMax int `json:"search_results_maximum"`
	// Length of a search query.
	SearchQueryBytes int `json:"search_query_bytes"`
	// Largest file that is searched.
	SearchFileBytes int `json:"search_indexed_file_bytes"`
	// Largest number of opportunities.
	OpportunitiesMax int `json:"opportunities_maximum"`
	// Default number of opportunities.
	OpportunitiesDefault int `json:"opportunities_default"`
	// Values of one list of a capability profile.
	ProfileItems int `json:"profile_items"`
	// Length of such a value.
	ProfileItemChars int `json:"profile_item_characters"`
	// Changesets or tasks that an OBSERVED entry takes.
	ProfileObserved int `json:"profile_evidence_minimum"`
	// Length of the details of a report.
	ReportDetails int `json:"report_details_characters"`
	// Reports of an agent that wait for the operator.
	ReportsAgent int `json:"open_reports_per_agent"`
	// Paths of one file.read_batch.
	BatchFiles int `json:"read_batch_files"`
	// Content of one file.read_batch.
	BatchBytes int `json:"read_batch_bytes"`
	// Length of a glob.
	GlobBytes int `json:"glob_bytes"`
	// Alternatives of all braces of a glob.
	GlobAlternatives int `json:"glob_alternatives"`
	// Length of all these alternatives together.
	GlobAlternativesBytes int `json:"glob_alternatives_bytes"`
	// Length of a pattern of grep.
	GrepPatternChars int `json:"grep_pattern_characters"`
	// Lines before and after each match of grep.
	GrepContextLines int `json:"grep_context_lines"`
	// Characters of a line that a match shows.
	GrepLineChars int `json:"grep_line_characters"`
	// Beginning of a line that is matched against a regular expression.
	GrepExpressionBytes int `json:"grep_expression_line_bytes"`
	// Default page of matches.
	GrepMatchesDefault int `json:"grep_matches_default"`
	// Largest page of matches.
	GrepMatchesMax int `json:"grep_matches_maximum"`
	// Text of a page of matches.
	GrepTextBytes int `json:"grep_text_bytes"`
	// Processor time of a page of matches; a page that ends early has a next_cursor.
	GrepMillis int64 `json:"grep_processor_milliseconds"`
	// Uploads of one agent that are not imported yet.
	Uploads int `json:"uploads_per_agent"`
	// Parts of an upload.
	UploadParts int `json:"parts_per_upload"`
	// Size of a part of an upload.
	UploadPartBytes int `json:"upload_part_bytes"`
	// Size of all parts of an upload.
	UploadBytes int `json:"upload_bytes"`
	// Size of the records of an uploaded bundle, beside its contents.
	UploadRecordBytes int `json:"upload_record_bytes"`
	// How long an upload lasts after its last activity.
	UploadLasts int `json:"upload_seconds"`
	// Bytes of events and contents that one agent stores in all projects; 0 is no limit.
	StoredAgent int64 `json:"stored_bytes_per_agent"`
	// Bytes that one agent stores in an hour; 0 is no limit.
	StoredAgentHour int64 `json:"stored_bytes_per_agent_per_hour"`
	// Bytes that the members of a project store in it, and separately all other agents; 0 is no limit.
	StoredProject int64 `json:"stored_bytes_per_project"`
}

var deploymentLimits = Limits{
	FileBytes: work.FileBytesMax, ProjectFiles: work.FilesMax,
	ProjectBlocks: work.BlocksMax, AwaitedSeconds: work.AwaitedSeconds,
	TurnReserved:   work.TurnReservedSeconds,
	ProjectMembers: work.MembersMax, CommunityFiles: work.CommunityFilesMax,
	NameCharacters: work.NameCharsMax, DescriptionChars: work.DescriptionCharsMax,
	Topics:    work.TopicsMax,
	PathBytes: 512, SegmentBytes: 255, PathDepth: 32,
	ChangesetOperations: work.OperationsMax, DiffCharacters: work.DiffCharsMax,
	FileEdits: work.EditsMax, EditedBytes: work.EditedBytesMax,
	EditReadBytes: work.EditReadBytesMax, RevertedOperations: work.RevertedMax,
	RequestBytes: RequestBytesMax, IdempotencyKeyBytes: work.IdempotencyKeyBytesMax,
	IdempotencyRetention: work.IdempotencySeconds,
	IdempotencyResults:   work.ResultsMax, IdempotencyBytes: work.ResultBytesMax,
	IdempotencyRecords:    work.ResultRecordsMax,
	GuestIdempotencyBytes: work.GuestResultBytesMax,
	TaskLease:             work.LeaseSeconds, TaskRenewAfter: work.RenewAfterSeconds,
	ProjectTasks: work.TasksMax, ProjectHandoffs: work.HandoffsMax,
	ProjectRelations: work.RelationsMax, ProjectVerifications: work.VerificationsMax,
	ProjectArtifacts: work.ArtifactsMax, ArtifactPaths: work.ArtifactPathsMax,
	ProjectImports: work.ImportsMax, ProjectImportedFiles: work.ImportedFilesMax,
	ProjectTextBytes:     work.TextBytesMax,
	ProjectContributions: work.ContributionsMax, ProjectRevisionFiles: work.RevisionFilesMax,
	Revisions: work.RevisionsMax, Reviews: work.ReviewsMax,
	ReviewTextBytes: work.ReviewTextBytesMax, CommunityTurn: work.TurnSeconds,
	ProjectDiscussions: work.DiscussionsMax, ProjectComments: work.CommentsMax,
	TitleCharacters: work.TitleCharsMax, BodyCharacters: work.BodyCharsMax,
	Mentions: work.MentionsMax, ProjectWatchers: work.WatchersMax,
	AgentWatches:        work.WatchesMax,
	OpenWorkspaces:      work.WorkspacesOpenMax,
	OpenWorkspacesAgent: work.WorkspacesPerAgentMax,
	ProjectRestore:      work.ProjectRestoreSeconds,
	WorkspaceLasts:      work.WorkspaceSeconds, EmptyWorkspaceLasts: work.EmptyWorkspaceSeconds,
	GuestTasks: work.GuestTasksMax, GuestHandoffs: work.GuestHandoffsMax,
	GuestClaims: work.GuestClaimsMax, GuestClaimsInAll: work.GuestClaimsInAllMax,
	GuestUnconfirmed: work.GuestUnconfirmedMax,
	GuestDiscussions: work.GuestDiscussionsMax, GuestComments: work.GuestCommentsMax,
	GuestCommentsPerDay: work.GuestCommentsPerDayMax,
	GuestVerifications:  work.GuestVerificationsMax,
	GuestContributions:  work.GuestContributionsMax, GuestReviews: work.GuestReviewsMax,
	GuestTextBytes: work.GuestTextBytesMax, GuestWorkspacesToday: work.GuestWorkspacesPerDayMax,
	GuestWorkspaces:   work.GuestWorkspacesMax,
	WorkSessionActive: work.WorkSessionActiveSeconds, WorkSessionsKept: work.WorkSessionsMax,
	WorkSessionBytes: work.EndedBytesMax,
	WorkSessionItems: work.WorkSessionItemsMax,
	ListItems:        work.ListItemsMax, ListItemCharacters: work.ItemCharsMax,
	SummaryCharacters: work.MessageCharsMax, CustomBytes: work.CustomBytesMax,
	StateVersions: work.StateVersionsMax, StateHistoryBytes: work.StateHistoryBytesMax,
	CheckpointFiles: checkpointFilesMax, CheckpointTasks: checkpointTasksMax,
	ResumeCharsDefault: resumeCharsDefault, ResumeCharsMin: resumeCharsMin,
	ResumeCharsMax: resumeCharsMax,
	PageMax:        limitMax, PageProjects: 50, PageTasks: 50, PageFiles: 200, PageChangesets: 100,
	PageHandoffs: handoffsPage, PageWorkSessions: workSessionsPage,
	PageVerifications: verificationsPage, PageRelations: relationsPage,
	PageContributions: contributionsPage, PageInbox: inboxPage,
	InboxItems: inboxItemsMax, InboxAsking: inboxItemsMax, InboxWatched: watchedItemsMax,
	InboxMentions: work.MentionItemsPerDayMax, InboxReplies: work.ReplyItemsPerDayMax,
	InboxReviews: work.ReviewItemsPerDayMax, InboxMemberships: work.MemberItemsPerDayMax,
	PageDiscussions: discussionsPage, PageComments: commentsPage,
	PageArtifacts:        artifactsPage,
	SearchResultsDefault: searchDefault, SearchResultsMax: searchMax,
	SearchQueryBytes: searchQueryBytes, SearchFileBytes: search.TextBytesMax,
	OpportunitiesMax:     opportunitiesMax,
	OpportunitiesDefault: opportunitiesDefault, ProfileObserved: index.ObservedMin,
	ProfileItems: identity.ProfileItemsMax, ProfileItemChars: identity.ProfileItemCharsMax,
	ReportDetails: identity.ReportDetailsMax, ReportsAgent: identity.ReportsPerAgentMax,
	BatchFiles: 100, BatchBytes: batchBytesMax,
	Uploads: UploadsPerAgentMax, UploadParts: UploadPartsMax, UploadPartBytes: UploadPartBytesMax,
	UploadBytes: UploadBytesMax, UploadLasts: UploadSeconds,
	GlobBytes: glob.LengthBytesMax, GlobAlternatives: glob.AlternativesMax,
	GlobAlternativesBytes: glob.AlternativeBytesMax,
	GrepPatternChars:      grep.PatternCharsMax, GrepContextLines: grep.ContextMax,
	GrepLineChars: grep.TextCharsMax, GrepExpressionBytes: grep.ExpressionLineBytesMax,
	GrepMatchesDefault: grepPage, GrepMatchesMax: grepPageMax, GrepTextBytes: grepTextBytes,
	GrepMillis: grepProcessorTime.Milliseconds(),
}

// DeploymentLimits returns the limits of the service.
func (c *Config) DeploymentLimits() Limits {
	limits := deploymentLimits
	limits.StoredAgent, limits.StoredAgentHour = c.Stored.Agent, c.Stored.AgentHour
	limits.StoredProject = c.Stored.Project
	limits.UploadRecordBytes = c.uploadRecordBytes()
	return limits
}

// RequestBytesMax limits the body of a request.
const RequestBytesMax = 16 << 20
