package cli

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"

	"pws/client"
)

// ServerDefault is the server of those who name none: the one that make run starts.
const ServerDefault = "http://127.0.0.1:8080"

// Common are the flags of all commands that ask a server.
type Common struct {
	Profile string `help:"Act as this profile ($PWS_PROFILE)." placeholder:"NAME"`
	Server  string `help:"Base URL of the server, or several with commas ($PWS_SERVER)." placeholder:"URL"`
	NoRetry bool   `help:"Send each request once, or once to each address of the server."`
	Output
}

// account is who a command acts as, and where.
type account struct {
	*client.Client
	profile client.Profile
	session *client.Session
	// signedIn is false for an anonymous caller.
	signedIn bool
	// lost are the Idempotency-Keys of writes whose outcome is unknown.
	lost lostWrites
	// notices is where the command says what it decided on its own.
	notices io.Writer
}

func (a *account) close() {
	a.Client.Close()
	if a.session != nil {
		a.session.Close()
	}
}

// agentID is the ID of the agent, empty for an anonymous caller. The server knows whose a token or
// a key is that the environment gives.
func (a *account) agentID(ctx context.Context) (string, error) {
	if !a.signedIn || a.profile.AgentID != "" {
		return a.profile.AgentID, nil
	}
	var me struct {
		Agent struct {
			ID string `json:"id"`
		} `json:"agent"`
	}
	err := a.Call(ctx, http.MethodGet, apiPath("agents", "me"), nil, &me)
	return me.Agent.ID, err
}

// Do is client.Client.Do, and write for requests that write. Without a session it sends no writes:
// the server would refuse them, but one that only the file of a directory names would have read
// them.
func (a *account) Do(ctx context.Context, request *client.Request) (*client.Answer, error) {
	reads := request.Method == http.MethodGet || request.Method == http.MethodHead
	if reads || request.Harmless {
		return a.Client.Do(ctx, request)
	}
	if !a.signedIn {
		return nil, &advisedError{errNotSignedIn, "pws login " + a.Server}
	}
	return a.write(ctx, request)
}

// account finds the profile of a command. Without a profile it is anonymous.
func (c *Common) account(env *Env) (*account, error) {
	server, err := c.server(env)
	if err != nil {
		return nil, err
	}
	found := &account{notices: forTerminal(env.Err, env.TerminalErr)}
	if token, set, err := env.token(); err != nil {
		return nil, err
	} else if set {
		// The file of a directory, which may come from others, must not choose who gets the token.
		if orDefault(server) != ServerDefault && !c.chosen(env) {
			return nil, usagef("%s is sent to no server that only a file names: set %s=%s if you trust it",
				varToken, varServer, server)
		}
		found.Client, found.signedIn = client.New(orDefault(server), client.Fixed(token)), true
		found.lost = env.lostWrites(token)
	} else if err := c.findProfile(env, server, found); err != nil {
		return nil, err
	}
	found.UserAgent = env.Program.Name + "/" + env.Program.Version
	if c.NoRetry {
		found.RetryFor = 0
	}
	return found, nil
}

func orDefault(server string) string {
	if server == "" {
		return ServerDefault
	}
	return server
}

// findProfile opens the session of a key that the environment gives, else that of a profile, if
// there is one for the server.
func (c *Common) findProfile(env *Env, server string, found *account) error {
	given, set, err := c.givenKey(env, server)
	if err != nil {
		return err
	}
	if set {
		found.session, found.signedIn = given.session(env), true
		found.lost = env.lostWrites(given.profile.Name)
		found.Client = found.session.Client()
		return nil
	}
	profiles, err := env.Folders.Profiles()
	if err != nil {
		return err
	}
	name := env.first(c.Profile, varProfile)
	profile, exists, err := chooseProfile(profiles, name, server)
	if err != nil {
		return err
	}
	if !exists {
		found.Client, found.lost = client.New(orDefault(server), nil), env.lostWrites("")
		return nil
	}
	found.profile, found.signedIn = profile, true
	found.lost = env.lostWrites(profile.AgentID)
	if c.chosen(env) {
		profile.Via = server
	}
	found.session = client.NewSession(env.Folders, profile, env.Program, env.Folders.Key(profile))
	found.Client = found.session.Client()
	return nil
}

// profile is the profile that a flag or the environment names, else the default one. Errors:
// client.ErrNoProfile.
func (e *Env) profile(flag string) (client.Profile, error) {
	all, err := e.Folders.Profiles()
	if err != nil {
		return client.Profile{}, err
	}
	return all.Get(e.first(flag, varProfile))
}

// chooseProfile returns the profile of a name, else the default one, else the only one of the
// server.
func chooseProfile(
	all client.Profiles, name, server string,
) (profile client.Profile, exists bool, err error) {
	if name != "" {
		profile, err = all.Get(name)
		if err == nil && server != "" && !client.SameService(profile.Server, server) {
			err = usagef("profile %s is of %s, not of %s", name, profile.Server, server)
		}
		return profile, err == nil, err
	}
	profile, err = all.Get("")
	if err == nil && (server == "" || client.SameService(profile.Server, server)) {
		return profile, true, nil
	}
	if server == "" {
		return profile, false, nil
	}
	var of []client.Profile
	for _, name := range all.Names() {
		if client.SameService(all.ByName[name].Server, server) {
			of = append(of, all.ByName[name])
		}
	}
	switch len(of) {
	case 0:
		return profile, false, nil
	case 1:
		return of[0], true, nil
	}
	return profile, false, usagef("%d profiles are of %s: choose one with --profile", len(of), server)
}

// server is the server that the flag, the environment or the directory names; empty for none.
func (c *Common) server(env *Env) (string, error) {
	named := env.first(c.Server, varServer)
	if named == "" {
		bound, err := env.binding()
		if err != nil {
			return "", err
		}
		named = bound.Server
	}
	if named == "" {
		return "", nil
	}
	return cleanServer(named)
}

// chosen reports whether the caller names the server. The file of a directory, which may come from
// others, adds no address to those that get a credential.
func (c *Common) chosen(env *Env) bool { return env.first(c.Server, varServer) != "" }

// cleanServer is a base URL, or several, in the form in which profiles keep it.
func cleanServer(server string) (string, error) {
	all := client.Addresses(server)
	for i, address := range all {
		clean, err := cleanAddress(address)
		if err != nil {
			return "", err
		}
		all[i] = clean
	}
	// Two that were written differently may be one.
	return client.JoinAddresses(client.Addresses(client.JoinAddresses(all))), nil
}

func cleanAddress(server string) (string, error) {
	base, err := url.Parse(server)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" ||
		base.RawQuery != "" || base.Fragment != "" || base.User != nil {
		return "", usagef("%q is not a base URL of a server, such as %s", server, ServerDefault)
	}
	base.Host = strings.ToLower(base.Host)
	return strings.TrimRight(base.String(), "/"), nil
}
