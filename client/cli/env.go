package cli

import (
	"io"
	"strings"
	"time"

	"pws/client"
	"pws/client/bridge"
)

// Env is what commands know of the process that runs them.
type Env struct {
	// Lookup finds a variable of the environment.
	Lookup  func(name string) (string, bool)
	Folders client.Folders
	// Dir is the working directory.
	Dir string
	In  io.Reader
	Out io.Writer
	Err io.Writer
	// TerminalIn and TerminalOut say whether a person types and reads.
	TerminalIn, TerminalOut bool
	// TerminalErr says whether a person sees the standard error.
	TerminalErr bool
	// Program is what sessions say of this program.
	Program client.Program
	Now     func() time.Time
	// OpenURL shows a page in the browser of the person, nil where there is none.
	OpenURL func(url string) error
	// Offline makes the answers of a server's MCP endpoint that need no server.
	Offline func(server string) (bridge.Offline, error)
}

// The variables of the environment that the client reads.
const (
	varServer  = "PWS_SERVER"
	varProfile = "PWS_PROFILE"
	varProject = "PWS_PROJECT"
	varToken   = "PWS_TOKEN"
	varKey     = "PWS_KEY"
	varKeyFile = "PWS_KEY_FILE"
	// varNoNetwork is set by Codex for commands that get no network.
	varNoNetwork = "CODEX_SANDBOX_NETWORK_DISABLED"
)

// variable finds a variable of the environment; an empty one counts as none.
func (e *Env) variable(name string) (value string, set bool) {
	value, _ = e.Lookup(name)
	return value, value != ""
}

// token is the session that the environment gives. Errors: UsageError for what no header can have.
func (e *Env) token() (token string, set bool, err error) {
	token, _ = e.variable(varToken)
	token = strings.TrimSpace(token)
	for i := range len(token) {
		if token[i] <= ' ' || token[i] > '~' {
			return "", true, &advisedError{
				usagef("%s is no session: byte %d of it is %q", varToken, i+1, token[i:i+1]), otherToken,
			}
		}
	}
	return token, token != "", nil
}

// otherToken is what to do about a session of the environment that the server does not accept.
const otherToken = "unset " + varToken + ", or set it to another session"

// first returns the first text that is not empty: the value of a flag, or a variable.
func (e *Env) first(flag, variable string) string {
	if flag != "" {
		return flag
	}
	value, _ := e.variable(variable)
	return value
}

// interactive reports whether questions can be asked.
func (e *Env) interactive() bool {
	_, automated := e.variable("CI")
	return e.TerminalIn && e.TerminalOut && !automated
}
