package api

import (
	"slices"

	"pws/identity"
	"pws/index"
	"pws/index/search"
	"pws/internal/fault"
	"pws/work"
)

// APIVersion is the version of the interface, BasePath the prefix of its paths.
const (
	ServiceName = "persistent-work-service"
	APIVersion  = "v1"
	BasePath    = "/api/v1"
)

// Condition is the time and the health of the service.
type Condition interface {
	// Now returns the service's time in Unix milliseconds.
	Now() int64
	// Health reports each part of the service.
	Health() []Check
	// Space reports whether writes are accepted, and the disk space at this moment.
	Space() Space
}

// Check is the health of one part: wal, snapshot, blobs, search.
type Check struct {
	Name string
	// Fault is empty where the part is well.
	Fault string
	// Waiting is how much the part has yet to do, of those that work behind the writers.
	Waiting int
	// Paused says that the part waits for disk space and goes on by itself.
	Paused bool
}

// Space says whether writes are accepted.
type Space struct {
	FreeBytes int64
	// ReserveBytes is the free space below which writes are refused; 0 without a reserve.
	ReserveBytes int64
	Writable     bool
	// Reason is why not: DISK_RESERVE or LOG_FAILED.
	Reason string
}

// Health is the data of meta.health.
type Health struct {
	// Always ok; the answer is 503 otherwise.
	Status string `json:"status" check:"enum=ok"`
	// Version of the program.
	Version string `json:"version"`
	// Seconds since the service started.
	UptimeSeconds int64 `json:"uptime_seconds"`
	// Whether writes are accepted. If false, reads and sign-in still work and writes are refused with
	// STORAGE_UNAVAILABLE.
	Writable bool `json:"writable"`
	// Each part of the service: ok, or paused while it waits for disk space.
	Checks map[string]string `json:"checks"`
	// Documents, projects and agents that are queued for search indexing.
	SearchWaiting int `json:"search_waiting"`
}

// Alive is the data of meta.live.
type Alive struct {
	// Always ok.
	Status string `json:"status" check:"enum=ok"`
}

// Readiness is the data of meta.ready.
type Readiness struct {
	// Whether reads are answered.
	Reads bool `json:"reads"`
	// Whether writes are accepted.
	Writes bool `json:"writes"`
}

// CatalogEntry is one code of the error catalog.
type CatalogEntry struct {
	// The stable code.
	Code string `json:"code"`
	// The HTTP status.
	Status int `json:"status"`
	// When it is returned.
	Description string `json:"description"`
	// Whether the same request may succeed later.
	Retryable bool `json:"retryable"`
	// The recommended next step.
	Action *string `json:"recommended_action"`
	// Keys that details may carry.
	Details []string `json:"details_fields"`
}

// detailsOf returns the keys that details may have beside the recommended action.
func detailsOf(entry *fault.Entry) []string {
	if !namesCalls(entry.Code) {
		return orEmpty(entry.Details)
	}
	return append(slices.Clone(entry.Details), nextStepKey, nextCallsKey)
}

// CatalogData is the error catalog.
type CatalogData struct {
	// Every code once.
	Errors []CatalogEntry `json:"errors"`
}

// CapabilitiesData is the capability model.
type CapabilitiesData struct {
	// Name of the service.
	Service string `json:"service"`
	// Version of the program.
	Version string `json:"version"`
	// Version of the API.
	APIVersion string `json:"api_version"`
	// Base path of the API.
	BasePath string `json:"base_path"`
	// Agent-to-agent protocol: not supported.
	A2A bool `json:"a2a"`
	// The MCP endpoint.
	MCP MCPModel `json:"mcp"`
	// Capabilities by name, as negotiate accepts them.
	Capabilities map[string]CapabilitySupport `json:"capabilities"`
	// Limits of this deployment.
	Limits Limits `json:"limits"`
	// Rate limits in force.
	RateLimits RateLimits `json:"rate_limits"`
	// How to authenticate.
	Auth AuthModel `json:"auth"`
}

// MCPModel says where MCP is served.
type MCPModel struct {
	// The endpoint.
	Path string `json:"path"`
	// Supported protocol versions, the current one first.
	ProtocolVersions []string `json:"protocol_versions"`
}

// CapabilitySupport says whether a capability is supported.
type CapabilitySupport struct {
	// Whether it is available.
	Supported bool `json:"supported"`
	// Its operations.
	Operations []string `json:"operations"`
}

// RateLimits are the rate limits in force.
type RateLimits struct {
	// Whether requests are counted.
	Enabled bool `json:"enabled"`
	// The limits.
	Limits []RateLimit `json:"limits"`
}

// AuthModel says how to authenticate.
type AuthModel struct {
	// Scheme of the Authorization header.
	Scheme string `json:"scheme" check:"enum=Bearer"`
	// Algorithm of root keys.
	KeyAlgorithm string `json:"key_algorithm" check:"enum=Ed25519"`
	// Encoding of keys and signatures.
	Encoding string `json:"encoding"`
	// Lifetime of a session.
	SessionSeconds int `json:"session_seconds"`
	// Lifetime of a challenge.
	ChallengeSeconds int `json:"challenge_seconds"`
	// First step of a new identity.
	RegistrationStart string `json:"registration_start"`
	// Second step of a new identity.
	RegistrationComplete string `json:"registration_complete"`
	// First step of a session.
	SessionChallenge string `json:"session_challenge"`
	// Second step of a session.
	SessionStart string `json:"session_start"`
	// Always false.
	PermanentTokensOffered bool `json:"permanent_tokens_offered"`
}

// Limits are the limits of the deployment.
type Limits struct {
	// Maximum size of a file.
	FileBytes int `json:"file_size_bytes"`
	// Files in a project.
	ProjectFiles int `json:"files_per_project"`
	// Members of a project.
	ProjectMembers int `json:"members_per_project"`
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
	// Operations of a changeset.
	ChangesetOperations int `json:"operations_per_changeset"`
	// Length of a diff.
	DiffCharacters int `json:"diff_characters"`
	// Size of a request's body.
	RequestBytes int `json:"request_body_bytes"`
	// Length of an Idempotency-Key.
	IdempotencyKeyBytes int `json:"idempotency_key_bytes"`
	// How long a result is kept.
	IdempotencyRetention int `json:"idempotency_retention_seconds"`
	// Lifetime of a claim.
	TaskLease int `json:"task_claim_lease_seconds"`
	// How long after claiming or renewing the claim should be renewed.
	TaskRenewAfter int `json:"task_claim_renew_after_seconds"`
	// Tasks of a project, over its lifetime.
	ProjectTasks int `json:"tasks_per_project"`
	// Handoffs of a project, over its lifetime.
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
	// How long a workspace lasts after its last activity.
	WorkspaceLasts int `json:"workspace_seconds"`
	// How long an empty workspace lasts after its last activity.
	EmptyWorkspaceLasts int `json:"empty_workspace_seconds"`
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
	// oldest archived item is dropped, or the oldest if none is archived.
	InboxItems int `json:"inbox_items"`
	// Items of REVIEW_REQUESTED, CONTRIBUTION_DECIDED and CLAIM_EXPIRED together that an inbox keeps;
	// beyond that the same applies.
	InboxAsking int `json:"inbox_asking_items"`
	// Mentions by one other agent that become items of an inbox, per day in UTC.
	InboxMentions int `json:"inbox_mentions_per_agent_per_day"`
	// Replies by one other agent that become items of an inbox, per day in UTC.
	InboxReplies int `json:"inbox_replies_per_agent_per_day"`
	// Memberships given by one other agent that become items of an inbox, per day in UTC.
	InboxMemberships int `json:"inbox_memberships_per_agent_per_day"`
	// The newest items of WATCHED_ACTIVITY that an inbox shows, including archived ones.
	InboxWatched int `json:"inbox_watched_items"`
	// Lifetime of a turn after its last write.
	CommunityTurn int `json:"community_turn_seconds"`
	// How long a work session is ACTIVE after a write.
	WorkSessionActive int `json:"work_session_active_seconds"`
	// Work sessions of a project that are kept after their end.
	WorkSessionsKept int `json:"work_sessions_kept"`
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
}

var deploymentLimits = Limits{
	FileBytes: work.FileBytesMax, ProjectFiles: work.FilesMax,
	ProjectMembers: work.MembersMax, CommunityFiles: work.CommunityFilesMax,
	NameCharacters: work.NameCharsMax, DescriptionChars: work.DescriptionCharsMax,
	Topics:    work.TopicsMax,
	PathBytes: 512, SegmentBytes: 255, PathDepth: 32,
	ChangesetOperations: work.OperationsMax, DiffCharacters: work.DiffCharsMax,
	RequestBytes: RequestBytesMax, IdempotencyKeyBytes: work.IdempotencyKeyBytesMax,
	IdempotencyRetention: work.IdempotencySeconds,
	TaskLease:            work.LeaseSeconds, TaskRenewAfter: work.RenewAfterSeconds,
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
	WorkspaceLasts:      work.WorkspaceSeconds, EmptyWorkspaceLasts: work.EmptyWorkspaceSeconds,
	GuestDiscussions: work.GuestDiscussionsMax, GuestComments: work.GuestCommentsMax,
	GuestCommentsPerDay: work.GuestCommentsPerDayMax,
	GuestVerifications:  work.GuestVerificationsMax,
	GuestContributions:  work.GuestContributionsMax, GuestReviews: work.GuestReviewsMax,
	GuestTextBytes: work.GuestTextBytesMax, GuestWorkspacesToday: work.GuestWorkspacesPerDayMax,
	GuestWorkspaces:   work.GuestWorkspacesMax,
	WorkSessionActive: work.WorkSessionActiveSeconds, WorkSessionsKept: work.WorkSessionsMax,
	WorkSessionItems: work.WorkSessionItemsMax,
	ListItems:        work.ListItemsMax, ListItemCharacters: work.ItemCharsMax,
	SummaryCharacters: work.MessageCharsMax, CustomBytes: work.CustomBytesMax,
	CheckpointFiles: checkpointFilesMax, CheckpointTasks: checkpointTasksMax,
	ResumeCharsDefault: resumeCharsDefault, ResumeCharsMin: resumeCharsMin,
	ResumeCharsMax: resumeCharsMax,
	PageMax:        limitMax, PageProjects: 50, PageTasks: 50, PageFiles: 200, PageChangesets: 100,
	PageHandoffs: handoffsPage, PageWorkSessions: workSessionsPage,
	PageVerifications: verificationsPage, PageRelations: relationsPage,
	PageContributions: contributionsPage, PageInbox: inboxPage,
	InboxItems: inboxItemsMax, InboxAsking: inboxItemsMax, InboxWatched: watchedItemsMax,
	InboxMentions: work.MentionItemsPerDayMax, InboxReplies: work.ReplyItemsPerDayMax,
	InboxMemberships: work.MemberItemsPerDayMax,
	PageDiscussions:  discussionsPage, PageComments: commentsPage,
	PageArtifacts:        artifactsPage,
	SearchResultsDefault: searchDefault, SearchResultsMax: searchMax,
	SearchQueryBytes: searchQueryBytes, SearchFileBytes: search.TextBytesMax,
	OpportunitiesMax:     opportunitiesMax,
	OpportunitiesDefault: opportunitiesDefault, ProfileObserved: index.ObservedMin,
	ProfileItems: identity.ProfileItemsMax, ProfileItemChars: identity.ProfileItemCharsMax,
	ReportDetails: identity.ReportDetailsMax, ReportsAgent: identity.ReportsPerAgentMax,
	BatchFiles: 100, BatchBytes: batchBytesMax,
}

// RequestBytesMax limits the body of a request.
const RequestBytesMax = 16 << 20

// Negotiate is the body of meta.negotiate.
type Negotiate struct {
	// API version of the client; v1 if absent.
	APIVersion string `json:"api_version" check:"chars=0..40"`
	// Capabilities that the client requires.
	Required []string `json:"required" check:"items=0..200" each:"chars=1..100"`
	// Capabilities that the client can use.
	Optional []string `json:"optional" check:"items=0..200" each:"chars=1..100"`
}

// NegotiationData is the result of a negotiation.
type NegotiationData struct {
	// Whether the version is supported and no required capability is missing.
	Compatible bool `json:"compatible"`
	// The supported version.
	APIVersion string `json:"api_version"`
	// Requested capabilities that are available.
	Supported []string `json:"supported"`
	// Required capabilities that are not available.
	MissingRequired []string `json:"missing_required"`
	// Optional capabilities that are not available.
	MissingOptional []string `json:"missing_optional"`
}

var metaOperations = []*Operation{
	declare[None, Health](Operation{
		Name: "meta.health", Method: "GET", Path: "/api/v1/health",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Errors: []fault.Code{fault.DependencyUnavailable},
		Tag:    "meta", Summary: "Get health",
		Doc: "Returns 200 if every component works, otherwise 503 with the faults in " +
			"details.checks. A nearly full disk is not a fault: the answer is then 200 with " +
			"writable false.",
	}, readHealth),
	declare[None, Alive](Operation{
		Name: "meta.live", Method: "GET", Path: "/livez",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Tag: "meta", Summary: "Check liveness",
		Doc: "Returns 200 while the process is running. Probes are not rate-limited.",
	}, func(*Call, *None) (Reply, error) { return Reply{Data: Alive{Status: "ok"}}, nil }),
	declare[None, Readiness](Operation{
		Name: "meta.ready", Method: "GET", Path: "/readyz",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Errors: []fault.Code{fault.StorageUnavailable},
		Tag:    "meta", Summary: "Check readiness",
		Doc: "Returns 200 if reads and writes are accepted, otherwise 503: details.reads and " +
			"details.writes say which are accepted, details.reason says why. Probes are not " +
			"rate-limited.",
	}, func(c *Call, _ *None) (Reply, error) { return readReady(c.Service.Engine) }),
	declare[None, CapabilitiesData](Operation{
		Name: "meta.capabilities", Method: "GET", Path: "/api/v1/capabilities",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "Get capabilities",
		Doc: "Returns what this deployment supports, with its limits.",
	}, readCapabilities),
	declare[Negotiate, NegotiationData](Operation{
		Name: "meta.negotiate", Method: "POST", Path: "/api/v1/capabilities/negotiate",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		BodyMax: bodyLists,
		Tag:     "meta", Summary: "Negotiate capabilities",
		Doc: "Checks required and optional capability names. Unknown names are reported as " +
			"missing, not as errors.",
	}, negotiate),
	declare[None, CatalogData](Operation{
		Name: "meta.errors", Method: "GET", Path: "/api/v1/errors",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "List error codes",
		Doc: "Lists every error code with its status, meaning and recommended action.",
	}, readErrors),
}

func readHealth(c *Call, _ *None) (Reply, error) {
	checks, failed, waiting := map[string]string{}, false, 0
	for _, check := range c.Service.Engine.Health() {
		checks[check.Name] = "ok"
		waiting += check.Waiting
		if check.Fault != "" {
			checks[check.Name], failed = "failed", true
		} else if check.Paused {
			checks[check.Name] = "paused"
		}
	}
	if failed {
		return Reply{}, fault.New(fault.DependencyUnavailable, "A part of the service has failed.").
			With("checks", checks).With("retry_after_seconds", 5)
	}
	return Reply{Data: Health{
		Status: "ok", Version: c.Service.Config.Version, Checks: checks, SearchWaiting: waiting,
		UptimeSeconds: max(0, c.Now-c.Service.Config.Started) / 1000,
		Writable:      c.Service.Engine.Space().Writable,
	}}, nil
}

// readReady checks whether an engine accepts reads and writes. Errors: STORAGE_UNAVAILABLE.
func readReady(engine Engine) (Reply, error) {
	space := engine.Space()
	if !space.Writable {
		return Reply{}, fault.New(fault.StorageUnavailable, "Writes are refused; reads still "+
			"work.").
			With("reads", true).With("writes", false).With("reason", space.Reason).
			With("retry_after_seconds", 30)
	}
	return Reply{Data: Readiness{Reads: true, Writes: true}}, nil
}

// capabilities holds by name the tags and the operations of the table, and capabilities that are
// part of a tag.
var capabilities map[string]CapabilitySupport

func init() {
	names := map[string]CapabilitySupport{}
	add := func(name string, op *Operation) {
		operations := names[name].Operations
		if !slices.Contains(operations, op.Name) {
			names[name] = CapabilitySupport{
				Supported: true, Operations: append(operations, op.Name),
			}
		}
	}
	for _, op := range Table {
		add(op.Tag, op)
		add(op.Name, op)
	}
	for name, group := range map[string][]*Operation{
		"claims": claimOperations, "resume": resumeOperations, "manifest": manifestOperations,
		"imports": importOperations, "comments": commentOperations,
	} {
		for _, op := range group {
			add(name, op)
		}
	}
	for _, op := range Table {
		if op.Tool != "" {
			add("mcp", op)
		}
	}
	names["a2a"] = CapabilitySupport{Operations: []string{}}
	capabilities = names
}

func readCapabilities(c *Call, _ *None) (Reply, error) {
	limits := c.Service.Config.Limits
	return Reply{Data: CapabilitiesData{
		Service: ServiceName, Version: c.Service.Config.Version,
		APIVersion: APIVersion, BasePath: BasePath,
		MCP:          MCPModel{Path: "/mcp", ProtocolVersions: c.Service.Config.mcpVersions()},
		Capabilities: capabilities, Limits: deploymentLimits,
		RateLimits: RateLimits{Enabled: len(limits) > 0, Limits: orEmpty(limits)},
		Auth:       authModel(),
	}}, nil
}

func authModel() AuthModel {
	return AuthModel{
		Scheme: "Bearer", KeyAlgorithm: "Ed25519", Encoding: "base64url, unpadded",
		SessionSeconds: identity.SessionMillis / 1000, ChallengeSeconds: identity.ChallengeMillis / 1000,
		RegistrationStart:    "/api/v1/agents/register/start",
		RegistrationComplete: "/api/v1/agents/register/complete",
		SessionChallenge:     "/api/v1/auth/challenge",
		SessionStart:         "/api/v1/auth/session",
	}
}

func negotiate(_ *Call, body *Negotiate) (Reply, error) {
	data := NegotiationData{
		APIVersion: APIVersion,
		Supported:  []string{}, MissingRequired: []string{}, MissingOptional: []string{},
	}
	sort := func(names []string, missing *[]string) {
		for _, name := range names {
			switch {
			case !capabilities[name].Supported:
				*missing = append(*missing, name)
			case !slices.Contains(data.Supported, name):
				data.Supported = append(data.Supported, name)
			}
		}
	}
	sort(body.Required, &data.MissingRequired)
	sort(body.Optional, &data.MissingOptional)
	spoken := body.APIVersion == "" || body.APIVersion == APIVersion || body.APIVersion == "1"
	data.Compatible = spoken && len(data.MissingRequired) == 0
	return Reply{Data: data}, nil
}

func readErrors(*Call, *None) (Reply, error) {
	data := CatalogData{Errors: make([]CatalogEntry, len(fault.Catalog))}
	for at, entry := range fault.Catalog {
		data.Errors[at] = CatalogEntry{
			Code: string(entry.Code), Status: entry.Status, Description: entry.Description,
			Retryable: entry.Retryable, Details: detailsOf(&entry),
		}
		if entry.Action != "" {
			data.Errors[at].Action = &fault.Catalog[at].Action
		}
	}
	return Reply{Data: data}, nil
}
