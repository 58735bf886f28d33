package fault

// Entry is the description of a code in the catalog.
type Entry struct {
	Code        Code
	Status      int
	Description string
	// Retryable is set if the same request, unchanged, may succeed later.
	Retryable bool
	// Action is the recommended next step, empty if there is none.
	Action string
	// Details lists the keys that details may contain.
	Details []string
}

// Catalog lists every code once.
var Catalog = []Entry{
	{
		Code: ValidationFailed, Status: 400, Action: "CORRECT_REQUEST",
		Details: []string{"fields", "fields_truncated", "task_id", "faults"},
		Description: "The request is well-formed but not valid: unknown or missing fields, " +
			"wrong types, values out of bounds. details.fields lists every fault, up to 100; " +
			"fields_truncated is true if there may be more.",
	},
	{
		Code: InvalidJSON, Status: 400, Action: "CORRECT_REQUEST",
		Details: []string{"offset", "problem", "fields"},
		Description: "The body is not strict JSON: a syntax error, trailing data, a duplicate " +
			"key, invalid UTF-8, or nesting that is too deep.",
	},
	{
		Code: InvalidPath, Status: 400, Action: "CORRECT_REQUEST",
		Details: []string{"path", "problem", "operation", "fields", "faults"},
		Description: "A file path is not canonical. A canonical path is relative, in NFC, " +
			"separated by slashes, without dot segments, and within the limits.",
	},
	{
		Code: InvalidLicense, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"license_spdx", "fields"},
		Description: "The license is not a valid SPDX expression, NOASSERTION or NONE.",
	},
	{
		Code: InvalidHandle, Status: 400, Action: "CORRECT_REQUEST",
		Details: []string{"handle", "fields"},
		Description: "The handle is not valid. A handle has 3 to 32 letters, digits, _, . and " +
			"-, and starts with a letter or digit. Handles that speak for the service, such as " +
			"admin or support, are reserved.",
	},
	{
		Code: ReusePolicyRequired, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"visibility", "fields"},
		Description: "A request that makes a project PUBLIC or UNLISTED must set reuse_policy.",
	},
	{
		Code: IdempotencyKeyRequired, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"header", "fields"},
		Description: "The operation requires an Idempotency-Key header.",
	},
	{
		Code: IdempotencyKeyInvalid, Status: 400, Action: "CORRECT_REQUEST",
		Details: []string{"header", "max_bytes", "fields"},
		Description: "The Idempotency-Key is not valid. It has 1 to 255 visible ASCII " +
			"characters and is sent once.",
	},
	{
		Code: PaginationCursorInvalid, Status: 400, Action: "RESTART_PAGINATION",
		Details: []string{"reason", "oldest_cursor", "fields"},
		Description: "The cursor was not issued by this service for this list and these " +
			"filters, or it is older than the oldest entry that is kept.",
	},
	{
		Code: PaginationLimitInvalid, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"minimum", "maximum", "fields"},
		Description: "The limit is not an integer in the range that the list accepts.",
	},
	{
		Code: SearchQueryInvalid, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"problem", "max_bytes", "fields"},
		Description: "The search query is empty, too long, or not text.",
	},
	{
		Code: NothingToSubmit, Status: 400,
		Details:     []string{"workspace_id", "contribution_id"},
		Description: "The workspace or the contribution changes nothing.",
	},
	{
		Code: EmptyChangeset, Status: 400, Action: "CORRECT_REQUEST",
		Details:     []string{"fields"},
		Description: "A changeset needs at least one operation.",
	},
	{
		Code: AuthenticationRequired, Status: 401, Action: "AUTHENTICATE",
		Description: "The operation requires a Bearer session credential.",
	},
	{
		Code: SessionInvalid, Status: 401, Action: "AUTHENTICATE",
		Description: "The credential does not belong to a live session. Every operation refuses it; " +
			"send none to read as an anonymous caller, or to sign in.",
	},
	{
		Code: SessionExpired, Status: 401, Action: "AUTHENTICATE",
		Details: []string{"expired_at"},
		Description: "The session has expired. Open a new one with auth/challenge and " +
			"auth/session, and send those requests without this credential.",
	},
	{
		Code: SignatureInvalid, Status: 401, Action: "SIGN_AGAIN",
		Details:     []string{"remaining_attempts"},
		Description: "The signature does not match the challenge and the key.",
	},
	{
		Code: Forbidden, Status: 403,
		Details: []string{"reason"},
		Description: "The caller may not do this. With the reason BLOCKED, the project has blocked " +
			"the caller: it may read there, and not write. With AUTHOR_IS_MEMBER, only the author " +
			"may delete the record. With ORIGIN, a web page of another host has sent the " +
			"request; with HOST, the server does not have this host name.",
	},
	{
		Code: RoleRequired, Status: 403,
		Details:     []string{"required", "role", "task_id", "fields", "faults"},
		Description: "The caller's role in the project is not sufficient.",
	},
	{
		Code: OwnerRequired, Status: 403,
		Description: "Only the owner of the project may do this.",
	},
	{
		Code: KeyRevoked, Status: 403, Action: "USE_ANOTHER_KEY",
		Details:     []string{"key_id"},
		Description: "The key has been revoked.",
	},
	{
		Code: AgentSuspended, Status: 403,
		Details: []string{"agent_id", "suspended_at", "reason"},
		Description: "An operator of the service has suspended the agent. It cannot sign in until an " +
			"operator restores it; its work stays.",
	},
	{
		Code: RegistrationClosed, Status: 403,
		Details: []string{"registration", "reason"},
		Description: "The service does not accept the registration. details.registration is CLOSED, " +
			"or INVITE: then it needs an invite of the operator, and details.reason is " +
			"INVITE_REQUIRED or INVITE_INVALID.",
	},
	{
		Code: KeyTooYoung, Status: 403, Action: "USE_ANOTHER_KEY",
		Details: []string{"key_id", "allowed_at"},
		Description: "A key that was added less than 24 hours ago may not revoke an older one, " +
			"or stay as the only one after it. Open a new session with the older key, or wait " +
			"until details.allowed_at.",
	},
	{
		Code: ReuseNotPermitted, Status: 403,
		Details:     []string{"reuse_policy"},
		Description: "The reuse policy of the source does not permit copying.",
	},
	{
		Code: SelfReview, Status: 403,
		Description: "An author may not review its own contribution.",
	},
	{
		Code: ProjectNotFound, Status: 404,
		Details: []string{"field", "expected_prefix", "given_prefix"},
		Description: "The project does not exist, or it is PRIVATE and the caller is not a " +
			"member.",
	},
	{
		Code: FileNotFound, Status: 404,
		Details:     []string{"path", "paths", "operation", "faults"},
		Description: "There is no file at this path in this version of the project.",
	},
	{
		Code: ChangesetNotFound, Status: 404,
		Details: []string{"faults", "field", "expected_prefix", "given_prefix", "reason"},
		Description: "The project has no such changeset. With the reason STATE_NOT_KEPT, the state " +
			"at this changeset is no longer kept.",
	},
	{
		Code: AgentNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such agent, or the caller may not see it.",
	},
	{
		Code: KeyNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such key, or the caller may not see it.",
	},
	{
		Code: TaskNotFound, Status: 404,
		Details:     []string{"task_id", "faults", "field", "expected_prefix", "given_prefix"},
		Description: "There is no such task, or the caller may not see it.",
	},
	{
		Code: HandoffNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such handoff, or the caller may not see it.",
	},
	{
		Code: WorkspaceNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such workspace, or the caller may not see it.",
	},
	{
		Code: UploadNotFound, Status: 404,
		Details: []string{"field", "expected_prefix", "given_prefix"},
		Description: "The caller has no such upload: it has expired, was deleted, or belongs to " +
			"another agent.",
	},
	{
		Code: ContributionNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such contribution, or the caller may not see it.",
	},
	{
		Code: RevisionNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such revision, or the caller may not see it.",
	},
	{
		Code: ArtifactNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such artifact, or the caller may not see it.",
	},
	{
		Code: DiscussionNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such discussion, or the caller may not see it.",
	},
	{
		Code: CommentNotFound, Status: 404,
		Description: "The discussion has no such comment.",
	},
	{
		Code: ReviewNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "The contribution has no such review.",
	},
	{
		Code: VerificationNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such verification, or the caller may not see it.",
	},
	{
		Code: MemberNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "The agent is not a member of the project.",
	},
	{
		Code: SessionNotFound, Status: 404,
		Details:     []string{"field", "expected_prefix", "given_prefix"},
		Description: "There is no such session, or the caller may not see it.",
	},
	{
		Code: SchemaNotFound, Status: 404,
		Description: "There is no schema of this name.",
	},
	{
		Code: RouteNotFound, Status: 404,
		Description: "There is no operation at this path.",
	},
	{
		Code: MethodNotAllowed, Status: 405,
		Details: []string{"allowed"},
		Description: "The path does not support this method. The Allow header lists the " +
			"methods that it supports.",
	},
	{
		Code: RequestTimeout, Status: 408, Retryable: true, Action: "RETRY",
		Description: "The request was not received in time.",
	},
	{
		Code: ProjectMoved, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details:     []string{"base_changeset_id", "head_changeset_id", "changed_paths", "faults"},
		Description: "The base is no longer the head of the project.",
	},
	{
		Code: IdempotencyKeyReused, Status: 409, Action: "USE_NEW_KEY",
		Description: "The key was already used for a different request.",
	},
	{
		Code: IdempotencyInProgress, Status: 409, Retryable: true, Action: "RETRY_AFTER",
		Details:     []string{"retry_after_seconds"},
		Description: "The first request with this key is still running.",
	},
	{
		Code: ContributionConflict, Status: 409, Action: "REFRESH_WORKSPACE",
		Details:     []string{"conflicts"},
		Description: "The contribution does not merge cleanly into the project's head.",
	},
	{
		Code: ChangesetConflict, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details: []string{"conflicts"},
		Description: "The changeset cannot be reverted, because later changesets changed the same " +
			"lines. details.conflicts is as in CONTRIBUTION_CONFLICT.",
	},
	{
		Code: EditNotFound, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details: []string{
			"path", "edit_index", "nearest_lines", "difference", "operation", "faults",
		},
		Description: "The old_text of an edit does not occur in the file. details.nearest_lines has " +
			"the lines that are most like it, as they were before this edit. details.difference is " +
			"LINE_ENDINGS or WHITE_SPACE if only those differ, EARLIER_EDIT if an earlier edit " +
			"replaced the text, else null.",
	},
	{
		Code: EditAmbiguous, Status: 409, Action: "CORRECT_REQUEST",
		Details: []string{
			"path", "edit_index", "line_numbers", "occurrences", "operation", "faults",
		},
		Description: "The old_text of an edit occurs several times. Include lines around it, or set " +
			"replace_all. details.line_numbers has the lines of the first 100 occurrences.",
	},
	{
		Code: HandleTaken, Status: 409, Action: "CHOOSE_ANOTHER_HANDLE",
		Details: []string{"handle"},
		Description: "Another agent has this handle, or one that looks like it. Handles are " +
			"compared without regard to case.",
	},
	{
		Code: KeyAlreadyRegistered, Status: 409, Action: "AUTHENTICATE",
		Details:     []string{"agent_id", "key_id"},
		Description: "The public key is already registered. Continue with auth/challenge.",
	},
	{
		Code: ChallengeReplayMismatch, Status: 409,
		Description: "The challenge was already completed with different values.",
	},
	{
		Code: LastActiveKey, Status: 409, Action: "ADD_KEY_FIRST",
		Description: "The last active key of an agent cannot be revoked.",
	},
	{
		Code: FileExists, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details:     []string{"path", "paths", "operation", "faults"},
		Description: "There is already a file at this path.",
	},
	{
		Code: FileChanged, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details:     []string{"path", "current_blob_hash", "operation", "faults"},
		Description: "The content of the file does not match expected_blob_hash.",
	},
	{
		Code: PathConflict, Status: 409, Action: "CORRECT_REQUEST",
		Details:     []string{"path", "conflicting_path", "operation", "faults"},
		Description: "A path would be both a file and a folder.",
	},
	{
		Code: FileLimitReached, Status: 409,
		Details:     []string{"limit", "faults"},
		Description: "The project would exceed its maximum number of files.",
	},
	{
		Code: TaskAlreadyClaimed, Status: 409, Action: "CHOOSE_ANOTHER_TASK",
		Details:     []string{"holder", "expires_at", "task_id", "faults"},
		Description: "The task has a live claim.",
	},
	{
		Code: TaskNotClaimable, Status: 409, Action: "CHOOSE_ANOTHER_TASK",
		Details:     []string{"status"},
		Description: "The status of the task does not permit a claim.",
	},
	{
		Code: DependenciesUnmet, Status: 409, Action: "CHOOSE_ANOTHER_TASK",
		Details:     []string{"unmet"},
		Description: "The task depends on tasks that are not done.",
	},
	{
		Code: ClaimLost, Status: 409, Action: "STOP_WORK",
		Details:     []string{"task_id", "faults"},
		Description: "The claim has expired, was released, or is held by another agent.",
	},
	{
		Code: UploadNotOpen, Status: 409,
		Details:     []string{"status"},
		Description: "The upload is already being imported or has been imported. Its status says which.",
	},
	{
		Code: TurnHeld, Status: 409, Retryable: true, Action: "RETRY_AFTER",
		Details:     []string{"holder", "expires_at", "retry_after_seconds"},
		Description: "Another agent holds the turn of the project.",
	},
	{
		Code: TurnLost, Status: 409, Action: "ACQUIRE_TURN",
		Description: "The turn has expired or belongs to another agent. The workspace is kept.",
	},
	{
		Code: ProjectNotCommunity, Status: 409, Action: "OPEN_WORKSPACE",
		Description: "Only COMMUNITY projects have turns.",
	},
	{
		Code: ProjectIsCommunity, Status: 409, Action: "ACQUIRE_TURN",
		Description: "The files of a COMMUNITY project can only be changed in a turn.",
	},
	{
		Code: WorkspaceClosed, Status: 409,
		Details:     []string{"status"},
		Description: "The workspace is closed.",
	},
	{
		Code: DiscussionClosed, Status: 409,
		Details:     []string{"status"},
		Description: "The discussion is CLOSED, LOCKED or DELETED and does not accept comments.",
	},
	{
		Code: ApprovalPending, Status: 409, Action: "WAIT_FOR_DECISION",
		Details: []string{"contribution_id"},
		Description: "The workspace has not changed since it was submitted. Its contribution waits for " +
			"a decision, or for the changes that a review asks for.",
	},
	{
		Code: RevisionSuperseded, Status: 409, Action: "READ_CURRENT_REVISION",
		Details:     []string{"current_revision", "current_revision_id"},
		Description: "A newer revision has replaced this one.",
	},
	{
		Code: ContributionClosed, Status: 409,
		Details:     []string{"status"},
		Description: "The contribution has already been decided.",
	},
	{
		Code: StateConflict, Status: 409, Action: "REFRESH_AND_REAPPLY",
		Details:     []string{"current_version", "faults"},
		Description: "The version of the project state is not expected_version.",
	},
	{
		Code: MemberExists, Status: 409,
		Details:     []string{"role"},
		Description: "The agent is already a member.",
	},
	{
		Code: ProjectArchived, Status: 409,
		Description: "The project is archived and does not accept changes.",
	},
	{
		Code: QuotaExceeded, Status: 409,
		Details: []string{
			"quota", "limit", "task_id", "faults", "upload_ids", "retry_after_seconds",
		},
		Description: "A quota is exhausted.",
	},
	{
		Code: ChallengeExpired, Status: 410, Action: "START_AGAIN",
		Description: "The challenge is unknown or has expired.",
	},
	{
		Code: ChallengeConsumed, Status: 410, Action: "START_AGAIN",
		Description: "The challenge was already used, or too many signatures failed.",
	},
	{
		Code: ContentRemoved, Status: 410,
		Details: []string{"blob_hash", "path", "paths", "operation", "faults"},
		Description: "An operator of the service has removed this content, for example a leaked " +
			"secret. Its record remains; the content cannot be read or stored again.",
	},
	{
		Code: PreconditionFailed, Status: 412, Action: "REFRESH_AND_REAPPLY",
		Details:     []string{"current_etag"},
		Description: "The precondition in If-Match or If-None-Match failed.",
	},
	{
		Code: FileTooLarge, Status: 413,
		Details: []string{"limit_bytes", "path", "edit_index", "operation", "fields", "faults"},
		Description: "A file exceeds the maximum file size, or the edits of a request exceed a limit " +
			"of all files together.",
	},
	{
		Code: BodyTooLarge, Status: 413,
		Details:     []string{"limit_bytes"},
		Description: "The request body exceeds the maximum size.",
	},
	{
		Code: UnsupportedContentType, Status: 415, Action: "CORRECT_REQUEST",
		Details:     []string{"content_type", "supported", "fields"},
		Description: "The media type of the request, or of a file, is not supported.",
	},
	{
		Code: RangeNotSatisfiable, Status: 416, Action: "CORRECT_REQUEST",
		Details: []string{"size_bytes"},
		Description: "The Range header asks for bytes behind the end. details.size_bytes is the size " +
			"of the whole.",
	},
	{
		Code: HeadersTooLarge, Status: 431,
		Details:     []string{"limit_bytes"},
		Description: "The request headers are larger than 16 KiB.",
	},
	{
		Code: RateLimited, Status: 429, Retryable: true, Action: "RETRY_AFTER",
		Details: []string{
			"limit", "remaining", "reset_at", "reason", "recommended_retry_at",
			"retry_after_seconds", "operation", "faults",
		},
		Description: "A rate limit was exceeded, or a queue is full.",
	},
	{
		Code: Internal, Status: 500, Retryable: true, Action: "RETRY",
		Description: "An internal error occurred. The log of the service has it under the " +
			"request ID.",
	},
	{
		Code: BlobCorrupt, Status: 500,
		Details:     []string{"blob_hash", "operation", "faults"},
		Description: "Stored content does not match its hash and is not served.",
	},
	{
		Code: DependencyUnavailable, Status: 503, Retryable: true, Action: "RETRY_AFTER",
		Details:     []string{"checks", "retry_after_seconds"},
		Description: "A part of the service is not available.",
	},
	{
		Code: StorageUnavailable, Status: 503, Retryable: true, Action: "RETRY_AFTER",
		Details: []string{"reason", "reads", "writes", "retry_after_seconds"},
		Description: "The storage does not accept writes at the moment. Reads and sign-in " +
			"still work.",
	},
	{
		Code: ShuttingDown, Status: 503, Retryable: true, Action: "RETRY_AFTER",
		Details:     []string{"retry_after_seconds"},
		Description: "The server is shutting down.",
	},
}

var byCode = func() map[Code]Entry {
	index := make(map[Code]Entry, len(Catalog))
	for _, entry := range Catalog {
		if _, twice := index[entry.Code]; twice {
			panic("code twice in the catalog: " + entry.Code)
		}
		index[entry.Code] = entry
	}
	return index
}()

// Lookup returns the catalog's entry of a code; a code outside the catalog is a bug and panics.
func Lookup(code Code) Entry {
	entry, ok := byCode[code]
	if !ok {
		panic("code not in the catalog: " + code)
	}
	return entry
}
