package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"

	"pws/client"
)

// KeyRotateCommand replaces the key of a profile.
type KeyRotateCommand struct{ Common }

// Run adds a new key to the agent, makes it that of the profile, and revokes the old one. A run
// that was interrupted goes on when it is repeated.
//
// The new key is saved BEFORE the server learns of it, the profile names it BEFORE the old one is
// revoked, and the old file is removed AFTER that.
func (c *KeyRotateCommand) Run(ctx context.Context, env *Env) error {
	named, err := c.account(env)
	if err != nil {
		return err
	}
	named.close()
	profile := named.profile
	given, set, err := env.readGiven()
	switch {
	case err != nil:
		return err
	case set:
		return usagef("%s gives the key, not a profile: unset it", given.variable)
	case profile.Name == "":
		return &advisedError{errNotSignedIn, "pws login"}
	case !env.Folders.OwnsKey(profile):
		return usagef("the key of profile %s is kept in %s: rotate it there", profile.Name,
			profile.KeyFile)
	}
	return env.Folders.Locked(ctx, "login-"+profile.Name, func() error {
		// Another process may have rotated the key in the meantime.
		caller, err := c.account(env)
		if err != nil {
			return err
		}
		defer caller.close()
		return (&rotation{env, caller, caller.profile}).run(ctx)
	})
}

// rotation is the replacement of a profile's key.
type rotation struct {
	env     *Env
	caller  *account
	profile client.Profile
}

// ownedKey is a private key, and its ID at the server.
type ownedKey struct {
	client.KnownKey
	private ed25519.PrivateKey
	path    string
}

// run goes on with the key in the file beside that of the profile: a younger one is the new key of
// a rotation that did not get to the profile, an older one is the old key of a rotation that did.
func (r *rotation) run(ctx context.Context) error {
	path := r.env.Folders.NextKeyPath(r.profile)
	if err := r.checkFree(path); err != nil {
		return err
	}
	private, err := client.ReadKey(path)
	if errors.Is(err, fs.ErrNotExist) {
		return r.replace(ctx, path)
	}
	if err != nil {
		return err
	}
	found, err := r.add(ctx, private, path)
	if err != nil {
		return err
	}
	older, active, err := r.compare(ctx, found.KeyID)
	switch {
	case err != nil:
		return err
	case older:
		return r.end(ctx, found, active, r.profile.KeyID, "Finished the rotation that was "+
			"interrupted: profile %s has the key %s; %s is revoked.\n")
	case !active:
		if err := os.Remove(path); err != nil {
			return err
		}
		return r.replace(ctx, path)
	}
	return r.use(ctx, found)
}

// checkFree returns an error if the file is that of another profile.
func (r *rotation) checkFree(path string) error {
	all, err := r.env.Folders.Profiles()
	if err != nil {
		return err
	}
	if user := r.env.Folders.KeyUser(all, path, r.profile.Name); user != "" {
		return fmt.Errorf("the new key would be in %s, the key of profile %s: rename that profile",
			path, user)
	}
	return nil
}

// replace makes a new key in a file that does not exist, and uses it.
func (r *rotation) replace(ctx context.Context, path string) error {
	private, err := client.NewKey()
	if err == nil {
		err = client.SaveKey(path, private)
	}
	if err != nil {
		return err
	}
	added, err := r.add(ctx, private, path)
	if err != nil {
		return err
	}
	return r.use(ctx, added)
}

// add adds a key to the agent. One that the agent has already, revoked or not, is no error.
func (r *rotation) add(
	ctx context.Context, private ed25519.PrivateKey, path string,
) (ownedKey, error) {
	known, err := r.caller.AddKey(ctx, private, r.profile.AgentID)
	if err == nil && known.AgentID != r.profile.AgentID {
		err = fmt.Errorf("the key in %s belongs to another agent: %s", path, known.AgentID)
	}
	return ownedKey{known, private, path}, err
}

// compare reports whether a key is older than that of the profile, and whether it is active.
func (r *rotation) compare(ctx context.Context, keyID string) (older, active bool, err error) {
	var list struct {
		// Keys are in the order in which the agent got them.
		Keys []struct {
			ID     string `json:"id"`
			Status string `json:"status"`
		} `json:"keys"`
	}
	if err := r.caller.Call(ctx, http.MethodGet, keysPath, nil, &list); err != nil {
		return false, false, err
	}
	var ids []string
	for _, key := range list.Keys {
		ids = append(ids, key.ID)
		active = active || key.ID == keyID && key.Status == "ACTIVE"
	}
	at, present := slices.Index(ids, keyID), slices.Index(ids, r.profile.KeyID)
	if at < 0 || present < 0 {
		return false, false, errors.New("the server does not list the keys of the profile")
	}
	return at < present, active, nil
}

// use makes a key that of the profile, and revokes the present one.
func (r *rotation) use(ctx context.Context, added ownedKey) error {
	old := ownedKey{
		KnownKey: client.KnownKey{AgentID: r.profile.AgentID, KeyID: r.profile.KeyID},
		path:     r.env.Folders.KeyPath(r.profile),
	}
	var err error
	if old.private, err = client.ReadKey(old.path); err != nil {
		return err
	}
	renewed := r.profile
	renewed.KeyFile, renewed.KeyID = added.path, added.KeyID
	err = r.env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) error {
		all.ByName[renewed.Name] = renewed
		return nil
	})
	if err != nil {
		return err
	}
	return r.end(ctx, old, true, added.KeyID, "Profile %s has the new key %s; %s is revoked.\n")
}

// end revokes the old key if it is active, removes its file, and says so.
func (r *rotation) end(
	ctx context.Context, old ownedKey, active bool, keyID, done string,
) error {
	if active {
		if err := r.revoke(ctx, old); err != nil {
			return &advisedError{err, "pws key rotate, which then revokes " + old.KeyID}
		}
	}
	if err := os.Remove(old.path); err != nil {
		return err
	}
	_, err := fmt.Fprintf(r.env.Out, done, r.profile.Name, keyID, old.KeyID)
	return err
}

// revoke revokes a key with a new session of its own: the server lets neither a younger key nor an
// older session do that.
func (r *rotation) revoke(ctx context.Context, old ownedKey) error {
	opening := client.New(r.caller.Server, nil)
	defer opening.Close()
	opening.RetryFor, opening.AlsoKnown = r.caller.RetryFor, r.caller.AlsoKnown
	done, err := opening.SignIn(ctx, old.private, old.KnownKey, r.env.Program)
	if err != nil {
		return err
	}
	signed := client.New(r.caller.Server, client.Fixed(done.Session.Credential))
	defer signed.Close()
	_, err = signed.Do(ctx, &client.Request{
		Method: http.MethodDelete, Path: apiPath("agents", "me", "keys", old.KeyID),
	})
	return err
}
