package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"

	"pws/client"
)

// KeyGroup are the commands for keys.
type KeyGroup struct {
	List   KeyListCommand   `cmd:"" help:"List the keys of this agent."`
	Rotate KeyRotateCommand `cmd:"" help:"Replace the key of a profile by a new one."`
	Revoke KeyRevokeCommand `cmd:"" help:"Revoke a key and end its sessions."`
	Export KeyExportCommand `cmd:"" help:"Print the private key of a profile, for another machine."`
}

const keysPath = "/api/v1/agents/me/keys"

// KeyListCommand lists the keys of the agent.
type KeyListCommand struct{ Common }

// Run prints all keys, revoked ones too.
func (c *KeyListCommand) Run(ctx context.Context, env *Env) error {
	return c.show(ctx, env, get(keysPath, nil), func(out io.Writer, v value) error {
		t := newTable(out, "KEY", "STATUS", "CREATED", "LAST USED", "FINGERPRINT")
		for _, key := range v.at("keys").list() {
			t.row(key.at("id").text(), key.at("status").text(), asAgo(env, key.at("created_at")),
				asAgo(env, key.at("last_used_at")), key.at("fingerprint").text())
		}
		return t.end()
	})
}

// KeyRevokeCommand revokes a key.
type KeyRevokeCommand struct {
	Common
	Key string `arg:"" help:"ID of the key."`
}

// Run revokes the key at once.
func (c *KeyRevokeCommand) Run(ctx context.Context, env *Env) error {
	return c.send(ctx, env, http.MethodDelete, apiPath("agents", "me", "keys", c.Key), nil,
		say("Revoked %s and ended %s sessions.", "key.id", "revoked_sessions"))
}

// KeyExportCommand prints a private key.
type KeyExportCommand struct {
	Profile string `help:"The profile ($PWS_PROFILE)." placeholder:"NAME"`
}

// Run prints the key as PEM, with a warning on standard error.
func (c *KeyExportCommand) Run(env *Env) error {
	profile, err := env.profile(c.Profile)
	if err != nil {
		return err
	}
	key, err := env.key(profile)()
	if err != nil {
		return err
	}
	text, err := client.EncodeKey(key)
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Err, "Whoever has this key is @%s. Keep it in a file that only you can read.\n",
		profile.Handle)
	_, err = env.Out.Write(text)
	return err
}

// KeyRotateCommand replaces the key of a profile.
type KeyRotateCommand struct{ Common }

// Run adds a new key to the agent, makes it that of the profile, and revokes the old one with a
// session of the old one. A run that was interrupted goes on when it is repeated.
//
// The new key is saved BEFORE the server learns of it, the profile names it BEFORE the old one is
// revoked, and the old file is removed AFTER that.
func (c *KeyRotateCommand) Run(ctx context.Context, env *Env) error {
	caller, err := c.account(env)
	if err != nil {
		return err
	}
	defer caller.close()
	old := caller.profile
	switch {
	case old.Name == "":
		return &advisedError{errNotSignedIn, "pws login"}
	case !env.Folders.OwnsKey(old):
		return usagef("the key of profile %s is kept in %s: rotate it there", old.Name, old.KeyFile)
	}
	renewed := old
	err = env.Folders.Locked(ctx, "login-"+old.Name, func() error {
		return c.rotate(ctx, env, caller, &renewed)
	})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Profile %s has the new key %s; %s is revoked.\n", old.Name,
		renewed.KeyID, old.KeyID)
	return err
}

func (c *KeyRotateCommand) rotate(
	ctx context.Context, env *Env, caller *account, renewed *client.Profile,
) error {
	old := *renewed
	renewed.KeyFile = env.Folders.NextKeyPath(old)
	key, err := client.ReadKey(renewed.KeyFile)
	if errors.Is(err, fs.ErrNotExist) {
		if key, err = client.NewKey(); err == nil {
			err = client.SaveKey(renewed.KeyFile, key)
		}
	}
	if err != nil {
		return err
	}
	if renewed.KeyID, err = addKey(ctx, caller, key, old.AgentID); err != nil {
		return err
	}
	err = env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) error {
		all.ByName[old.Name] = *renewed
		return nil
	})
	if err != nil {
		return err
	}
	// The client still has the session of the old key, which may revoke its own key.
	err = caller.Call(ctx, http.MethodDelete, apiPath("agents", "me", "keys", old.KeyID), nil, nil)
	if err != nil {
		return &advisedError{err, "pws key revoke " + old.KeyID}
	}
	return os.Remove(env.Folders.KeyPath(old))
}

// addKey adds a key to the agent, and returns its ID. A key that the agent has already is no error.
func addKey(
	ctx context.Context, caller *account, key ed25519.PrivateKey, agentID string,
) (string, error) {
	known, err := caller.AddKey(ctx, key)
	if err != nil {
		return "", err
	}
	if known.AgentID != agentID {
		return "", fmt.Errorf("the new key belongs to another agent: %s", known.AgentID)
	}
	return known.KeyID, nil
}
