package cli

import (
	"crypto/ed25519"
	"fmt"

	"pws/client"
)

// givenKey is the key that the environment has, or names a file of. It alone decides who signs in;
// it belongs to no profile, and changes none.
type givenKey struct {
	// variable is the one that gives it.
	variable string
	private  ed25519.PrivateKey
	// profile has its server and its session.
	profile client.Profile
}

// givenKey reads the key and finds its server: the one that is named, else that of the profile.
func (c *Common) givenKey(env *Env, server string) (given givenKey, set bool, err error) {
	if given, set, err = env.readGiven(); !set || err != nil {
		return given, set, err
	}
	all, err := env.Folders.Profiles()
	if err != nil {
		return given, true, err
	}
	switch {
	case server == "":
		// A machine for tests names a profile that it may not have.
		if profile, err := all.Get(env.first(c.Profile, varProfile)); err == nil {
			server = profile.Server
		}
	case !c.chosen(env):
		// The file of a directory, which may come from others, must not choose who gets a signature.
		named := server
		if server = serverIn(all, named); server == "" && named != ServerDefault {
			return given, true, usagef("%s signs in to no server that only a file names: set %s=%s if "+
				"you trust it", given.variable, varServer, named)
		}
	}
	given.profile = client.KeyProfile(given.private, orDefault(server))
	return given, true, env.checkOnlyHere(all, given.private, given.profile.Server, given.variable)
}

// checkOnlyHere refuses a key that is that of a profile of another service alone. A server could
// have a challenge of that service signed, and act there as its agent. From is what gives the key.
func (e *Env) checkOnlyHere(
	all client.Profiles, key ed25519.PrivateKey, server, from string,
) error {
	elsewhere, ok := e.Folders.KeyElsewhere(all, key, server)
	if !ok {
		return nil
	}
	first := ""
	if from == varKey || from == varKeyFile {
		first = "unset " + from + "; then "
	}
	return &advisedError{
		usagef("%s has the key of profile %s, which is @%s at %s: %s might sign in there with it", from,
			elsewhere.Name, elsewhere.Handle, elsewhere.Server, server),
		first + "pws login " + server + ", which makes another key, or pws login " + server +
			" --key FILE --reuse-key, if you trust that server with the agent of both",
	}
}

// serverIn is the server of the first profile that is of the same service, empty if none is.
func serverIn(all client.Profiles, server string) string {
	for _, name := range all.Names() {
		if of := all.ByName[name].Server; client.SameService(of, server) {
			return of
		}
	}
	return ""
}

// readGiven reads the key.
func (e *Env) readGiven() (given givenKey, set bool, err error) {
	if text, set := e.variable(varKey); set {
		given.variable = varKey
		given.private, err = client.ParseKey([]byte(text))
	} else if path, set := e.variable(varKeyFile); set {
		given.variable = varKeyFile
		given.private, err = client.ReadKey(path)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", given.variable, err)
	}
	return given, given.variable != "", err
}

func (g givenKey) session(env *Env) *client.Session {
	return client.NewSession(env.Folders, g.profile, env.Program,
		func() (ed25519.PrivateKey, error) { return g.private, nil })
}
