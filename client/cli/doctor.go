package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"pws/client"
	"pws/client/setup"
)

// DoctorCommand checks each part that can be wrong, and names the command that repairs it.
type DoctorCommand struct{ Common }

// The results of a check. A note is worth knowing, and no fault.
const (
	checkOK   = "ok"
	checkNote = "note"
	checkBad  = "bad"
)

// check is the result of one check.
type check struct {
	Name   string `json:"name"`
	Status string `json:"status"`
	Detail string `json:"detail"`
	// Try is what repairs it, empty if nothing is known or needed.
	Try string `json:"try,omitzero"`
}

// doctor collects the results.
type doctor struct {
	env    *Env
	checks []check
}

func (d *doctor) add(name, status, detail, try string) {
	d.checks = append(d.checks, check{name, status, line(detail), line(try)})
}

// fault adds an error with its next step.
func (d *doctor) fault(name string, err error) {
	d.add(name, checkBad, err.Error(), nextStep(err, d.env))
}

// errUnwell reports that a check has found a fault.
var errUnwell = errors.New("something is wrong: see above")

// doctorPatience is how long each request of a check may take.
const doctorPatience = 5 * time.Second

// Run makes all checks and prints them. Its exit code is 1 if one of them is bad.
func (c *DoctorCommand) Run(ctx context.Context, env *Env) error {
	d := &doctor{env: env}
	d.checkFiles(ctx)
	bound := d.checkBinding()
	c.checkServer(ctx, d, bound)
	d.checkSandbox()
	d.checkProgram()
	d.checkHosts()
	data, err := json.Marshal(map[string]any{"checks": d.checks}, json.Deterministic(true))
	if err != nil {
		return err
	}
	bad := false
	err = c.print(ctx, env, data, func(out io.Writer) error {
		t := newPlainTable(out)
		for _, one := range d.checks {
			t.row(one.Status, one.Name, one.Detail)
			if one.Try != "" {
				t.row("", "", "try: "+one.Try)
			}
		}
		return t.end()
	})
	for _, one := range d.checks {
		bad = bad || one.Status == checkBad
	}
	if err == nil && bad {
		err = errUnwell
	}
	return err
}

// checkFiles looks at the profiles, and at the folder that all processes share.
func (d *doctor) checkFiles(ctx context.Context) {
	all, err := d.env.Folders.Profiles()
	switch names := all.Names(); {
	case err != nil:
		d.fault("profiles", err)
	case len(names) == 0:
		d.add("profiles", checkNote, "there is none yet", "pws login URL")
	default:
		d.add("profiles", checkOK, fmt.Sprintf("%d in %s, default %q", len(names),
			d.env.Folders.Config, all.Default), "")
	}
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	if err := d.env.Folders.Locked(ctx, "doctor", func() error { return nil }); err != nil {
		d.fault("shared files", err)
	} else {
		d.add("shared files", checkOK, d.env.Folders.State, "")
	}
}

// checkBinding looks at the binding of the directory, and at what is kept beside it.
func (d *doctor) checkBinding() Binding {
	bound, err := d.env.binding()
	switch {
	case err != nil:
		d.fault("directory", err)
		return bound
	case bound.root == "":
		d.add("directory", checkNote, "it is bound to no project", "pws init")
		return bound
	}
	d.add("directory", checkOK, fmt.Sprintf("%s is bound to %s at %s", bound.root, bound.Project,
		bound.Server), "")
	local := filepath.Join(bound.root, bindingFolder, localFolder)
	if err := writable(local); err != nil {
		d.add("local files", checkBad, "claims cannot be remembered: "+err.Error(), "")
	} else {
		d.add("local files", checkOK, local, "")
	}
	return bound
}

// writable tries to write into a folder.
func writable(folder string) error {
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(folder, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(file.Close(), os.Remove(file.Name()))
}

// checkServer asks the server, as nobody and as the profile.
func (c *DoctorCommand) checkServer(ctx context.Context, d *doctor, bound Binding) {
	caller, err := c.account(d.env)
	if err != nil {
		d.fault("profile", err)
		return
	}
	defer caller.close()
	caller.RetryFor = 0
	if caller.profile.Name != "" {
		d.checkKey(caller.profile)
	}
	if !d.checkReachable(ctx, caller.Server) {
		return
	}
	if !caller.signedIn {
		d.add("session", checkBad, "nobody is signed in to "+caller.Server,
			"pws login "+caller.Server)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	var me struct {
		Agent struct {
			ID     string `json:"id"`
			Handle string `json:"handle"`
		} `json:"agent"`
	}
	if err := caller.Call(ctx, http.MethodGet, apiPath("agents", "me"), nil, &me); err != nil {
		d.fault("session", err)
		return
	}
	d.add("session", checkOK, "signed in as @"+me.Agent.Handle+", "+me.Agent.ID, "")
	if bound.Project != "" {
		d.checkProject(ctx, caller, bound)
	}
}

// checkKey looks at the key of the profile, which is needed when its session ends.
func (d *doctor) checkKey(profile client.Profile) {
	if _, err := d.env.Folders.Key(profile)(); err != nil {
		d.fault("key", err)
		return
	}
	d.add("key", checkOK, "the key of profile "+profile.Name+" can be read by its owner only", "")
}

// skewMax is how far the clocks may be apart: people compare times of the server with their own.
const skewMax = 2 * time.Minute

// checkReachable asks each address of the server. One that is silent is no fault where another
// answers.
func (d *doctor) checkReachable(ctx context.Context, server string) bool {
	var silent []error
	all := client.Addresses(server)
	for _, address := range all {
		if err := d.checkAddress(ctx, address); err != nil {
			silent = append(silent, err)
		}
	}
	for _, err := range silent {
		if len(silent) < len(all) {
			d.add("server", checkNote, err.Error(), nextStep(err, d.env))
		} else {
			d.fault("server", err)
		}
	}
	return len(silent) < len(all)
}

// checkAddress asks whether a server is healthy, and compares its clock.
func (d *doctor) checkAddress(ctx context.Context, server string) error {
	ctx, cancel := context.WithTimeout(ctx, doctorPatience)
	defer cancel()
	nobody := client.New(server, nil)
	defer nobody.Close()
	nobody.RetryFor = 0
	before := d.env.Now()
	answer, err := nobody.Do(ctx, get(apiPath("health"), nil))
	data, err := dataOf(answer, err)
	if err != nil {
		return err
	}
	took := d.env.Now().Sub(before)
	v, err := parseValue(data)
	if err != nil {
		return err
	}
	d.add("server", checkOK, fmt.Sprintf("%s answers in %d ms, version %s", server,
		took.Milliseconds(), v.at("version").text()), "")
	there, err := http.ParseTime(answer.Header.Get("Date"))
	if err != nil {
		d.add("clock", checkNote, "the server does not say its time", "")
		return nil
	}
	// The header has whole seconds: its time is up to one second ago.
	ahead := before.Add(took / 2).Sub(there.Add(500 * time.Millisecond)).Round(time.Second)
	if ahead.Abs() > skewMax {
		d.add("clock", checkBad, clockText(ahead), "set the clock of this machine by the network")
		return nil
	}
	d.add("clock", checkOK, clockText(ahead), "")
	return nil
}

// clockText says how far this clock is ahead of that of the server, in whole seconds.
func clockText(ahead time.Duration) string {
	side := "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	left := ahead.Abs()
	if left <= time.Second {
		return "this clock agrees with the server's"
	}
	var parts []string
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{time.Hour, "h"}, {time.Minute, "min"}, {time.Second, "s"}} {
		if count := left / unit.length; count > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", count, unit.name))
			left -= count * unit.length
		}
	}
	return fmt.Sprintf("this clock is %s %s the server's", strings.Join(parts, " "), side)
}

func (d *doctor) checkProject(ctx context.Context, caller *account, bound Binding) {
	id, err := caller.resolveProject(ctx, bound.Project)
	if err == nil {
		err = caller.Call(ctx, http.MethodGet, projectPath(id), nil, nil)
	}
	if err != nil {
		d.fault("project", err)
		return
	}
	d.add("project", checkOK, id+" can be read", "")
}

// checkSandbox looks for a host whose shell has no network.
func (d *doctor) checkSandbox() {
	if _, set := d.env.variable(varNoNetwork); set {
		d.add("sandbox", checkBad, "the shell of this host has no network ("+varNoNetwork+")",
			"the MCP tools, or allow the network in the settings of the host")
	}
}

// checkProgram looks whether hosts find the program.
func (d *doctor) checkProgram() {
	path, err := exec.LookPath(d.env.Program.Name)
	if err != nil {
		d.add("program", checkBad, d.env.Program.Name+" is not on the PATH: hosts do not find it",
			"make install, or a link to it in a folder of the PATH")
		return
	}
	d.add("program", checkOK, path+", version "+d.env.Program.Version, "")
}

// checkHosts looks at the settings of all hosts. A host that is not set up is no fault.
func (d *doctor) checkHosts() {
	hooked := map[string]int{}
	for _, host := range setup.Hosts {
		for _, project := range []bool{false, true} {
			place, err := d.env.place(project)
			if err != nil {
				d.fault("hosts", err)
				return
			}
			parts, err := setup.Parts(host, place)
			if err != nil {
				continue
			}
			d.checkHost(host, project, parts, hooked)
		}
		if hooked[host] > 1 {
			d.add(host, checkBad, "the hooks of the user and of the project both run, twice at each event",
				"pws setup "+host+" --remove --hooks")
		}
	}
}

// checkHost looks at the parts of a host that are there, and counts those with hooks of the host.
func (d *doctor) checkHost(
	host string, project bool, parts []setup.Part, hooked map[string]int,
) {
	flag := ""
	if project {
		flag = " --project"
	}
	for _, part := range parts {
		text, state, err := partState(part)
		shared := filepath.Base(part.Path) == "AGENTS.md"
		switch {
		case err != nil && bytes.Contains(text, []byte("pws")):
			d.add(host, checkBad, part.Path+": "+err.Error(), "")
		case err != nil, state == partMissing, shared && host != "agents-md":
			continue
		case state == partStale:
			d.add(host, checkBad, part.Path+": "+part.What+", stale",
				"pws setup "+host+flag)
		default:
			d.add(host, checkOK, part.Path+": "+part.What, "")
		}
		if part.What == setup.PartHooks && !shared {
			hooked[host]++
		}
	}
}
