package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
)

// sessionsFile is the file of the directory that remembers how it was when sessions began, and when
// work was last saved.
const sessionsFile = "sessions.json"

// sessions is the content of sessionsFile.
type sessions struct {
	// Saved is the stamp of the last checkpoint or handoff.
	Saved string `json:"saved,omitzero"`
	// Started has the sessions by the name that the host gives them.
	Started map[string]startedSession `json:"started"`
}

type startedSession struct {
	At    time.Time `json:"at"`
	Head  string    `json:"head"`
	Stamp string    `json:"stamp"`
}

// sessionsMax is how many sessions are remembered.
const sessionsMax = 50

func (b *Binding) sessionsPath() (string, error) { return b.local(sessionsFile) }

// readSessions reads the sessions. What is no JSON counts as none.
func (b *Binding) readSessions() (sessions, error) {
	none := sessions{Started: map[string]startedSession{}}
	text, err := readPws(b.root, localFolder, sessionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil
	}
	if err != nil {
		return none, err
	}
	var all sessions
	if json.Unmarshal(text, &all) != nil || all.Started == nil {
		return none, nil
	}
	return all, nil
}

// changeSessions reads the sessions, lets change edit them, and writes them, while no other process
// does the same. An error of change writes nothing.
func (b *Binding) changeSessions(ctx context.Context, change func(*sessions) error) error {
	path, err := b.sessionsPath()
	if err != nil {
		return err
	}
	return client.WithLock(ctx, path+lockSuffix, func() error {
		all, err := b.readSessions()
		if err == nil {
			err = change(&all)
		}
		if err != nil {
			return err
		}
		oldest := func(a, b string) int { return all.Started[a].At.Compare(all.Started[b].At) }
		names := slices.SortedFunc(maps.Keys(all.Started), oldest)
		for _, name := range names[:max(0, len(names)-sessionsMax)] {
			delete(all.Started, name)
		}
		text, err := json.Marshal(all, json.Deterministic(true), jsontext.WithIndent("  "))
		if err != nil {
			return err
		}
		return client.ReplaceFile(path, append(text, '\n'), 0o600)
	})
}

// noteStart remembers how the directory is when a session begins, or goes on.
func (e *Env) noteStart(ctx context.Context, bound Binding, session string) error {
	now := e.work(ctx, bound)
	return bound.changeSessions(ctx, func(all *sessions) error {
		if _, known := all.Started[session]; !known {
			all.Started[session] = startedSession{At: e.Now(), Head: now.Head, Stamp: now.stamp}
		}
		return nil
	})
}

// noteSaved remembers that what is in the directory now has been saved. Where no hook has noted a
// session, nobody asks.
func (e *Env) noteSaved(ctx context.Context) {
	bound, err := e.binding()
	if err != nil || bound.root == "" {
		return
	}
	e.trust(bound)
	path, err := bound.sessionsPath()
	if err != nil {
		return
	}
	if _, err := os.Stat(path); err != nil {
		return
	}
	now := e.work(ctx, bound)
	err = bound.changeSessions(ctx, func(all *sessions) error {
		all.Saved = now.stamp
		return nil
	})
	if err != nil {
		fmt.Fprintf(e.Err, "pws: the checkpoint is not remembered: %s\n", Clean(err.Error()))
	}
}

// workState is what a session leaves behind: the state of git or of the working copy, and the
// claims.
type workState struct {
	gitTree
	held map[string]heldClaim
}

// work reads the state of the directory. Its stamp covers the claims, too.
func (e *Env) work(ctx context.Context, bound Binding) workState {
	now := workState{held: map[string]heldClaim{}}
	if inGit(bound.root) {
		now.gitTree = readTree(ctx, bound.root)
	} else {
		now.gitTree = readCopy(ctx, bound)
	}
	stamp := sha256.New()
	fmt.Fprintf(stamp, "%s\x00", now.stamp)
	path, err := e.claimsPath()
	if err == nil {
		var all claims
		all, err = readClaims(path)
		for _, task := range slices.Sorted(maps.Keys(all.Tasks)) {
			if claim := all.Tasks[task]; !claim.Lost && e.Now().Before(claim.ExpiresAt) {
				now.held[task] = claim
				fmt.Fprintf(stamp, "%s\x00", claim.ClaimID)
			}
		}
	}
	if err != nil {
		fmt.Fprintf(e.Err, "pws: %s\n", Clean(err.Error()))
	}
	now.stamp = hex.EncodeToString(stamp.Sum(nil))
	return now
}

// HookSessionEnd leaves a handoff when a session ends.
type HookSessionEnd struct{ Hook }

// Run leaves the handoff, if something has changed that is not saved.
func (h *HookSessionEnd) Run(ctx context.Context, env *Env) error {
	return h.leave(ctx, env, "A session ended")
}

// HookPreCompact leaves a handoff before a host replaces a session by its summary.
type HookPreCompact struct{ Hook }

// Run leaves the handoff, if something has changed that is not saved.
func (h *HookPreCompact) Run(ctx context.Context, env *Env) error {
	return h.leave(ctx, env, "The context of a session was compacted")
}

func (h *Hook) leave(ctx context.Context, env *Env, what string) error {
	return h.run(ctx, env,
		func(ctx context.Context, env *Env, bound Binding, input hookInput) error {
			if !env.trusts(bound) {
				return errors.New("no handoff was left: no command has done anything for the project in " +
					"this directory, which may have come with the files of others; pws init does")
			}
			return bound.changeSessions(ctx, func(all *sessions) error {
				return h.handOver(ctx, env, bound, input, all, what)
			})
		})
}

// handOver leaves a handoff unless nothing has changed since the session began, or since the last
// checkpoint or handoff.
func (h *Hook) handOver(
	ctx context.Context, env *Env, bound Binding, input hookInput, all *sessions, what string,
) error {
	now, started := env.work(ctx, bound), all.Started[input.session]
	if now.stamp == all.Saved || now.stamp == started.Stamp {
		return nil
	}
	var paths []string
	newest := now.Newest
	if started.Head != "" && started.Head != now.Head {
		var at time.Time
		if paths, at = committed(ctx, bound.root, started.Head, now.Head); at.After(newest) {
			newest = at
		}
	}
	if len(paths)+len(now.Changed)+len(now.held) == 0 {
		return nil
	}
	caller, err := h.account(env)
	if err != nil || !caller.signedIn {
		return err
	}
	defer caller.close()
	caller.RetryFor = hookRetry
	project, err := caller.resolveProject(ctx, bound.Project)
	if err != nil {
		return err
	}
	last, err := caller.lastSaved(ctx, project)
	if err != nil {
		return err
	}
	if !last.own.Before(newest) && last.own.After(started.At) {
		all.Saved = now.stamp
		return nil
	}
	body := last.body(handoffText(what, input.reason, now, started.Head, paths, project))
	request, err := write(http.MethodPost, projectPath(project, "handoffs"), body)
	if err != nil {
		return err
	}
	// A hook that runs twice at the same event leaves one handoff.
	key := sha256.Sum256([]byte(project + "\x00" + input.session + "\x00" + now.stamp))
	request.Key = "hook-" + hex.EncodeToString(key[:16])
	if _, err = caller.Do(ctx, request); err == nil {
		all.Saved = now.stamp
	}
	return err
}

// savedWork is what the project has of the caller's work.
type savedWork struct {
	// own is when the caller last wrote a handoff, the state or a changeset.
	own time.Time
	// lists of the latest handoff hold until another one says more: a handoff that is made of
	// nothing but git must not hide them.
	lists map[string][]string
}

// lastSaved reads what the project has.
func (a *account) lastSaved(ctx context.Context, project string) (saved savedWork, err error) {
	data, err := dataOf(a.Do(ctx, get(projectPath(project, "resume"), filters("max_chars", "3000"))))
	if err != nil {
		return saved, err
	}
	resume, err := parseValue(data)
	if err != nil {
		return saved, err
	}
	me, err := a.agentID(ctx)
	if err != nil {
		return saved, err
	}
	own := func(by string, at value) {
		if by == me && at.time().After(saved.own) {
			saved.own = at.time()
		}
	}
	v := resume.at("resume")
	own(v.at("state.updated_by").text(), v.at("state.updated_at"))
	for _, change := range v.at("changes").list() {
		own(change.at("author.id").text(), change.at("created_at"))
	}
	var page struct {
		Handoffs []struct {
			Author struct {
				ID string `json:"id"`
			} `json:"author"`
			CreatedAt     string   `json:"created_at"`
			NextActions   []string `json:"next_actions"`
			Blockers      []string `json:"blockers"`
			OpenQuestions []string `json:"open_questions"`
		} `json:"handoffs"`
	}
	err = a.Call(ctx, http.MethodGet, projectPath(project, "handoffs")+"?limit=1", nil, &page)
	if err != nil || len(page.Handoffs) == 0 {
		return saved, err
	}
	latest := page.Handoffs[0]
	own(latest.Author.ID, value{latest.CreatedAt})
	saved.lists = map[string][]string{
		"next_actions": latest.NextActions, "blockers": latest.Blockers,
		"open_questions": latest.OpenQuestions,
	}
	return saved, nil
}

// body is a handoff with a summary, and what still holds of the latest one.
func (s *savedWork) body(summary string) map[string]any {
	body := members("summary", summary)
	for name, list := range s.lists {
		if len(list) > 0 {
			body[name] = list
		}
	}
	return body
}

// reasonWord is the form of the reasons that hosts name.
var reasonWord = regexp.MustCompile(`^[a-z_]{1,40}$`)

// handoffText says what the directory and the claims show, and nothing of what was said in the
// session.
func handoffText(
	what, reason string, now workState, before string, paths []string, project string,
) string {
	var out strings.Builder
	out.WriteString(what)
	if reasonWord.MatchString(reason) {
		fmt.Fprintf(&out, " (%s)", strings.ReplaceAll(reason, "_", " "))
	}
	from, changed := "git", "Not committed"
	if now.Copy {
		from, changed = "the working copy", "Not pushed"
	}
	fmt.Fprintf(&out, ". Nobody wrote this: it is what %s and the claims showed.\n", from)
	if now.Head == "" && now.Branch != "" {
		fmt.Fprintf(&out, "Branch %s, without a commit.\n", line(now.Branch))
	}
	if now.Head != "" {
		fmt.Fprintf(&out, "Branch %s at %s", line(now.Branch), short(now.Head))
		if before != "" && before != now.Head {
			fmt.Fprintf(&out, ", %s before", short(before))
		}
		out.WriteString(".\n")
	}
	out.WriteString(pathsText("Committed", paths))
	out.WriteString(pathsText(changed, now.Changed))
	for _, task := range slices.Sorted(maps.Keys(now.held)) {
		if claim := now.held[task]; claim.ProjectID == project {
			fmt.Fprintf(&out, "Still claimed: %s %s\n", task, cutText(line(claim.Title), 100))
		}
	}
	const most = 3900
	return cutText(strings.TrimRight(out.String(), "\n"), most)
}

func short(commit string) string {
	const digits = 12
	return commit[:min(len(commit), digits)]
}

// pathsText lists paths in one line, the first ones if there are many.
func pathsText(heading string, paths []string) string {
	const most, size = 40, 120
	if len(paths) == 0 {
		return ""
	}
	var shown []string
	for _, path := range paths[:min(len(paths), most)] {
		shown = append(shown, cutText(line(path), size))
	}
	more := ""
	if len(paths) > most {
		more = fmt.Sprintf(" and %d more", len(paths)-most)
	}
	return fmt.Sprintf("%s: %s%s.\n", heading, strings.Join(shown, ", "), more)
}
