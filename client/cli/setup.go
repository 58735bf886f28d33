package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
	"pws/client/setup"
)

// SetupCommand puts the program into the settings of a host of agents.
type SetupCommand struct {
	Output
	Host    string `arg:"" enum:"claude,codex,cursor,gemini,vscode,windsurf,opencode,agents-md" help:"${enum}."`
	Project bool   `xor:"place" help:"In files of the project, for all who work in it."`
	User    bool   `xor:"place" help:"In files of the user, for all projects (the default)."`
	MCP     bool   `name:"mcp" help:"Only the MCP server."`
	Hooks   bool   `help:"Only the hooks; for a host without hooks, a text for its agent."`
	DryRun  bool   `xor:"what" help:"Print what would change."`
	Check   bool   `xor:"what" help:"Exit with 1 if something is missing or differs."`
	Remove  bool   `xor:"what" help:"Remove what setup added."`
}

// The states of a part.
const (
	partMissing = "missing"
	partStale   = "stale"
	partPresent = "present"
)

// partReport is what became of a part.
type partReport struct {
	What string `json:"part"`
	Path string `json:"path"`
	// State is what was found: missing, stale or present.
	State string `json:"state"`
	// Done is what was done, empty for nothing.
	Done string `json:"done,omitzero"`
	note string
}

// Run sets up the host, or does what the flags say instead.
func (c *SetupCommand) Run(ctx context.Context, env *Env) error {
	parts, err := c.parts(env)
	if err != nil {
		return err
	}
	var reports []partReport
	var failed error
	for _, part := range parts {
		report, err := c.apply(ctx, env, part)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", part.Path, err))
			continue
		}
		reports = append(reports, report)
	}
	if err := c.report(ctx, env, reports); err != nil || failed != nil {
		return errors.Join(failed, err)
	}
	if c.Check {
		for _, report := range reports {
			if report.State != partPresent {
				return &advisedError{errNotSetUp, "pws setup " + c.flags()}
			}
		}
	}
	if _, err := exec.LookPath(env.Program.Name); err != nil && !c.Remove {
		fmt.Fprintf(env.Err, "pws: %s is not on the PATH: hosts will not find it\n",
			env.Program.Name)
	}
	return nil
}

// errNotSetUp reports that a check found a part missing or stale.
var errNotSetUp = errors.New("the set-up is not as it should be")

// flags are the arguments that set up what was checked.
func (c *SetupCommand) flags() string {
	words := []string{c.Host}
	for _, flag := range []struct {
		set  bool
		name string
	}{{c.Project, "--project"}, {c.MCP, "--mcp"}, {c.Hooks, "--hooks"}} {
		if flag.set {
			words = append(words, flag.name)
		}
	}
	return strings.Join(words, " ")
}

// parts are the files of the host that the flags mean.
func (c *SetupCommand) parts(env *Env) ([]setup.Part, error) {
	project := c.Project || c.Host == "agents-md" && !c.User
	place, err := env.place(project)
	if err != nil {
		return nil, err
	}
	all, err := setup.Parts(c.Host, place)
	var parts []setup.Part
	for _, part := range all {
		if c.MCP == c.Hooks || c.MCP == (part.What == setup.PartMCP) {
			parts = append(parts, part)
		}
	}
	if len(parts) == 0 || err != nil {
		where := "--user"
		if project {
			where = "--project"
		}
		return nil, usagef("%s with %s: %w", c.Host, where, setup.ErrNoPart)
	}
	return parts, nil
}

// place is where settings are: of the user, or of the project that the directory belongs to.
func (e *Env) place(project bool) (setup.Place, error) {
	home, err := e.home()
	place := setup.Place{Home: home, Lookup: e.Lookup}
	if err != nil || !project {
		return place, err
	}
	bound, err := e.binding()
	if place.Dir = bound.root; place.Dir == "" {
		place.Dir = gitRoot(e.Dir)
	}
	return place, err
}

func (e *Env) home() (string, error) {
	for _, name := range []string{"HOME", "USERPROFILE"} {
		if home, set := e.variable(name); set && filepath.IsAbs(home) {
			return home, nil
		}
	}
	return "", errors.New("the home of the user is not known: set HOME")
}

// apply does with one part what the flags say.
func (c *SetupCommand) apply(
	ctx context.Context, env *Env, part setup.Part,
) (report partReport, err error) {
	report = partReport{What: part.What, Path: part.Path}
	text, state, err := partState(part)
	if err != nil {
		return report, err
	}
	report.State = state
	change, command := part.Put, part.Add
	if c.Remove {
		change, command = part.Remove, part.Drop
	}
	wanted, err := change(text)
	if err != nil || c.Check || bytes.Equal(wanted, text) {
		return report, err
	}
	// A stale entry may have more than what is known here; the commands of hosts replace all of it.
	if len(command) > 0 && (c.Remove || state == partMissing) {
		if path, err := exec.LookPath(command[0]); err == nil {
			return c.byHost(ctx, env, part, report, path, command)
		}
	}
	if c.DryRun {
		return report, printChange(env.Out, part.Path, text, wanted)
	}
	report.note = part.Note
	report.Done, err = env.change(part.Path, text, wanted)
	return report, err
}

// staysIn returns an error if a path in a project leads out of it by links: the project may be
// someone else's.
func staysIn(project, path string) error {
	root, err := filepath.EvalSymlinks(project)
	if err != nil {
		return err
	}
	// What is not there yet is below the first folder that is.
	real, err := filepath.EvalSymlinks(path)
	for at := path; errors.Is(err, fs.ErrNotExist) && at != filepath.Dir(at); {
		if _, broken := os.Lstat(at); broken == nil {
			return fmt.Errorf("%s is a link to nothing", at)
		}
		at = filepath.Dir(at)
		real, err = filepath.EvalSymlinks(at)
	}
	if err != nil {
		return err
	}
	if inside, err := filepath.Rel(root, real); err != nil || !filepath.IsLocal(inside) {
		return fmt.Errorf("%s leads out of the project, to %s", path, real)
	}
	return nil
}

// partState reads the file of a part, and what is in it.
func partState(part setup.Part) (text []byte, state string, err error) {
	if part.Project != "" {
		if err := staysIn(part.Project, part.Path); err != nil {
			return nil, "", err
		}
	}
	text, err = os.ReadFile(part.Path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", err
	}
	with, err := part.Put(text)
	if err != nil {
		return text, "", err
	}
	if bytes.Equal(with, text) {
		return text, partPresent, nil
	}
	without, err := part.Remove(text)
	if err == nil && !bytes.Equal(without, text) && len(text) > 0 {
		return text, partStale, nil
	}
	return text, partMissing, err
}

// hostPatience is how long a command of a host may take.
const hostPatience = time.Minute

// byHost lets the host itself change its settings, and looks at the result.
func (c *SetupCommand) byHost(
	ctx context.Context, env *Env, part setup.Part, report partReport, path string,
	command []string,
) (partReport, error) {
	shown := strings.Join(command, " ")
	if c.DryRun {
		_, err := fmt.Fprintf(env.Out, "run: %s\n", shown)
		return report, err
	}
	if err := env.backUp(part.Path); err != nil {
		return report, err
	}
	ctx, cancel := context.WithTimeout(ctx, hostPatience)
	defer cancel()
	run := exec.CommandContext(ctx, path, command[1:]...)
	run.Dir = env.Dir
	run.WaitDelay = time.Second
	output, err := run.CombinedOutput()
	if err != nil {
		return report, fmt.Errorf("%s: %w: %s", shown, err, line(string(output)))
	}
	_, state, err := partState(part)
	if err == nil && (state == partPresent) == c.Remove {
		err = fmt.Errorf("%s has changed nothing: %s", shown, line(string(output)))
	}
	report.Done, report.note = "ran "+shown, part.Note
	return report, err
}

// change replaces the file of a host. A link stays one: what it names is replaced. A file that is
// left empty goes.
func (e *Env) change(path string, before, after []byte) (done string, err error) {
	mode := fs.FileMode(0o644)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
	}
	if len(before) > 0 {
		if err := e.backUp(path); err != nil {
			return "", err
		}
	}
	if len(bytes.TrimSpace(after)) == 0 {
		return "removed the file", os.Remove(path)
	}
	return "wrote", client.ReplaceFile(path, after, mode)
}

// backUp copies a file of a host to the folder of the state, under the time and its name.
func (e *Env) backUp(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	name := e.Now().UTC().Format("20060102T150405.000000000") + "-" + filepath.Base(path)
	return client.ReplaceFile(filepath.Join(e.Folders.State, "backups", name), text, 0o600)
}

// report prints what was found and done, a line for each part.
func (c *SetupCommand) report(ctx context.Context, env *Env, reports []partReport) error {
	if c.DryRun {
		return nil
	}
	data, err := json.Marshal(map[string]any{"host": c.Host, "parts": reports},
		json.Deterministic(true))
	if err != nil {
		return err
	}
	return c.print(ctx, env, data, func(out io.Writer) error {
		for _, report := range reports {
			text := report.State
			switch {
			case c.Remove && report.Done == "":
				text = "not there"
			case report.Done != "":
				text = report.Done
			}
			fmt.Fprintf(out, "%-5s  %s: %s\n", report.What, report.Path, text)
			if report.note != "" && !c.Remove {
				fmt.Fprintf(out, "       %s\n", report.note)
			}
		}
		return nil
	})
}

// printChange prints the lines that differ, from the first to the last such line.
func printChange(out io.Writer, path string, before, after []byte) error {
	old, new := splitLines(before), splitLines(after)
	first := 0
	for first < min(len(old), len(new)) && old[first] == new[first] {
		first++
	}
	last := 0
	for last < min(len(old), len(new))-first && old[len(old)-1-last] == new[len(new)-1-last] {
		last++
	}
	var text strings.Builder
	fmt.Fprintf(&text, "--- %s\n+++ %s\n@@ line %d @@\n", path, path, first+1)
	for _, line := range old[first : len(old)-last] {
		text.WriteString("-" + line + "\n")
	}
	for _, line := range new[first : len(new)-last] {
		text.WriteString("+" + line + "\n")
	}
	_, err := io.WriteString(out, text.String())
	return err
}

func splitLines(text []byte) []string {
	if len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}
