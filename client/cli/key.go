package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"

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
	key, err := env.Folders.Key(profile)()
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
