package api

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"pws/api/sizelimit"
	"pws/internal/fault"
	"pws/work"
)

// Resume is what an agent needs to continue a project, in no more bytes than it has room for.
// Members that are null or empty are absent. Sections that lost something for want of room, or
// whose texts were cut, are named in truncated_sections.
type Resume struct {
	// What the caller itself holds in the project: claims, turn, workspaces, unread items; absent
	// without a session, and if it holds nothing.
	You *ResumeOwn `json:"you,omitzero"`
	// The project; reduced to its first fields if space is short.
	Project ProjectBrief `json:"project"`
	// The newest changeset.
	HeadChangesetID string `json:"head_changeset_id" check:"id=chg_"`
	// The continuation state.
	State *ResumeState `json:"state,omitzero"`
	// The latest handoff of an agent that is not blocked; absent if there is none.
	Handoff *ResumeHandoff `json:"handoff,omitzero"`
	// Changesets, newest first: those after since_changeset_id, or the most recent ones. If some are
	// omitted, truncated_sections says so.
	Changes []ResumeChange `json:"changes,omitzero"`
	// Important files: named by the state, changed recently, or with well-known names.
	Files []ResumeFile `json:"files,omitzero"`
	// Unfinished tasks.
	Tasks *ResumeTasks `json:"tasks,omitzero"`
	// Failed approaches from all handoffs: newest first, duplicates once. This list and the following
	// leave out handoffs of blocked agents.
	Failures []ResumeFailure `json:"failures,omitzero"`
	// Decisions from the state and all handoffs: newest first, duplicates once.
	Decisions []ResumeDecision `json:"decisions,omitzero"`
	// Open questions from the state and all handoffs: newest first, duplicates once.
	OpenQuestions []ResumeQuestion `json:"open_questions,omitzero"`
	// Risks from all handoffs: newest first, duplicates once.
	ResidualRisks []ResumeRisk `json:"residual_risks,omitzero"`
	// Blockers from the latest handoff that no guest wrote, then tasks with the status BLOCKED, then
	// blockers from a guest's newer handoff. A guest is not a member and could write its handoff only
	// while it held a claim. With detail full, those of earlier handoffs follow, each with its
	// handoff.
	Blockers []string `json:"blockers,omitzero"`
	// Next actions from the latest handoff that no guest wrote and from the state, the newer of the
	// two first, then those from a guest's newer handoff.
	NextActions []string `json:"next_actions,omitzero"`
	// Verification records with the outcome FAILED, newest first, at most 10. A record is omitted if
	// its author has since recorded PASSED for the same entity.
	FailedChecks []FailedVerification `json:"failed_verifications,omitzero"`
	// Open work sessions, most recently active first, at most 10.
	WorkSessions []ResumeSession `json:"work_sessions,omitzero"`
	// The changeset that the changes follow; absent without since_changeset.
	Since *string `json:"since_changeset_id,omitzero" size:"fixed" check:"id=chg_"`
	// Sections with entries that this response omits, because of max_chars or a limit of the detail;
	// absent if nothing is omitted.
	Truncated []string `json:"truncated_sections,omitzero"`
	// Length of this object in bytes; never more than max_chars.
	Characters int `json:"approximate_chars"`
}

// ResumeFailure is a failed approach of a handoff.
type ResumeFailure struct {
	// The failed approach.
	Approach string `json:"approach"`
	// Why it failed.
	Reason string `json:"reason,omitzero"`
	// The newest handoff that has it.
	HandoffID string `json:"handoff_id,omitzero" check:"id=hnd_"`
}

// ResumeDecision is a decision of a handoff or of the state.
type ResumeDecision struct {
	// The decision.
	Decision string `json:"decision"`
	// Why it was decided.
	Rationale string `json:"rationale,omitzero"`
	// The newest handoff that has it; absent if only the state has it.
	HandoffID string `json:"handoff_id,omitzero" check:"id=hnd_"`
}

// ResumeQuestion is an open question of a handoff or of the state.
type ResumeQuestion struct {
	// The open question.
	Question string `json:"question"`
	// The newest handoff that has it; absent if only the state has it.
	HandoffID string `json:"handoff_id,omitzero" check:"id=hnd_"`
}

// ResumeRisk is a residual risk of a handoff.
type ResumeRisk struct {
	// The residual risk.
	Risk string `json:"risk"`
	// The newest handoff that has it.
	HandoffID string `json:"handoff_id,omitzero" check:"id=hnd_"`
}

// ResumeState is the continuation state; members for which there is no room are absent.
type ResumeState struct {
	// Version; incremented by each replacement.
	Version uint64 `json:"version"`
	// Summary of the current status of the work.
	Summary *string `json:"summary,omitzero" size:"cut"`
	// Objective of the work.
	Objective *string `json:"objective,omitzero" size:"cut"`
	// What is being worked on now.
	CurrentFocus *string `json:"current_focus,omitzero" size:"cut"`
	// When it was written.
	UpdatedAt Time `json:"updated_at,omitzero"`
	// The agent that wrote it.
	UpdatedBy string `json:"updated_by,omitzero" check:"id=agt_"`
	// The head at the time it was written.
	ChangesetID string `json:"changeset_id,omitzero" check:"id=chg_"`
	// Problems that are known and not solved yet.
	KnownProblems []string `json:"known_problems,omitzero" size:"cut"`
	// Work in progress.
	InProgress []string `json:"in_progress,omitzero" size:"cut"`
	// Entry points.
	ImportantFiles []string `json:"important_files,omitzero" size:"cut"`
	// What the work depends on outside this project.
	Dependencies []string `json:"dependencies,omitzero" size:"cut"`
	// Completed work.
	Completed []string `json:"completed,omitzero" size:"cut"`
	// Decisions that the work rests on.
	Decisions []string `json:"decisions,omitzero" size:"cut,again"`
	// Questions that are not answered yet.
	OpenQuestions []string `json:"open_questions,omitzero" size:"cut,again"`
	// Next actions; omitted with detail compact.
	NextActions []string `json:"next_actions,omitzero" size:"cut,again"`
	// Custom data of the agents; omitted with detail compact.
	Custom *Custom `json:"custom,omitzero"`
}

// ResumeHandoff is a handoff; members for which there is no room are absent.
type ResumeHandoff struct {
	// The handoff's ID.
	ID string `json:"id" check:"id=hnd_"`
	// Where the work stands, in a few sentences.
	Summary *string `json:"summary,omitzero" size:"cut"`
	// The agent that created it.
	Author AgentRef `json:"author,omitzero"`
	// When it was created.
	CreatedAt Time `json:"created_at,omitzero"`
	// The head at that time.
	ChangesetID string `json:"changeset_id,omitzero" check:"id=chg_"`
	// The work session in which it was created.
	WorkSessionID string `json:"work_session_id,omitzero" check:"id=wks_"`
	// The previous handoff; absent for the first.
	PreviousHandoffID *string `json:"previous_handoff_id,omitzero" check:"id=hnd_"`
	// What has been done.
	CompletedWork []string `json:"completed_work,omitzero" size:"cut"`
	// Number of paths that changed since the previous handoff.
	ChangedFilesCount int `json:"changed_files_count,omitzero"`
	// What the author took for granted without checking.
	Assumptions []string `json:"assumptions,omitzero" size:"cut"`
	// What the work depends on outside this project.
	Dependencies []string `json:"dependencies,omitzero" size:"cut"`
	// Related tasks.
	TaskIDs []string `json:"task_ids,omitzero" each:"id=tsk_"`
	// The first 20 of these paths; handoff.read has all.
	ChangedFiles []string `json:"changed_files,omitzero" size:"cut"`
	// What was decided, and why.
	Decisions []DecisionNote `json:"decisions,omitzero" size:"cut,again"`
	// Questions that are not answered yet.
	OpenQuestions []string `json:"open_questions,omitzero" size:"cut,again"`
	// What may still go wrong.
	ResidualRisks []string `json:"residual_risks,omitzero" size:"cut,again"`
	// Next actions; omitted with detail compact.
	NextActions []string `json:"next_actions,omitzero" size:"cut,again"`
	// What keeps the work from continuing; omitted with detail compact.
	Blockers []string `json:"blockers,omitzero" size:"cut,again"`
	// What was tried and did not work, and why; omitted with detail compact.
	FailedApproaches []FailureNote `json:"failed_approaches,omitzero" size:"cut,again"`
}

// ResumeChange is a changeset in a resume.
type ResumeChange struct {
	// The changeset's ID.
	ID string `json:"id" check:"id=chg_"`
	// Position in the history, starting at 1.
	Sequence uint32 `json:"sequence"`
	// The agent that wrote it.
	Author AgentRef `json:"author"`
	// When it was published.
	CreatedAt Time `json:"created_at"`
	// Number of operations.
	Count int `json:"operation_count"`
	// Message of the changeset.
	Message string `json:"message,omitzero" size:"cut"`
	// Paths that it changed; only the first ones if there are many.
	Paths []string `json:"paths,omitzero" size:"rest"`
	// Its operations; only with detail full.
	Operations []ResumeOperation `json:"operations,omitzero" size:"rest"`
}

// ResumeOperation is an operation of a changeset in a resume.
type ResumeOperation struct {
	// The kind of change.
	Action string `json:"action" check:"enum=CREATE|MODIFY|DELETE|RENAME"`
	// The path afterwards, or the deleted path.
	Path string `json:"path"`
	// The path before a RENAME.
	PreviousPath *string `json:"previous_path,omitzero"`
	// The content afterwards; absent for DELETE.
	BlobHash *string `json:"blob_hash,omitzero"`
	// The content before; absent for CREATE.
	PreviousBlob *string `json:"previous_blob_hash,omitzero"`
	// Its size; absent for DELETE.
	SizeBytes *int `json:"size_bytes,omitzero"`
	// Its media type; absent for DELETE.
	ContentType *string `json:"content_type,omitzero"`
}

// ResumeFile is a file in a resume.
type ResumeFile struct {
	// Canonical relative path.
	Path string `json:"path"`
	// Size of the content.
	SizeBytes int `json:"size_bytes"`
	// Language, derived from the file name; absent if unknown.
	Language *string `json:"language,omitzero"`
	// The changeset that last changed it.
	Updated string `json:"updated_changeset_id" check:"id=chg_"`
	// Headings or declarations; only with detail full.
	Outline []string `json:"outline,omitzero" size:"rest"`
}

// ResumeTasks are the unfinished tasks of a project by what can be done with them. Those of the
// caller, those that the latest handoff names, those of priority HIGH or URGENT and the first of
// each list have all their members. Where room is short, others have id, title, status and priority
// alone.
type ResumeTasks struct {
	// Number of unfinished tasks in the project.
	Total int `json:"total"`
	// Claimable tasks, best first.
	Open []TaskBrief `json:"open,omitzero"`
	// Tasks with a live claim, those of the caller first.
	Claimed []TaskBrief `json:"claimed,omitzero"`
	// Tasks that are BLOCKED, or depend on unfinished tasks.
	Blocked []TaskBrief `json:"blocked,omitzero"`
}

// ResumeSession is an open work session in a resume.
type ResumeSession struct {
	// The work session's ID.
	ID string `json:"id" check:"id=wks_"`
	// The agent that works in it.
	Agent AgentRef `json:"agent"`
	// ACTIVE for some time after each write, then IDLE.
	Status string `json:"status" check:"enum=ACTIVE|IDLE"`
	// When it started.
	StartedAt Time `json:"started_at"`
	// When the agent last wrote.
	LastActiveAt Time `json:"last_active_at"`
}

// ResumeData is a resume as data.
type ResumeData struct {
	// The resume.
	Resume Resume `json:"resume"`
}

// The bounds of max_chars; what is outside is moved to the nearest.
const (
	resumeCharsMin     = 1000
	resumeCharsMax     = 200_000
	resumeCharsDefault = 12_000
)

// detail is how much a resume holds where there is room.
type detail struct {
	// chars bounds each text.
	chars int
	// texts says that long texts of tasks are included, repeats that what has a section of its own
	// is also included in state and handoff, and whole that operations and outlines are.
	texts, repeats, whole bool
	// notes bounds the failures, decisions, open questions and risks of all handoffs, notesSeen how
	// many of each are looked at.
	notes, notesSeen int
	// changes, paths, files and tasks bound the lists: paths those of one changeset, tasks each of
	// the three.
	changes, paths, files, tasks int
}

var details = map[string]*detail{
	"compact": {
		chars: 200, notes: 30, notesSeen: 2000, changes: 5, paths: 5, files: 10, tasks: 20,
	},
	"standard": {
		chars: 1000, texts: true, repeats: true, notes: 200, notesSeen: 2000,
		changes: 20, paths: 20, files: 40, tasks: 50,
	},
	"full": {
		chars: math.MaxInt, texts: true, repeats: true, whole: true,
		notes: math.MaxInt, notesSeen: 20_000,
		changes: 100, paths: 100, files: 100, tasks: 200,
	},
}

var (
	// resumeOptional are the sections that include chooses from, resumeSections those that exclude
	// can take away.
	resumeOptional = []string{"handoff", "tasks", "files", "changes"}
	resumeSections = append(resumeOptional[:4:4], "you",
		"state", "failures", "decisions", "open_questions", "residual_risks", "blockers",
		"next_actions", "failed_verifications", "work_sessions")

	resumeQuery = []Param{
		{
			Name: "detail", Check: "enum=compact|standard|full",
			Doc: "Length of texts: compact, standard (if absent), or full with operations and " +
				"outlines of files.",
		},
		{
			Name: "since_changeset", Check: "pattern=^chg_",
			Doc: "Return the changes after this changeset first, up to 200.",
		},
		{
			Name: "include", Doc: "Include only these of handoff, tasks, files and changes, " +
				"separated by commas.",
		},
		{
			Name: "exclude", Doc: "Sections to omit, separated by commas: " +
				strings.Join(resumeSections, ", ") + ".",
		},
		{
			Name: "max_chars", Integer: true, Default: resumeCharsDefault,
			Doc: fmt.Sprintf("Maximum size of data.resume in bytes: %d to %d; values outside "+
				"are clamped; %d if absent.", resumeCharsMin, resumeCharsMax, resumeCharsDefault),
		},
	}
)

var resumeOperations = []*Operation{
	withValidation(declare[None, ResumeData](Operation{
		Name: "resume.read", Method: "GET", Path: "/api/v1/projects/{project}/resume",
		Tool: "project.resume", Core: true,
		ToolDoc: "Read this to resume work: what you hold, next actions, blockers, failures and " +
			"decisions of all handoffs, the latest handoff, your tasks, state, changes, in at " +
			"most max_chars bytes.",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Expensive: true,
		Query:     resumeQuery,
		Errors:    []fault.Code{fault.ProjectNotFound, fault.ChangesetNotFound},
		Tag:       "continuation", Summary: "Get what is needed to resume work",
		Doc: "Returns what an agent needs to continue a project, in at most max_chars bytes: " +
			"next actions and blockers first, then failures, the caller's own claims, turn, " +
			"workspaces and unread items, failed verifications, the latest " +
			"handoff, the caller's tasks, the state, decisions, open questions and risks, " +
			"other tasks, changes, files, work sessions. With since_changeset, the changes " +
			"come first. Failures, decisions, open questions and risks come from all handoffs, " +
			"each with the newest handoff that has it. Null and empty fields are absent. " +
			"truncated_sections lists the sections with omitted entries.",
	}, readResume), func(_ *None, c *Call) []error {
		_, err := c.resumeWish()
		return []error{err}
	}),
}

// resumeWish is what the query asks for.
type resumeWish struct {
	*detail
	bytes int
	// omitted are the sections that are left out.
	omitted []string
	// since is nil without since_changeset.
	since *work.Changeset
}

// shows reports whether the section of a rank is wanted.
func (w *resumeWish) shows(rank int) bool {
	return !slices.Contains(w.omitted, resumeRanks[rank].Name)
}

// resumeWish reads the query but for since_changeset: VALIDATION_FAILED.
func (c *Call) resumeWish() (*resumeWish, error) {
	wish := &resumeWish{detail: details["standard"], bytes: resumeCharsDefault}
	var faults []fault.Field
	note := func(name, problem string) {
		faults = append(faults, fault.Field{Field: name, Problem: problem})
	}
	if name, sent := c.Query["detail"]; sent {
		if wish.detail = details[name]; wish.detail == nil {
			note("detail", "must be one of compact, standard, full")
		}
	}
	if text, sent := c.Query["max_chars"]; sent {
		// What is too long for a number is outside too, at the end that ParseInt returns.
		wanted, err := strconv.ParseInt(text, 10, 64)
		if err != nil && !errors.Is(err, strconv.ErrRange) {
			note("max_chars", "must be an integer")
		}
		wish.bytes = int(min(max(wanted, resumeCharsMin), resumeCharsMax))
	}
	if names, problem := sectionNames(c.Query["include"], resumeOptional); problem != "" {
		note("include", problem)
	} else if len(names) > 0 {
		for _, section := range resumeOptional {
			if !slices.Contains(names, section) {
				wish.omitted = append(wish.omitted, section)
			}
		}
	}
	names, problem := sectionNames(c.Query["exclude"], resumeSections)
	if problem != "" {
		note("exclude", problem)
	}
	wish.omitted = append(wish.omitted, names...)
	if len(faults) > 0 {
		return nil, fault.Invalid(faults...)
	}
	return wish, nil
}

// sectionNames reads a list of names that are separated by commas; an empty text names none.
func sectionNames(text string, known []string) (names []string, problem string) {
	if strings.TrimSpace(text) == "" {
		return nil, ""
	}
	for name := range strings.SplitSeq(text, ",") {
		name = strings.TrimSpace(name)
		if !slices.Contains(known, name) {
			return nil, "must name sections, separated by commas: " + strings.Join(known, ", ")
		}
		names = append(names, name)
	}
	return names, ""
}

func readResume(c *Call, _ *None) (Reply, error) {
	wish, err := c.resumeWish()
	if err != nil {
		return Reply{}, err
	}
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	if text, sent := c.Query["since_changeset"]; sent {
		if wish.since, err = findChangeset(view, text); err != nil {
			return Reply{}, err
		}
	}
	return Reply{Data: resumeReply(c.resume(view, wish))}, nil
}

// resumeReply is ResumeData in the making.
type resumeReply []byte

// JSONBytes implements Sized.
func (r resumeReply) JSONBytes() int { return len(r) }

// AppendJSON implements Appender.
func (r resumeReply) AppendJSON(dst []byte) []byte {
	dst = append(dst, `{"resume":`...)
	return append(append(dst, r...), '}')
}

// resume puts the sections together: those that are shown, each with its rank. Ranks say what is
// kept where room is short.
func (c *Call) resume(p *work.Project, wish *resumeWish) []byte {
	b := &resumeBuild{call: c, project: p, wish: wish, sections: resumeRanks}
	b.borrow()
	defer b.giveBack()
	if wish.since != nil {
		b.changesFirst()
	}
	b.fill()
	for _, section := range []struct {
		rank int
		add  func()
	}{
		{rankOwn, b.holdings}, {rankChanges, b.changes}, {rankFiles, b.files}, {rankTasks, b.tasks},
		{rankFailures, b.failures}, {rankDecisions, b.decisions},
		{rankQuestions, b.openQuestions}, {rankRisks, b.residualRisks},
		{rankBlockers, b.blockers}, {rankNextActions, b.nextActions},
		{rankFailedVerifications, b.failedVerifications}, {rankSessions, b.workSessions},
	} {
		if wish.shows(section.rank) {
			section.add()
		}
	}
	return b.doc.Build(wish.bytes, b.sections[:])
}

// The ranks of the sections: what an agent needs first survives longest.
const (
	// rankSince is that of the changes after since_changeset.
	rankSince = iota
	rankNextActions
	rankBlockers
	rankFailures
	// rankOwn is that of what the caller holds.
	rankOwn
	rankFailedVerifications
	rankHandoff
	rankHeld
	rankState
	rankDecisions
	rankQuestions
	rankRisks
	rankTasks
	rankProject
	rankChanges
	rankFiles
	rankSessions
	rankHandoffAgain
	rankStateAgain
	rankCount
)

// resumeRanks says what part of the room each section may take before those behind it had theirs.
var resumeRanks = [rankCount]sizelimit.Section{
	rankSince:       {Name: "changes"},
	rankNextActions: {Name: "next_actions", Share: 14},
	rankBlockers:    {Name: "blockers", Share: 8},
	// The least is for one failure with its handoff.
	rankFailures: {Name: "failures", Share: 12, Least: 136},
	// The least is for one claim without its end.
	rankOwn:                 {Name: "you", Share: 10, Least: 160},
	rankFailedVerifications: {Name: "failed_verifications", Share: 3},
	rankHandoff:             {Name: "handoff", Share: 11},
	// The least is for one task with its claim, without texts.
	rankHeld:      {Name: "tasks", Share: 8, Least: 420},
	rankState:     {Name: "state", Share: 8},
	rankDecisions: {Name: "decisions", Share: 5},
	rankQuestions: {Name: "open_questions", Share: 3},
	rankRisks:     {Name: "residual_risks", Share: 3},
	rankTasks:     {Name: "tasks", Share: 7},
	rankProject:   {Name: "project", Share: 3},
	rankChanges:   {Name: "changes", Share: 9},
	rankFiles:     {Name: "files", Share: 3},
	rankSessions:  {Name: "work_sessions", Share: 3},
	// What has a section of its own takes the room that the others leave. It has no name: nothing is
	// missing where it is shown once.
	rankHandoffAgain: {},
	rankStateAgain:   {},
}

// sinceShare is the share of the changes after since_changeset, in percent.
const sinceShare = 40

// changesFirst gives the changes the first share, and the others theirs of what is left.
func (b *resumeBuild) changesFirst() {
	for rank := range b.sections {
		b.sections[rank].Share = b.sections[rank].Share * (100 - sinceShare) / 100
	}
	b.sections[rankSince].Share = sinceShare
}
