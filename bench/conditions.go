package bench

import (
	"fmt"
	"io"
	"runtime/debug"
	"strings"
)

// limitsOff are the arguments of the servers whose rates are measured: they would limit the one
// agent and the one address that all connections have.
var limitsOff = []string{
	"--rate-limits", "off", "--agent-stored-bytes", "0", "--agent-hour-bytes", "0",
	"--project-stored-bytes", "0", "--connections-per-ip", "16384",
}

// programVersion is the commit that this program was built from. The servers are the same program,
// unless they were started elsewhere.
func programVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	commit, changed := "unknown", ""
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			commit = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			changed = ", with changes that are not committed"
		}
	}
	return fmt.Sprintf("version %s, commit %s%s", info.Main.Version, commit, changed)
}

// conditions prints what the rates depend on besides the machine.
func (r *Report) conditions(out io.Writer) {
	fmt.Fprintf(out, "Program: %s.\n", r.Program)
	if r.Server != "" {
		fmt.Fprintf(out, "Rates of a server that was started elsewhere, %s: its commit and its limits "+
			"are not known.\n", r.Server)
	} else {
		fmt.Fprintf(out, "Servers: serve %s. So request counts are not limited, and the bytes that an "+
			"agent stores, those that it sends in an hour and those of a project are not.\n",
			strings.Join(limitsOff, " "))
	}
	fmt.Fprint(out, "Writes go to UNLISTED projects, which are not indexed for search, unless a run "+
		"says PUBLIC. All connections that write files have one agent and one session. PUTs have no "+
		"Idempotency-Key.\n")
	for _, one := range r.Order {
		fmt.Fprintf(out, "Order of a round: %s.\n", strings.Join(one, ", "))
	}
}
