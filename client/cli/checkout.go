package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
	"pws/client/checkout"
)

// CheckoutCommand makes a directory with the files of a project.
type CheckoutCommand struct {
	Common
	Project string `arg:"" help:"ID or name of the project."`
	Dir     string `arg:"" optional:"" type:"path" help:"The directory; one with the name of the project by default."`
}

// filesAll is the member files of a binding whose directory keeps all files of the project.
const filesAll = "."

// Run makes the directory, binds it and pulls. A run that was interrupted goes on when it is
// repeated.
func (c *CheckoutCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	project, err := caller.resolveProject(ctx, c.Project)
	if err != nil {
		return err
	}
	// A project that cannot be read leaves no directory behind.
	name, err := caller.projectName(ctx, project)
	if err != nil {
		return err
	}
	dir := c.Dir
	if dir == "" {
		dir = env.path(folderFor(name, project))
	}
	bound, err := readBinding(dir)
	switch {
	case err == nil && (bound.Project != project ||
		!client.SameService(bound.Server, caller.Server)):
		return usagef("%s is bound to %s at %s", dir, bound.Project, bound.Server)
	case errors.Is(err, fs.ErrNotExist):
		bound, err = bindNew(dir, Binding{Server: caller.Server, Project: project, Files: filesAll})
	}
	if err != nil {
		return err
	}
	if !c.WantsJSON() {
		fmt.Fprintf(env.Out, "Working copy: %s\n", Clean(dir))
	}
	env.trust(bound)
	return c.pull(ctx, env, caller, bound)
}

// bindNew binds a directory that is empty or does not exist.
func bindNew(dir string, bound Binding) (Binding, error) {
	entries, err := os.ReadDir(dir)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return bound, err
	case len(entries) > 0 && !(len(entries) == 1 && entries[0].Name() == bindingFolder):
		return bound, usagef("%s is not empty", dir)
	}
	bound.root = dir
	return bound, writeBinding(dir, bound)
}

// notFolderName are the characters that the name of a new directory does not get.
var notFolderName = regexp.MustCompile(`[^\pL\pN._-]+`)

// folderFor is the name of the directory for a project.
func folderFor(name, id string) string {
	const most = 64
	name = strings.Trim(notFolderName.ReplaceAllString(name, "-"), "-.")
	if runes := []rune(name); len(runes) > most {
		name = strings.Trim(string(runes[:most]), "-.")
	}
	if name == "" {
		return id
	}
	return name
}

func (a *account) projectName(ctx context.Context, project string) (string, error) {
	var data struct {
		Project struct {
			Name string `json:"name"`
		} `json:"project"`
	}
	err := a.Call(ctx, http.MethodGet, projectPath(project), nil, &data)
	return data.Project.Name, err
}

// openTree opens the working copy that the working directory is in.
func (c *Common) openTree(env *Env) (*account, *checkout.Tree, error) {
	bound, err := env.binding()
	if err != nil {
		return nil, nil, err
	}
	if bound.root == "" {
		return nil, nil, &advisedError{
			usagef("this directory is not a working copy"), "pws checkout PROJECT DIR",
		}
	}
	caller, err := c.account(env)
	if err != nil {
		return nil, nil, err
	}
	tree, err := c.treeOf(env, caller, bound)
	if err != nil {
		caller.close()
		return nil, nil, err
	}
	return caller, tree, nil
}

// treeOf opens the working copy of a binding.
func (*Common) treeOf(env *Env, caller *account, bound Binding) (*checkout.Tree, error) {
	if !client.SameService(bound.Server, caller.Server) {
		return nil, usagef("this directory is bound to %s, not to %s", bound.Server, caller.Server)
	}
	if bound.Files == "" || bound.Files == filesNone {
		return nil, &advisedError{
			usagef("this directory keeps no files of the project"),
			`set files = "." or a folder in ` + filepath.Join(bound.root, bindingFolder, bindingFile),
		}
	}
	return checkout.Open(checkout.Options{
		Dir: bound.root, Folder: bound.Files, Secret: env.Folders.Secret,
		Remote:   checkout.Remote{Client: caller.Client, Project: bound.Project},
		Agent:    caller.agentID,
		Notice:   func(text string) { fmt.Fprintf(env.Err, "pws: %s\n", Clean(text)) },
		Progress: env.progress(),
	})
}

// PullCommand merges what the server has.
type PullCommand struct{ Common }

// Run pulls. Conflicts are an error, after all else was written.
func (c *PullCommand) Run(ctx context.Context, env *Env) error {
	caller, tree, err := c.openTree(env)
	if err != nil {
		return err
	}
	defer caller.close()
	defer func() { _ = tree.Close() }()
	return c.pullInto(ctx, env, tree)
}

func (c *Common) pull(ctx context.Context, env *Env, caller *account, bound Binding) error {
	tree, err := c.treeOf(env, caller, bound)
	if err != nil {
		return err
	}
	defer func() { _ = tree.Close() }()
	return c.pullInto(ctx, env, tree)
}

func (c *Common) pullInto(ctx context.Context, env *Env, tree *checkout.Tree) error {
	var done checkout.Pulled
	env.trustHere()
	err := tree.Locked(ctx, func() (err error) {
		done, err = tree.Pull(ctx)
		return err
	})
	if err != nil {
		if done.Changeset != "" {
			fmt.Fprintln(env.Err, "Before the error, a pull that was interrupted was completed:")
			err = errors.Join(err, printPulled(env.Err, done))
		}
		return treeError(err)
	}
	err = c.printAny(ctx, env, done, func(out io.Writer) error { return printPulled(out, done) })
	if err != nil || len(done.Conflicts) == 0 {
		return err
	}
	return &advisedError{
		conflictError{fmt.Errorf("%s changed on both sides", filesWere(len(done.Conflicts)))},
		"edit them, then pws push",
	}
}

// filesWere begins a sentence about a number of files.
func filesWere(many int) string {
	if many == 1 {
		return "1 file was"
	}
	return fmt.Sprintf("%d files were", many)
}

func printPulled(out io.Writer, done checkout.Pulled) error {
	marks := []struct {
		mark  string
		paths []string
	}{{"WRITE", done.Written}, {"DELETE", done.Deleted}, {"MERGE", done.Merged}}
	for _, one := range marks {
		for _, path := range one.paths {
			fmt.Fprintf(out, "%s  %s\n", one.mark, line(path))
		}
	}
	for _, one := range done.Conflicts {
		fmt.Fprintf(out, "CONFLICT  %s %s\n", line(one.Path), one.Reason())
	}
	printLeftOut(out, done.LeftOut)
	if len(done.Published) > 0 {
		fmt.Fprintf(out, "Published %s, which was begun before.\n", strings.Join(done.Published, ", "))
	}
	_, err := fmt.Fprintf(out, "At changeset %s.\n", done.Changeset)
	return err
}

func printLeftOut(out io.Writer, all []checkout.LeftOut) {
	for _, one := range all {
		fmt.Fprintf(out, "LEFT OUT  %s %s\n", line(one.Path), line(one.Reason))
	}
}

// PushCommand publishes what was changed.
type PushCommand struct {
	Common
	Message      string `short:"m" help:"Message of the changeset." placeholder:"TEXT"`
	Split        bool   `help:"Publish several changesets if one is not enough: not in one step."`
	Contribute   bool   `help:"Submit a contribution instead, for agents that may not publish."`
	AllowMarkers bool   `help:"Publish files with conflict markers too."`
}

// Run publishes all changes of the directory.
func (c *PushCommand) Run(ctx context.Context, env *Env) error {
	if c.Contribute && c.Message == "" {
		return usagef("a contribution needs a message: -m TEXT")
	}
	caller, tree, err := c.openTree(env)
	if err != nil {
		return err
	}
	defer caller.close()
	defer func() { _ = tree.Close() }()
	if !caller.signedIn {
		return &advisedError{errNotSignedIn, "pws login " + caller.Server}
	}
	env.trustHere()
	push := tree.Push
	if c.Contribute {
		push = tree.Contribute
	}
	var done checkout.Pushed
	err = tree.Locked(ctx, func() (err error) {
		done, err = push(ctx, checkout.PushOptions{
			Message: c.Message, Split: c.Split, AllowMarkers: c.AllowMarkers,
		})
		return err
	})
	if err != nil {
		if len(done.Changesets) > 0 {
			fmt.Fprintf(env.Err, "Published before the error: %s.\n", strings.Join(done.Changesets, ", "))
		}
		return treeError(err)
	}
	return c.printAny(ctx, env, done, func(out io.Writer) error { return printPushed(out, done) })
}

func printPushed(out io.Writer, done checkout.Pushed) (err error) {
	printChanges(out, done.Changes)
	printLeftOut(out, done.LeftOut)
	switch {
	case done.ChangesRequested:
		_, err = fmt.Fprintf(out,
			"A review of contribution %s asks for changes, and nothing was changed since.\n",
			done.Contribution)
	case done.Pending:
		_, err = fmt.Fprintf(out,
			"Contribution %s waits for a decision, and nothing was changed since.\n", done.Contribution)
	case done.Contribution != "":
		_, err = fmt.Fprintf(out, "Submitted contribution %s.\n", done.Contribution)
	case len(done.Changesets) == 0:
		_, err = fmt.Fprintln(out, "There is nothing to push.")
	default:
		_, err = fmt.Fprintf(out, "Published %s.\n", strings.Join(done.Changesets, ", "))
	}
	return err
}

func printChanges(out io.Writer, changes []checkout.Change) {
	for _, one := range changes {
		if one.Previous != "" {
			fmt.Fprintf(out, "%s  %s -> %s\n", one.Action, line(one.Previous), line(one.Path))
			continue
		}
		fmt.Fprintf(out, "%s  %s\n", one.Action, line(one.Path))
	}
}

// StatusCommand shows what differs.
type StatusCommand struct{ Common }

// Run compares the directory with its base and the server. A server that does not answer is no
// error: what differs here is shown, as it is BEFORE a refusal is reported.
func (c *StatusCommand) Run(ctx context.Context, env *Env) error {
	caller, tree, err := c.openTree(env)
	if err != nil {
		return err
	}
	defer caller.close()
	defer func() { _ = tree.Close() }()
	status, err := tree.Status(ctx)
	if err != nil && (status.Project == "" || ctx.Err() != nil) {
		return err
	}
	var lost *client.UnreachableError
	if errors.As(err, &lost) {
		fmt.Fprintf(env.Err, "pws: the server was not asked: %s\n", Clean(err.Error()))
		err = nil
	}
	printed := c.printAny(ctx, env, status,
		func(out io.Writer) error { return printStatus(out, status) })
	if printed != nil {
		return printed
	}
	return err
}

func printStatus(out io.Writer, s checkout.Status) error {
	fmt.Fprintf(out, "Project %s at %s\n", line(s.Project), line(s.Server))
	switch {
	case s.Base == "":
		fmt.Fprintln(out, "Nothing was pulled yet: pws pull")
	case s.BaseUnknown:
		fmt.Fprintf(out, "The server does not have %s, on which this directory is: pws pull\n",
			line(s.Base))
	case s.Head != "" && s.Head != s.Base:
		fmt.Fprintf(out, "The server has changes since %s: pws pull\n", line(s.Base))
	default:
		fmt.Fprintf(out, "At changeset %s\n", line(s.Base))
	}
	if s.Interrupted {
		fmt.Fprintln(out, "A pull or push was interrupted: pws pull completes it")
	}
	printChanges(out, s.Changes)
	for _, one := range slices.Concat(s.Conflicts, s.Unfit) {
		fmt.Fprintf(out, "PROBLEM  %s %s\n", line(one.Path), line(one.Reason))
	}
	printLeftOut(out, s.LeftOut)
	if len(s.Changes)+len(s.Unfit) == 0 {
		fmt.Fprintln(out, "There is nothing to push.")
	}
	return nil
}

// printAny prints a value of the client as the data of an answer.
func (o *Output) printAny(
	ctx context.Context, env *Env, of any, text func(io.Writer) error,
) error {
	// Names of files may be anything.
	data, err := json.Marshal(of, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return o.print(ctx, env, data, text)
}

// conflictError is an error of the client with the exit code of conflicts.
type conflictError struct{ error }

// Unwrap returns the error itself.
func (e conflictError) Unwrap() error { return e.error }

// busyError adds the next step to the error of a directory that another process changes.
func busyError(err error) error {
	return &advisedError{conflictError{err}, "wait until the other command has ended, then repeat"}
}

// treeError adds the next step to an error of a working copy.
func treeError(err error) error {
	var blocked *checkout.BlockedError
	var many *checkout.TooManyError
	switch {
	case errors.As(err, &blocked):
		return &advisedError{conflictError{err}, blocked.Try}
	case errors.Is(err, checkout.ErrBusy):
		return busyError(err)
	case errors.As(err, &many):
		return &advisedError{err, "pws push --split: several changesets, not one step"}
	case client.IsCode(err, "PROJECT_MOVED", "CHANGESET_NOT_FOUND"):
		return &advisedError{err, "pws pull, then pws push"}
	}
	if step := otherPush(err); step != "" {
		return &advisedError{err, step}
	}
	return err
}

// otherPush is what to do for an agent that may not publish changesets: submit a contribution, or
// take the turn of a community project. The server knows which of them is permitted. It is empty if
// neither is, as for a blocked agent, and for other errors.
func otherPush(err error) string {
	var failure *client.Failure
	if !client.IsCode(err, "ROLE_REQUIRED", "PROJECT_IS_COMMUNITY") || !errors.As(err, &failure) {
		return ""
	}
	for _, call := range advisedCalls(failure) {
		switch call.Operation {
		case "workspace.open":
			return "pws push --contribute -m TEXT"
		case "turn.take":
			turn := "pws api POST " + strings.TrimPrefix(call.Path, "/api/v1/")
			return turn + " --jq .workspace.id prints a WORKSPACE; then, for each file, " +
				"pws workspace write WORKSPACE PATH FILE, or pws api DELETE " +
				"workspaces/WORKSPACE/files/PATH; then " + strings.TrimSuffix(turn, "turn") +
				"submit -f summary=TEXT; then pws pull"
		}
	}
	return ""
}
