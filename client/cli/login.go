package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// LoginCommand signs in to a server. Without a key it makes one and registers an agent.
type LoginCommand struct {
	URL     string `arg:"" optional:"" name:"server" help:"Base URL of the server, or several with commas."`
	Profile string `help:"The profile to sign in ($PWS_PROFILE)." placeholder:"NAME"`
	Handle  string `help:"The handle of a new agent." placeholder:"HANDLE"`
	KeyFile string `name:"key" type:"path" help:"Use the key of this file, and leave it there." placeholder:"FILE"`
	Reuse   bool   `name:"reuse-key" help:"Allow a key that a profile of another server uses."`
	Yes     bool   `help:"Do not ask."`
	Web     bool   `help:"Sign in a browser, too: print a link, and open it at a terminal."`
	Output
}

// login is what a login prints.
type login struct {
	// Profile is empty for a key of the environment.
	Profile string `json:"profile"`
	Server  string `json:"server"`
	AgentID string `json:"agent_id"`
	KeyID   string `json:"key_id"`
	Handle  string `json:"handle"`
	// Registered is true for an agent that is new.
	Registered bool `json:"registered"`
	// WebURL signs in a browser, once; empty if none was asked for.
	WebURL string `json:"web_url,omitzero"`
}

// Run signs in, and makes the profile.
func (c *LoginCommand) Run(ctx context.Context, env *Env) error {
	profile, err := c.target(env)
	if err != nil {
		return err
	}
	var done login
	err = env.Folders.Locked(ctx, "login-"+profile.Name, func() error {
		done, err = c.signIn(ctx, env, profile)
		return err
	})
	if err != nil {
		return err
	}
	if c.Web {
		if done.WebURL, err = c.webCode(ctx, env, done); err != nil {
			return err
		}
	}
	data, err := json.Marshal(done)
	if err != nil {
		return err
	}
	return c.print(ctx, env, data, func(out io.Writer) error {
		how := "Signed in"
		if done.Registered {
			how = "Registered and signed in"
		}
		profile := "profile " + done.Profile
		if done.Profile == "" {
			profile = "no profile: the environment has the key"
		}
		_, err := fmt.Fprintf(out, "%s at %s as @%s (%s).\n",
			how, done.Server, line(done.Handle), profile)
		if err != nil || done.WebURL == "" {
			return err
		}
		return env.openBrowser(out, done.WebURL)
	})
}

// target is the profile to sign in: that of a key of the environment, the existing one of that
// name, or a new one.
func (c *LoginCommand) target(env *Env) (client.Profile, error) {
	var none client.Profile
	all, err := env.Folders.Profiles()
	if err != nil {
		return none, err
	}
	named := &Common{Server: c.URL}
	server, err := named.server(env)
	if err != nil {
		return none, err
	}
	named.Profile = c.Profile
	if given, set, err := named.givenKey(env, server); set || err != nil {
		if c.KeyFile != "" && err == nil {
			err = usagef("--key and %s give two keys: leave one out", given.variable)
		}
		return given.profile, err
	}
	name := env.first(c.Profile, varProfile)
	if name == "" {
		name = nameFor(all, server)
	}
	if err := client.CheckProfileName(name); err != nil {
		return none, UsageError{err}
	}
	profile, exists := all.ByName[name]
	if exists && server != "" && !client.SameService(profile.Server, server) {
		return none, usagef("profile %s is of %s: choose another name with --profile", name,
			profile.Server)
	}
	switch {
	case !exists && server != "" && !named.chosen(env):
		// The file of a directory may have come from others.
		return none, &advisedError{
			usagef("only this directory names %s, and no profile belongs to it", server),
			"pws login " + server,
		}
	case !exists:
		profile = client.Profile{Name: name, Server: orDefault(server)}
		if err := c.checkNew(env, all, profile); err != nil {
			return none, err
		}
	case named.chosen(env):
		profile.Via = server
		// One address of a list signs in there, and leaves the list as it is.
		if len(client.Addresses(server)) > 1 {
			profile.Server = server
		}
	}
	if c.KeyFile != "" {
		profile.KeyFile = c.KeyFile
	}
	return profile, nil
}

// checkNew returns an error for a new profile that would have the key of another one.
func (c *LoginCommand) checkNew(env *Env, all client.Profiles, profile client.Profile) error {
	if err := client.CheckNewProfileName(profile.Name); err != nil {
		return UsageError{err}
	}
	if c.KeyFile != "" {
		return nil
	}
	path := env.Folders.KeyPath(profile)
	if user := env.Folders.KeyUser(all, path, profile.Name); user != "" {
		return usagef("%s is the key of profile %s: choose another name with --profile", path, user)
	}
	return nil
}

// nameFor is the name of the profile for a server: the default one if it is of that server or there
// is none, else that of the server's first address.
func nameFor(all client.Profiles, server string) string {
	profile, err := all.Get("")
	switch {
	case errors.Is(err, client.ErrNoProfile):
		return "default"
	case server == "" || client.SameService(profile.Server, server):
		return profile.Name
	}
	_, host, _ := strings.Cut(client.Addresses(server)[0], "://")
	return strings.NewReplacer(":", "-", "/", "-", "[", "", "]", "").Replace(host)
}

// signIn opens a session of the profile's key, registers the key if the server does not know it,
// and writes session and profile. It is called with the lock of the profile's login.
func (c *LoginCommand) signIn(
	ctx context.Context, env *Env, profile client.Profile,
) (done login, err error) {
	key, err := env.keyFor(profile)
	if err != nil {
		return done, err
	}
	if err := c.checkReuse(env, profile, key); err != nil {
		return done, err
	}
	server := client.New(profile.Reach(), nil)
	defer server.Close()
	server.AlsoKnown = profile.Server
	begun, known, err := server.Register(ctx, key, env.Program)
	if err != nil {
		return done, err
	}
	opened := env.Now()
	var session client.SignedIn
	if begun == nil {
		session, err = server.SignIn(ctx, key, known, env.Program)
	} else {
		session, err = c.register(ctx, env, begun, profile)
		done.Registered = true
	}
	if err != nil {
		return done, err
	}
	profile.AgentID, profile.KeyID = session.Session.AgentID, session.Session.KeyID
	if profile.Handle, err = handleOf(ctx, profile.Reach(), session); err != nil {
		return done, err
	}
	done.Profile, done.Server, done.Handle = profile.Name, profile.Server, profile.Handle
	done.AgentID, done.KeyID = profile.AgentID, profile.KeyID
	err = env.Folders.SaveSession(profile, session, opened)
	if profile.OfKey() {
		done.Profile = ""
		return done, err
	}
	if err != nil {
		return done, err
	}
	return done, env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) error {
		all.ByName[profile.Name] = profile
		if all.Default == "" {
			all.Default = profile.Name
		}
		return nil
	})
}

// checkReuse refuses the key of another service's profile, unless the caller says so or a profile
// of this service has it already. The check of a key of the environment was made before.
func (c *LoginCommand) checkReuse(
	env *Env, profile client.Profile, key ed25519.PrivateKey,
) error {
	if c.Reuse || profile.OfKey() {
		return nil
	}
	all, err := env.Folders.Profiles()
	if err != nil {
		return err
	}
	return env.checkOnlyHere(all, key, profile.Server, env.Folders.KeyPath(profile))
}

// keyFor is the key to sign in with. A new one is saved BEFORE the server learns of it, so that an
// interrupted login can be repeated. A profile that has an agent gets no new key: that would be one
// of another agent.
func (e *Env) keyFor(profile client.Profile) (ed25519.PrivateKey, error) {
	if given, set, err := e.readGiven(); set || err != nil {
		return given.private, err
	}
	path := e.Folders.KeyPath(profile)
	key, err := client.ReadKey(path)
	switch {
	case !errors.Is(err, fs.ErrNotExist):
		return key, err
	case profile.AgentID != "":
		return nil, &advisedError{
			fmt.Errorf("the key of profile %s, which is @%s, is missing: %w", profile.Name,
				profile.Handle, err),
			fmt.Sprintf("put the file back, or pws login --profile %[1]s --key FILE; "+
				"pws profile remove %[1]s, then pws login, makes another agent", profile.Name),
		}
	case profile.KeyFile != "":
		return nil, err
	}
	if key, err = client.NewKey(); err != nil {
		return nil, err
	}
	return key, client.SaveKey(path, key)
}

// handleOf is the handle of a session's agent.
func handleOf(ctx context.Context, server string, session client.SignedIn) (string, error) {
	if session.Agent.Handle != "" {
		return session.Agent.Handle, nil
	}
	signed := client.New(server, client.Fixed(session.Session.Credential))
	defer signed.Close()
	var me struct {
		Agent struct {
			Handle string `json:"handle"`
		} `json:"agent"`
	}
	err := signed.Call(ctx, http.MethodGet, "/api/v1/agents/me", nil, &me)
	return me.Agent.Handle, err
}

// register completes a registration. A handle that was not asked for by name may get a suffix.
func (c *LoginCommand) register(
	ctx context.Context, env *Env, begun *client.Registration, profile client.Profile,
) (client.SignedIn, error) {
	if c.Handle != "" || env.interactive() && !c.Yes {
		return c.registerAsked(ctx, env, begun, handleFor(profile))
	}
	const suffixes = 5
	handle := handleFor(profile)
	done, err := begun.Complete(ctx, handle)
	for range suffixes {
		if !client.IsCode(err, "HANDLE_TAKEN", "INVALID_HANDLE") {
			return done, err
		}
		done, err = begun.Complete(ctx, handle+"-"+strings.ToLower(rand.Text()[:4]))
	}
	return done, err
}

// registerAsked takes the handle of the flag, or asks until one is free.
func (c *LoginCommand) registerAsked(
	ctx context.Context, env *Env, begun *client.Registration, proposed string,
) (client.SignedIn, error) {
	handle := c.Handle
	lines := bufio.NewScanner(env.In)
	for {
		if handle == "" {
			fmt.Fprintf(env.Err, "Handle of the new agent [%s]: ", proposed)
			if !lines.Scan() {
				return client.SignedIn{}, errors.Join(lines.Err(), context.Canceled)
			}
			if handle = strings.TrimSpace(lines.Text()); handle == "" {
				handle = proposed
			}
		}
		done, err := begun.Complete(ctx, handle)
		if !client.IsCode(err, "HANDLE_TAKEN", "INVALID_HANDLE") || !env.interactive() || c.Yes {
			return done, err
		}
		fmt.Fprintf(env.Err, "pws: %s\n", Clean(err.Error()))
		proposed, handle = handle+"-2", ""
	}
}

// notHandle are the characters that no handle has.
var notHandle = regexp.MustCompile(`[^A-Za-z0-9_.-]+`)

// handleFor proposes a handle: the name of a profile, or that of the user for the default one and
// for a key without one.
func handleFor(profile client.Profile) string {
	name := profile.Name
	if name == "default" || profile.OfKey() {
		if who, err := user.Current(); err == nil {
			name = filepath.Base(strings.ReplaceAll(who.Username, `\`, "/"))
		}
	}
	const least, most = 3, 27
	name = strings.Trim(notHandle.ReplaceAllString(name, "-"), "-_.")
	if len(name) < least {
		name = "agent-" + name
	}
	return strings.TrimRight(name[:min(len(name), most)], "-")
}

// LogoutCommand ends the session of a profile.
type LogoutCommand struct {
	Profile   string `help:"The profile to sign out ($PWS_PROFILE)." placeholder:"NAME"`
	ForgetKey bool   `help:"Remove the profile and its key too: without another key its agent is lost."`
	Yes       bool   `help:"Do not ask."`
}

// Run ends the session, and removes the profile with its key if that is asked for.
func (c *LogoutCommand) Run(ctx context.Context, env *Env) error {
	if _, set, err := env.readGiven(); err != nil {
		return err
	} else if set {
		return c.signOutGiven(ctx, env)
	}
	profile, err := env.profile(c.Profile)
	if err != nil {
		return err
	}
	if c.ForgetKey && !c.Yes {
		err := env.confirm(fmt.Sprintf("Remove the key of @%s at %s permanently?", profile.Handle,
			profile.Server))
		if err != nil {
			return err
		}
	}
	if err := env.Folders.EndSession(ctx, profile); err != nil {
		return err
	}
	if c.ForgetKey {
		if err := forgetProfile(ctx, env, profile); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(env.Out, "Signed out @%s at %s.\n", profile.Handle, profile.Server)
	return err
}

// signOutGiven ends the session of the key that the environment gives.
func (c *LogoutCommand) signOutGiven(ctx context.Context, env *Env) error {
	named := &Common{Profile: c.Profile}
	server, err := named.server(env)
	if err != nil {
		return err
	}
	given, _, err := named.givenKey(env, server)
	switch {
	case err != nil:
		return err
	case c.ForgetKey:
		return usagef("%s gives the key, not a profile: unset it", given.variable)
	}
	if err := env.Folders.EndSession(ctx, given.profile); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Signed out at %s.\n", given.profile.Server)
	return err
}

// confirm asks a question that must be answered with yes. Without a terminal it is an error that
// names --yes.
func (e *Env) confirm(question string) error {
	if !e.interactive() {
		return usagef("%s Confirm with --yes", question)
	}
	fmt.Fprintf(e.Err, "%s Type yes: ", question)
	lines := bufio.NewScanner(e.In)
	if !lines.Scan() || strings.TrimSpace(lines.Text()) != "yes" {
		return errors.New("not confirmed: nothing was changed")
	}
	return nil
}

// WhoamiCommand shows who the caller is.
type WhoamiCommand struct{ Common }

// Run asks the server, so that it also shows whether the session is good.
func (c *WhoamiCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	if !caller.signedIn {
		return &advisedError{errNotSignedIn, "pws login " + caller.Server}
	}
	request := get(apiPath("agents", "me"), nil)
	return c.showAs(ctx, env, caller, request, func(out io.Writer, v value) error {
		name := caller.profile.Name
		if name == "" {
			name = "none"
		}
		_, err := fmt.Fprintf(out, "@%s  %s  at %s  profile %s\n",
			line(v.at("agent.handle").text()), v.at("agent.id").text(), caller.Server, name)
		return err
	})
}

// forgetProfile removes a profile, and its key if that is not kept elsewhere.
func forgetProfile(ctx context.Context, env *Env, profile client.Profile) error {
	others, err := removeProfile(ctx, env, profile)
	if err != nil {
		return err
	}
	// A rotation that was interrupted has left another key.
	keys := []string{env.Folders.NextKeyPath(profile)}
	if env.Folders.OwnsKey(profile) {
		keys = append(keys, env.Folders.KeyPath(profile))
	}
	for _, key := range keys {
		if env.Folders.KeyUser(others, key, profile.Name) != "" {
			continue
		}
		if err := os.Remove(key); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// removeProfile removes a profile, and keeps its key. It returns those that are left.
func removeProfile(
	ctx context.Context, env *Env, profile client.Profile,
) (others client.Profiles, err error) {
	err = env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) error {
		delete(all.ByName, profile.Name)
		if all.Default == profile.Name {
			all.Default = ""
		}
		others = *all
		return nil
	})
	return others, err
}
