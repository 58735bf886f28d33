package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"syscall"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/client"
	"pws/client/checkout"
)

// The exit codes of the client's commands.
const (
	ExitOK          = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitSignIn      = 4
	ExitConflict    = 5
	ExitRefused     = 6
	ExitUnreachable = 7
	ExitRateLimited = 8
	ExitInterrupted = 130
)

// exitCodes explains them, in order.
var exitCodes = []struct {
	code int
	what string
}{
	{ExitOK, "done"},
	{ExitFailed, "failed"},
	{ExitUsage, "the command line is not valid"},
	{ExitNotFound, "not found, or not visible to this agent"},
	{ExitSignIn, "signing in is needed: pws login"},
	{ExitConflict, "a conflict: read again, then repeat"},
	{ExitRefused, "refused: this agent has no right to do it"},
	{ExitUnreachable, "the server cannot be reached, or failed"},
	{ExitRateLimited, "a rate limit: wait, then repeat"},
	{ExitInterrupted, "interrupted"},
}

// PrintExitCodes prints what the exit codes mean.
func PrintExitCodes(to io.Writer) error {
	t := newPlainTable(to)
	for _, one := range exitCodes {
		t.row(strconv.Itoa(one.code), one.what)
	}
	return t.end()
}

// UsageError reports an invalid command line.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }

// Unwrap returns the error itself.
func (e UsageError) Unwrap() error { return e.Err }

func usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// advisedError is an error with the command to try next.
type advisedError struct {
	error
	try string
}

// Unwrap returns the error itself.
func (e *advisedError) Unwrap() error { return e.error }

// ExitCode is the exit code of a command that returned err. An error with a method ExitsWith
// says it itself.
func ExitCode(err error) int {
	var usage UsageError
	var failure *client.Failure
	var unreachable *client.UnreachableError
	var open *client.OpenFileError
	var conflict conflictError
	var unsigned *client.SignInError
	var coded interface{ ExitsWith() int }
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &coded):
		return coded.ExitsWith()
	case errors.As(err, &usage):
		return ExitUsage
	case errors.As(err, &conflict):
		return ExitConflict
	case errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.Is(err, client.ErrNoProfile), errors.Is(err, client.ErrUnknownKey),
		errors.As(err, &open), errors.As(err, &unsigned) && unsigned.IsUnknown():
		return ExitSignIn
	case errors.As(err, &unreachable):
		return ExitUnreachable
	case errors.As(err, &failure):
		return failureExit(failure)
	}
	return ExitFailed
}

func failureExit(failure *client.Failure) int {
	if failure.Code == "KEY_REVOKED" {
		return ExitSignIn
	}
	if failure.Code == client.CodeNoAnswer && failure.Status != http.StatusTooManyRequests {
		// Its status is that of something on the way.
		return ExitUnreachable
	}
	switch status := failure.Status; status {
	case http.StatusUnauthorized:
		return ExitSignIn
	case http.StatusForbidden:
		return ExitRefused
	case http.StatusNotFound, http.StatusGone:
		return ExitNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return ExitConflict
	case http.StatusTooManyRequests:
		return ExitRateLimited
	default:
		if status >= http.StatusInternalServerError {
			return ExitUnreachable
		}
	}
	return ExitFailed
}

// Report prints an error of a command: one line, its details, and one line with the next step if
// there is one. With asJSON it prints the error of the interface, or the line as one.
func Report(err error, asJSON bool, env *Env) {
	var failure *client.Failure
	var unknown *unknownOutcomeError
	isUnknown := errors.As(err, &unknown)
	if ExitCode(err) == ExitInterrupted && !errors.As(err, &failure) {
		if err = errInterrupted; isUnknown {
			unknown = &unknownOutcomeError{err, unknown.safe}
			err = unknown
		}
	}
	if asJSON {
		if isUnknown {
			failure = unknown.failure()
		} else if !errors.As(err, &failure) {
			failure = ownFailure(err, env)
		}
		failure = withOwnStep(err, failure, env)
		reportJSON(failure, forTerminal(env.Err, env.TerminalErr))
		return
	}
	fmt.Fprintf(env.Err, "pws: %s\n", Clean(err.Error()))
	if errors.As(err, &failure) {
		for _, detail := range detailLines(failure) {
			fmt.Fprintln(env.Err, detail)
		}
	}
	if try := nextStep(err, env); try != "" {
		fmt.Fprintf(env.Err, "try: %s\n", Clean(try))
	}
}

// ownFailure is an error of the client as JSON has it.
func ownFailure(err error, env *Env) *client.Failure {
	made := &client.Failure{
		Code: "CLIENT", Message: err.Error(), Retryable: errors.Is(err, checkout.ErrBusy),
	}
	if step := nextStep(err, env); step != "" {
		// Names of files may be anything.
		details, err := json.Marshal(members("next_step", step), jsontext.AllowInvalidUTF8(true))
		if err == nil {
			made.Details = details
		}
	}
	return made
}

// withOwnStep returns a failure with the advice of the client where the server knows less. It takes
// a sign-in for the search of an agent, and does not know where a session comes from.
func withOwnStep(err error, failure *client.Failure, env *Env) *client.Failure {
	var unsigned *client.SignInError
	unknown := errors.As(err, &unsigned) && unsigned.IsUnknown()
	if !unknown && !ofGivenToken(failure, env) {
		return failure
	}
	details, err := json.Marshal(members("next_step", nextStep(err, env)))
	if err != nil {
		return failure
	}
	advised := *failure
	advised.Details = details
	return &advised
}

// ofGivenToken reports whether the server has refused the session of the environment, which no
// login replaces.
func ofGivenToken(failure *client.Failure, env *Env) bool {
	if failure.Status != http.StatusUnauthorized {
		return false
	}
	_, set, _ := env.token()
	return set
}

func reportJSON(failure *client.Failure, to io.Writer) {
	if len(failure.Details) == 0 {
		failure.Details = jsontext.Value("{}")
	}
	// Names of files may be anything.
	text, err := json.Marshal(struct {
		Error *client.Failure `json:"error"`
	}{failure}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		text = []byte(`{"error":{"code":"CLIENT","message":"The error is no JSON."}}`)
	}
	fmt.Fprintf(to, "%s\n", text)
}

// steps are what to type after a failure, by its code, where that holds whatever the situation is.
// For other codes the server knows better.
var steps = map[string]string{
	"AUTHENTICATION_REQUIRED": "pws login",
	"SESSION_INVALID":         "pws login",
	"SESSION_EXPIRED":         "pws login",
	"KEY_REVOKED": "pws login --profile NAME, which makes another key; after a rotation on another " +
		"machine, bring the key from there: pws key export",
	"PROJECT_MOVED":         "read what has changed (pws log, pws pull), then repeat",
	"STATE_CONFLICT":        "pws state, then repeat with its version",
	"TASK_NOT_FOUND":        "pws task list",
	"PROJECT_NOT_FOUND":     "pws project list",
	"FILE_NOT_FOUND":        "pws file list",
	"REUSE_POLICY_REQUIRED": "repeat with --reuse ALLOW_REUSE or --reuse REFERENCE_ONLY",
	"HANDLE_TAKEN":          "another --handle",
	"INVALID_HANDLE":        "another --handle: 3 to 32 letters, digits, '-', '_' and '.'",
}

// lateSteps are steps for failures for which the server advises nothing.
var lateSteps = map[string]string{"PROJECT_ARCHIVED": unarchive}

// unarchive is what the owner of an archived project can do.
const unarchive = "pws project archive --undo"

// errInterrupted is what is said of a command that was interrupted.
var errInterrupted = errors.New("interrupted")

// errNotSignedIn reports that a command needs an agent.
var errNotSignedIn = fmt.Errorf("not signed in: %w", client.ErrNoProfile)

// loginAs is what to type to register the key of a profile again, or the given one.
func loginAs(profile string) string {
	if profile == "" {
		return "pws login"
	}
	return "pws login --profile " + profile
}

// otherAudience is what to do about a server that names another service. A key of the environment
// has no profile that could keep the addresses.
func otherAudience(err *client.AudienceError, env *Env) string {
	use := "pws login "
	if _, set, _ := env.readGiven(); set {
		use = varServer + "="
	}
	return fmt.Sprintf("%s%s, if that is the server you mean; an operator names the address of a "+
		"server with pws serve --public-url; if you know that both are one service: %[1]s%[3]s,%[2]s",
		use, err.Audience, err.Server)
}

// nextStep is what to do after an error, empty if nothing is known.
func nextStep(err error, env *Env) string {
	var advised *advisedError
	var failure *client.Failure
	var open *client.OpenFileError
	var unsigned *client.SignInError
	var audience *client.AudienceError
	var unknown *unknownOutcomeError
	var broken *checkout.BrokenError
	switch {
	case errors.As(err, &advised):
		return advised.try
	case errors.As(err, &unknown):
		return unknown.step()
	case errors.As(err, &open):
		return "chmod 600 " + open.Path
	case errors.As(err, &audience):
		return otherAudience(audience, env)
	case errors.Is(err, client.ErrNoProfile):
		return "pws login, or pws profile list"
	case errors.Is(err, client.ErrUnknownKey):
		return "pws login, which registers an agent with the key"
	case errors.As(err, &unsigned) && unsigned.IsUnknown():
		return loginAs(unsigned.Profile)
	case errors.As(err, &failure) && ofGivenToken(failure, env):
		return otherToken
	case errors.As(err, &failure) && failure.Redirect() != "":
		return "correct the address of the server: pws login URL, or --server URL"
	case errors.As(err, &failure):
		return cmp.Or(steps[failure.Code], serverStep(failure), lateSteps[failure.Code])
	case errors.As(err, &broken):
		return "remove " + broken.Path + ", then pws pull"
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "make room on the disk, then repeat"
	case errors.Is(err, syscall.ECONNREFUSED):
		if _, sandboxed := env.variable(varNoNetwork); sandboxed {
			return "the MCP tools: the shell of this harness has no network"
		}
		return "pws serve, or --server URL"
	}
	return ""
}
