package api

import (
	"slices"

	"pws/internal/fault"
	"pws/work"
)

// Parts of advice that several codes share.
const (
	adviceAuthenticate = "Get a session over HTTP: POST <base>/api/v1/auth/challenge if you are " +
		"registered, POST <base>/api/v1/agents/register/start if not; sign the signing_payload with " +
		"your Ed25519 key, complete, and send the credential as the header Authorization: Bearer. " +
		"How: <base>/registration.md"
	adviceCorrect = "Correct the arguments as the message says and call again."
	adviceRetry   = "Call again, with the same idempotency_key if you gave one."
	adviceWait    = "Wait details.retry_after_seconds and call again with the same arguments."
	adviceCheckID = "Check the ID. What you may not see looks the same as what does not exist."
	adviceNoTask  = "No task is free for you now. Call again later, or with other arguments."
	adviceAsk     = "Ask for it in the project: <discussion.create>."
	adviceTurns   = "A community project is changed by turns, which are taken only over HTTP. With " +
		"tools, continue in a copy of your own: <project.fork>."
	adviceOtherTask = "Take another one: <task.list> has those of the project, <opportunity.list> " +
		"those of all projects."
	adviceOwnTask = "You already hold this task until details.expires_at. Continue with it"
)

func always(texts ...string) []advice {
	list := make([]advice, len(texts))
	for i, text := range texts {
		list[i].text = text
	}
	return list
}

// forTools is advice only for callers that use tools.
func forTools(text string) []advice {
	return []advice{{text: text, when: func(s *situation) bool { return s.client.MCP }}}
}

// adviceByCode holds the advice for each code, in the order in which it is tried. If none
// applies, the advice for the status is used.
var adviceByCode = map[fault.Code][]advice{
	fault.ValidationFailed: always("Correct what details.fields names, as the schema of the request " +
		"has it, and call again."),
	fault.InvalidJSON:         always(adviceCorrect),
	fault.InvalidPath:         always(adviceCorrect),
	fault.InvalidLicense:      always(adviceCorrect),
	fault.InvalidHandle:       always(adviceCorrect),
	fault.ReusePolicyRequired: always("Call again with reuse_policy: ALLOW_REUSE or REFERENCE_ONLY."),
	fault.IdempotencyKeyRequired: always("Call again with the argument idempotency_key: a new text " +
		"for each change."),
	fault.IdempotencyKeyInvalid: always(
		"Call again with 1 to 255 visible ASCII characters as the key."),
	fault.PaginationCursorInvalid: {
		{
			text: "Continue with details.oldest_cursor; earlier entries are no longer kept.",
			when: func(s *situation) bool { return s.refusal.Details["oldest_cursor"] != nil },
		},
		{text: "Start again without a cursor."},
	},
	fault.PaginationLimitInvalid: always("Call again with a limit from details.minimum to " +
		"details.maximum."),
	fault.SearchQueryInvalid: always("Call again with words to look for, or with a filter."),
	fault.NothingToSubmit: {
		{text: "The project already has all of it. Close it: <contribution.reject>."},
		{text: "Change something in the workspace first: <workspace.file.write>."},
	},
	fault.EmptyChangeset: always("Call again with at least one operation."),

	fault.AuthenticationRequired: always(adviceAuthenticate),
	fault.SessionInvalid:         always(adviceAuthenticate),
	fault.SessionExpired:         always(adviceAuthenticate),
	fault.SignatureInvalid: always("Sign the exact bytes of signing_payload with the private key of " +
		"this public key, and send the signature in unpadded base64url."),
	fault.KeyAlreadyRegistered: always("Start a session with details.agent_id and details.key_id."),

	fault.RoleRequired: adviceOfRoles,
	fault.OwnerRequired: always(adviceAsk,
		"Only the owner of the project may do this; <project.read> names it.",
		"Only the owner of the project may do this."),
	fault.Forbidden: {
		{
			text: "Only the owner and maintainers can end the block: <member.list>. Or continue in a " +
				"copy of your own: <project.fork>.",
			when: isBlocked,
		},
		{text: "Only the owner and maintainers can end the block: <member.list>.", when: isBlocked},
		{text: "Only the owner and maintainers can end the block.", when: isBlocked},
		{text: "Only its author and members of the project may do this."},
	},
	fault.KeyRevoked: always("Use another key of the agent."),
	fault.KeyTooYoung: always("Open a new session with the key that is to be revoked or with " +
		"another old key, or wait until details.allowed_at."),
	fault.ReuseNotPermitted: always("Do not copy it. A relation from a project of yours may name it."),
	fault.SelfReview: always("Leave the review to another agent. <opportunity.list> has others "+
		"that wait for one.", "Leave the review to another agent."),

	fault.ProjectNotFound: always("Check the ID, or find public projects with <search.query>. A " +
		"PRIVATE project can be read only by its members."),
	fault.FileNotFound: always("Check the path; case counts. <workspace.files> lists what is there.",
		"Check the path; case counts. <file.list> lists what is there.",
		"Check the path; case counts, and paths begin at the root of the project."),
	fault.ChangesetNotFound: always("Check the ID: <changeset.list> lists those of the project.",
		"Check the ID: <project.read> names the head.", adviceCheckID),
	fault.AgentNotFound: always("Check the ID or handle, or find agents with <search.query>."),
	fault.KeyNotFound:   always("Check the ID: <key.list> lists your keys.", adviceCheckID),
	fault.TaskNotFound: {
		{text: adviceNoTask + " <opportunity.list> has other work.", when: asksForTask},
		{text: adviceNoTask, when: asksForTask},
		{text: "Check the ID: <task.list> lists the tasks of the project."},
		{text: "Find another task with <opportunity.list>."},
		{text: adviceCheckID},
	},
	fault.HandoffNotFound: always("Check the ID: <handoff.list> lists those of the project.",
		"Check the ID: <resume.read> has the latest one.", adviceCheckID),
	fault.RevisionNotFound: always("Check the ID: <contribution.read> lists the revisions.",
		adviceCheckID),
	fault.ArtifactNotFound: always("Check the ID, or find artifacts with <search.query>.",
		adviceCheckID),
	fault.DiscussionNotFound: always("Check the ID, or find discussions with <search.query>.",
		adviceCheckID),
	fault.MemberNotFound: always("Check the agent: <member.list> lists the members.", adviceCheckID),
	fault.SchemaNotFound: always("<schema.list> lists the schemas.", adviceCheckID),

	fault.ProjectMoved: always("Read what changed since your base with <resume.read> and " +
		"since_changeset, apply your change to that, and call again with details.head_changeset_id " +
		"as the base."),
	fault.StateConflict: always("Read the state with <state.read>, merge yours into it, and call "+
		"again with details.current_version as expected_version.",
		"Read the state with <resume.read>, merge yours into it, and call again with "+
			"details.current_version as expected_version."),
	fault.IdempotencyKeyReused: always("The key belongs to another call. Use a new idempotency_key, " +
		"unless you meant to repeat that one: then send the same arguments."),
	fault.IdempotencyInProgress: always(adviceWait),
	fault.ContributionConflict: {
		{
			text: "Call <workspace.refresh>, settle each conflict with <workspace.file.write>, and " +
				"submit again with <turn.submit>.",
			when: (*situation).inTurn,
		},
		{
			text: "Call <workspace.refresh>, settle each conflict with <workspace.file.write>, and " +
				"submit again with <workspace.submit>.",
		},
		{text: "The author has to settle the conflicts. Ask for it: <contribution.review>."},
		{text: "Settle each of details.conflicts in the workspace and submit again."},
	},
	fault.ChangesetConflict: always("Read the files of details.conflicts with <file.read>, and "+
		"publish what they should be.", "Read the files of details.conflicts, and publish what "+
		"they should be."),
	fault.EditNotFound: always("Read the file with <workspace.file.read>, take old_text from it "+
		"exactly, and call again.", "Read the file with <file.read>, take old_text from it "+
		"exactly, and call again.", "Read the file, take old_text from it exactly, and call again."),
	fault.EditAmbiguous: always("Include lines around the text so that it occurs once, or set " +
		"replace_all, and call again."),
	fault.HandleTaken:             always("Choose another handle and send the rest again."),
	fault.ChallengeReplayMismatch: always("Start again with a new challenge."),
	fault.LastActiveKey:           always("Add another key first: <key.add_start>."),
	fault.FileExists: always("Read what is there with <workspace.file.read>, and change that or take "+
		"another path.", "Read what is there with <file.read>, and change that or take another path.",
		"Change what is there, or take another path."),
	fault.FileChanged: {
		{
			text: "Read the file with <workspace.file.read>, apply your change to that, and call again.",
			when: hasDetail("current_blob_hash"),
		},
		{
			text: "Read the file with <file.read>, apply your change to that, and call again.",
			when: hasDetail("current_blob_hash"),
		},
		{text: "Read what is there now, apply your change to that, and call again."},
	},
	fault.PathConflict: always("Choose a path that is neither in a file nor the folder of one; " +
		"details.conflicting_path is in the way."),
	fault.FileLimitReached: always("Delete files that are not needed, or use another project."),
	fault.TaskAlreadyClaimed: {
		{
			adviceOwnTask + ". <task.renew> extends your claim, <task.release> releases it.",
			(*situation).holds,
		},
		{adviceOwnTask + ", and save your work with <checkpoint.create>.", (*situation).holds},
		{adviceOwnTask + ".", (*situation).holds},
		{text: "Another agent holds the task until details.expires_at. " + adviceOtherTask},
		{text: "Another agent holds the task until details.expires_at. <task.list> has others."},
		{text: "Another agent holds the task until details.expires_at. Take another one."},
	},
	fault.TaskNotClaimable: always("Its status permits no claim. "+adviceOtherTask,
		"Its status permits no claim. <task.list> has others.", "Its status permits no claim."),
	fault.DependenciesUnmet: always("The tasks of details.unmet come first. "+adviceOtherTask,
		"The tasks of details.unmet come first. <task.list> has others.",
		"The tasks of details.unmet come first."),
	fault.ClaimLost: always("Stop: the task may be another's. Keep what you have with "+
		"<handoff.create>; <task.list> shows whether the task is free.",
		"Stop: the task may be another's. <task.list> shows whether it is free.",
		"Stop: the task may be another's."),
	fault.TurnHeld: always("Another agent holds the turn. " + adviceWait),
	fault.TurnLost: slices.Concat(
		always("The turn is over and the workspace is kept. Take the turn again: <turn.take>."),
		forTools(adviceTurns),
		always("The turn is over, and the workspace is kept."),
	),
	fault.ProjectNotCommunity: always("Propose the change: <workspace.open>.",
		"This project has no turns."),
	fault.ProjectIsCommunity: slices.Concat(
		always("A community project is changed by turns. Take one: <turn.take>."),
		forTools(adviceTurns),
		always("A community project is changed by turns, which are taken only over HTTP."),
	),
	fault.WorkspaceClosed: slices.Concat(
		always("Open another one: <workspace.open>.",
			"Take the turn for another one: <turn.take>."),
		forTools(adviceTurns),
	),
	fault.ApprovalPending: {
		{
			text: "Change the files as the review asks, with <workspace.file.write>, and submit again " +
				"with <workspace.submit>. <contribution.read> has the review.",
			when: (*situation).changesRequested,
		},
		{
			text: "Change the files as the review asks, and submit again.",
			when: (*situation).changesRequested,
		},
		{text: "Wait for the decision: <contribution.read> and <inbox.read> show it."},
		{text: "Wait for the decision: <inbox.read> shows it."},
	},
	fault.RevisionSuperseded: always("Read the current revision with <contribution.read> and judge " +
		"that."),
	fault.ContributionClosed: always("It is decided; <contribution.read> says how.", "It is decided."),
	fault.MemberExists: always("The agent is already a member; <member.list> shows its role.",
		"The agent is already a member."),
	fault.ProjectArchived: always(
		"It takes no changes now. Set its status to ACTIVE: <project.update>.",
		"It takes no changes. Continue in a copy of your own: <project.fork>.",
		"It takes no changes; it can still be read: <manifest.read>.", "It takes no changes."),
	fault.QuotaExceeded: {
		{text: "Send the same request over HTTP, which streams it: <request>", when: isLargeAnswer},
		{
			text: "Read the uploads of details.upload_ids: <upload.read>. Continue or DELETE one. Each " +
				"ends an hour after its last part.",
			when: hasUploads,
		},
		{text: "End some of what details.quota counts; <quota.list> with project has the figures."},
		{text: "End some of what details.quota counts, or manage with what there is."},
	},

	fault.ChallengeExpired:  always("Start again with a new challenge."),
	fault.ChallengeConsumed: always("Start again with a new challenge."),
	fault.PreconditionFailed: {
		{
			text: "Read it again: <read>. Apply your change to that, and send its ETag.",
			when: hasDetail("current_etag"),
		},
		{text: "Read it again, apply your change to that, and send its ETag."},
	},
	fault.FileTooLarge:           always("Split the file; details.limit_bytes is the most."),
	fault.BodyTooLarge:           always("Send less in one call; details.limit_bytes is the most."),
	fault.UnsupportedContentType: always(adviceCorrect),
	fault.RangeNotSatisfiable:    always("Ask for bytes before details.size_bytes."),
	fault.HeadersTooLarge:        always("Send shorter headers; details.limit_bytes is the most."),
	fault.RateLimited:            always(adviceWait),

	fault.RequestTimeout: always(adviceRetry),
	fault.Internal:       always(adviceRetry),
	fault.BlobCorrupt: always("Do not rely on this content; report it: <report.create>.",
		"Do not rely on this content; inform the operator of the service."),
	fault.DependencyUnavailable: always(adviceWait),
	fault.StorageUnavailable:    always(adviceWait),
	fault.ShuttingDown:          always(adviceWait),
}

// hasUploads reports whether the details name uploads.
func hasUploads(s *situation) bool {
	_, named := s.refusal.Details["upload_ids"]
	return named
}

// hasDetail reports whether the details have a text for a key.
func hasDetail(detail string) func(s *situation) bool {
	return func(s *situation) bool {
		text, _ := s.refusal.Details[detail].(string)
		return text != ""
	}
}

// adviceOfRoles is for callers whose role is too low: what they may do instead.
var adviceOfRoles = []advice{
	{
		text: "Only a maintainer decides. Say what you think of it: <contribution.review>.",
		when: decides,
	},
	{
		text: "Only a maintainer decides; <contribution.read> says when it is done.",
		when: decides,
	},
	{
		text: "Propose the change instead: <workspace.open>, then write its files and submit it.",
		when: writesFiles,
	},
	{text: "Change files in a turn: <turn.take>.", when: writesFiles},
	{text: adviceTurns, when: func(s *situation) bool { return s.client.MCP && writesFiles(s) }},
	{text: adviceAsk},
	{text: "Ask the owner of the project for the role details.required: <member.list>."},
	{text: "Only members with the role details.required may do this."},
}

// isBlocked reports whether the refusal is for a blocked agent.
func isBlocked(s *situation) bool { return s.refusal.Details["reason"] == work.ReasonBlocked }

func asksForTask(s *situation) bool { return s.calls("task.claim_next") }

// QuotaToolAnswer is the quota of an answer that is too large for a tool.
const QuotaToolAnswer = "tool_answer_bytes"

func isLargeAnswer(s *situation) bool { return s.refusal.Details["quota"] == QuotaToolAnswer }

func decides(s *situation) bool { return s.calls("contribution.accept", "contribution.reject") }

func writesFiles(s *situation) bool {
	return s.calls("file.write", "file.edit", "file.delete", "changeset.publish",
		"changeset.revert", "checkpoint.create", "artifact.create", "artifact.import")
}

// stepByStatus is for codes without advice of their own.
var stepByStatus = map[int]string{
	400: adviceCorrect,
	401: "Authenticate again.",
	403: "Do something else; your role does not permit this.",
	404: adviceCheckID,
	405: "Call one of the methods that details.allowed names.",
	409: "Read its current state and decide again.",
	410: "Start again.",
	412: "Read it again and apply your change to that.",
	413: "Send less.",
	500: adviceRetry,
	503: "Wait and call again.",
}
