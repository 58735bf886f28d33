package work_test

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// ruleCodes are the refusals that the rules can give; the tables show each at least once.
var ruleCodes = []fault.Code{
	fault.ValidationFailed, fault.ReusePolicyRequired, fault.Internal,
	fault.ProjectNotFound, fault.RoleRequired, fault.OwnerRequired,
	fault.MemberExists, fault.MemberNotFound, fault.QuotaExceeded, fault.Forbidden,
	fault.ProjectArchived, fault.PreconditionFailed,
	fault.FileNotFound, fault.FileExists, fault.FileChanged, fault.PathConflict,
	fault.FileLimitReached, fault.ChangesetNotFound, fault.ProjectMoved,
	fault.StateConflict, fault.HandoffNotFound, fault.SessionNotFound, fault.TaskNotFound,
	fault.TaskAlreadyClaimed, fault.TaskNotClaimable, fault.DependenciesUnmet, fault.ClaimLost,
	fault.WorkspaceNotFound, fault.WorkspaceClosed, fault.TurnHeld, fault.TurnLost,
	fault.ProjectIsCommunity, fault.ProjectNotCommunity, fault.ContributionConflict,
	fault.NothingToSubmit, fault.EditNotFound, fault.EditAmbiguous, fault.FileTooLarge,
	fault.ChangesetConflict, fault.EmptyChangeset,
	fault.ReuseNotPermitted, fault.InvalidPath,
	fault.ContributionNotFound, fault.ArtifactNotFound, fault.RevisionNotFound,
	fault.RevisionSuperseded, fault.ContributionClosed, fault.ApprovalPending, fault.SelfReview,
	fault.ReuseNotPermitted, fault.DiscussionNotFound, fault.CommentNotFound,
	fault.VerificationNotFound, fault.ReviewNotFound,
}

// A table is a text file. A line "== title" begins a case with no project; every further line is
//
//	[agent:] command arguments -> outcome
//
// and runs on what the lines before it left; ann gives the commands where nobody is named. An
// outcome is "created", "changed" or "unchanged", with the changeset where one was published and
// the task, handoff or record that was made or claimed, or a code with its details. @n is the nth
// changeset, tn the nth task, hn the nth handoff, vn the nth verification record, rn the nth
// relation, wn the nth workspace, cn the nth contribution, cn.m its mth revision, cn/m its mth
// review, an the nth artifact, in the nth import, dn the nth discussion, kn the nth comment, a
// quoted word a content, in which | ends a line. Commands that end in ? ask and change nothing.
func TestRules(t *testing.T) {
	files, err := filepath.Glob("testdata/rules/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	seen := map[fault.Code]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runTable(t, file, seen) })
	}
	for _, code := range ruleCodes {
		if !seen[code] {
			t.Errorf("no table shows %s", code)
		}
	}
}

func runTable(t *testing.T, file string, seen map[fault.Code]bool) {
	text, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	var s *script
	lines := bufio.NewScanner(text)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		switch {
		case line == "" || line[0] == '#':
		case strings.HasPrefix(line, "== "):
			s = &script{world: newWorld(), contents: map[work.Hash]string{}, seen: seen}
		default:
			command, want, found := strings.Cut(line, " -> ")
			if !found || s == nil {
				t.Fatalf("%s:%d: no outcome, or no case", file, number)
			}
			if got := s.run(strings.TrimSpace(command)); got != strings.TrimSpace(want) {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, number, command, got, want)
			}
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
}

// script runs the lines of one case.
type script struct {
	*world
	contents map[work.Hash]string
	seen     map[fault.Code]bool
	// came counts the agents that came once.
	came int
}

func (s *script) run(line string) string {
	who := "ann"
	if name, rest, found := strings.Cut(line, ": "); found && !strings.Contains(name, " ") {
		who, line = name, rest
	}
	words := split(line)
	if answer, ok := s.query(words); ok {
		return answer
	}
	caller := agent(who)
	if who == "anonymous" || who == "service" {
		caller = id.ID{}
	}
	if answer, ok := s.forkQuery(caller, words); ok {
		return answer
	}
	command := s.editCommand(words)
	if command == nil {
		command = s.workspaceCommand(caller, words)
	}
	if command == nil {
		command = s.artifactCommand(caller, words)
	}
	if command == nil {
		command = s.contributionCommand(words)
	}
	if command == nil {
		command = s.command(words)
	}
	decision, err := s.do(caller, command)
	if staleCode(err) {
		return "stale"
	}
	if err != nil {
		s.seen[fault.CodeOf(err)] = true
		return s.refusal(err)
	}
	answer := "unchanged"
	if decision.Result.Created {
		answer = "created"
	} else if len(decision.Events) > 0 {
		answer = "changed"
	}
	if !decision.Result.Changeset.IsZero() {
		answer += " " + s.number(decision.Result.Changeset)
	}
	if subject := s.subject(decision.Result.Subject); subject != "" && decision.Result.Created {
		answer += " " + subject
	}
	return answer
}

// split takes quoted words as one, quotes included.
func split(line string) []string {
	quoted := false
	return strings.FieldsFunc(line, func(r rune) bool {
		if r == '"' {
			quoted = !quoted
		}
		return r == ' ' && !quoted
	})
}

func (s *script) number(changeset id.ID) string {
	if c, ok := s.project.Changeset(changeset); ok {
		return fmt.Sprintf("@%d", c.Sequence)
	}
	return "unknown"
}

func (s *script) changeset(word string) *work.Changeset {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "@"))
	if err != nil || n < 1 || n > s.project.ChangesetsCount() {
		return nil
	}
	return s.project.ChangesetNumber(uint32(n))
}

func (s *script) content(word string) work.Blob {
	b := blob(strings.ReplaceAll(strings.Trim(word, `"`), "|", "\n"))
	s.contents[b.Hash] = word
	return b
}

// subject names a task, a handoff or a record.
func (s *script) subject(of id.ID) string {
	if task := s.taskName(of); task != "" {
		return task
	}
	if said := s.talkName(of); said != "" {
		return said
	}
	if record := s.recordName(of); record != "" {
		return record
	}
	if workspace := s.workspaceName(of); workspace != "" {
		return workspace
	}
	if contribution := s.contributionName(of); contribution != "" {
		return contribution
	}
	if artifact := s.artifactName(of); artifact != "" {
		return artifact
	}
	return s.handoffName(of)
}

// refusal writes a code and its details in the order of their names.
func (s *script) refusal(err error) string {
	refused, ok := err.(*fault.Error)
	if !ok {
		return "error " + err.Error()
	}
	names := make([]string, 0, len(refused.Details))
	for name := range refused.Details {
		names = append(names, name)
	}
	slices.Sort(names)
	text := string(refused.Code)
	for _, name := range names {
		text += fmt.Sprintf(" %s=%s", name, s.detail(name, refused.Details[name]))
	}
	return text
}

// detail writes times as milliseconds from now, IDs by the names of the tables, and several faults
// in brackets.
func (s *script) detail(name string, value any) string {
	if text, ok := s.detailOfEdit(value); ok {
		return text
	}
	switch value := value.(type) {
	case nil:
		return "null"
	case []fault.Field:
		list := make([]string, len(value))
		for i, one := range value {
			list[i] = one.Field
		}
		return strings.Join(list, ",")
	case []fault.Part:
		list := make([]string, len(value))
		for i, one := range value {
			list[i] = s.refusal(&fault.Error{Code: one.Code, Details: one.Details})
		}
		return "[" + strings.Join(list, " | ") + "]"
	case []work.Conflict:
		return "[" + strings.TrimSpace(s.showConflicts(value)) + "]"
	case []string:
		list := make([]string, len(value))
		for i, one := range value {
			list[i] = s.detail(name, one)
		}
		return fmt.Sprint(list)
	case int64:
		if name == "expires_at" {
			return fmt.Sprintf("%+d", value-s.now)
		}
	case string:
		return s.detailText(value)
	}
	return fmt.Sprint(value)
}

func (s *script) detailText(value string) string {
	if changeset, ok := id.Parse(id.Changeset, value); ok {
		return s.number(changeset)
	}
	if workspace, ok := id.Parse(id.Workspace, value); ok {
		return s.workspaceName(workspace)
	}
	if contribution, ok := id.Parse(id.Contribution, value); ok {
		return s.contributionName(contribution)
	}
	if revision, ok := id.Parse(id.Revision, value); ok {
		return s.contributionName(revision)
	}
	if task, ok := id.Parse(id.Task, value); ok {
		return s.taskName(task)
	}
	if holder, ok := id.Parse(id.Agent, value); ok {
		return name(holder)
	}
	for hash, word := range s.contents {
		if value == fmt.Sprintf("%x", hash) {
			return word
		}
	}
	return value
}

// match asks for a content, or with "none" for no file.
func (s *script) match(words []string) func(*work.FileInfo) error {
	word, given := option(words, "match")
	if !given {
		return nil
	}
	return func(current *work.FileInfo) error {
		if current == nil && word == "none" {
			return nil
		}
		if current != nil && current.Blob == s.content(word).Hash {
			return nil
		}
		return fault.New(fault.PreconditionFailed, "The file is another.")
	}
}

// option finds name=value among words.
func option(words []string, name string) (string, bool) {
	for _, word := range words {
		if value, found := strings.CutPrefix(word, name+"="); found {
			return value, true
		}
	}
	return "", false
}
