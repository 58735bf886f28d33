package cli

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/go-json-experiment/json"

	"pws/client"
)

// ProfileGroup are the commands for profiles.
type ProfileGroup struct {
	List   ProfileListCommand   `cmd:"" help:"List the profiles."`
	Use    ProfileUseCommand    `cmd:"" help:"Make a profile the default."`
	Rename ProfileRenameCommand `cmd:"" help:"Rename a profile."`
	Remove ProfileRemoveCommand `cmd:"" help:"Remove a profile; its key file stays."`
}

// ProfileListCommand lists the profiles.
type ProfileListCommand struct{ Output }

// listedProfile is a profile as it is printed.
type listedProfile struct {
	Name    string `json:"name"`
	Server  string `json:"server"`
	AgentID string `json:"agent_id"`
	KeyID   string `json:"key_id"`
	Handle  string `json:"handle"`
	KeyFile string `json:"key_file"`
	Default bool   `json:"default"`
}

// Run prints all profiles by name.
func (c *ProfileListCommand) Run(ctx context.Context, env *Env) error {
	all, err := env.Folders.Profiles()
	if err != nil {
		return err
	}
	list := []listedProfile{}
	for _, name := range all.Names() {
		p := all.ByName[name]
		list = append(list, listedProfile{
			Name: name, Server: p.Server, AgentID: p.AgentID, KeyID: p.KeyID, Handle: p.Handle,
			KeyFile: env.Folders.KeyPath(p), Default: name == all.Default,
		})
	}
	data, err := json.Marshal(list)
	if err != nil {
		return err
	}
	return c.print(ctx, env, data, func(out io.Writer) error {
		t := newTable(out, "NAME", "AGENT", "SERVER", "")
		for _, p := range list {
			mark := ""
			if p.Default {
				mark = "default"
			}
			t.row(p.Name, "@"+p.Handle, p.Server, mark)
		}
		return t.end()
	})
}

// ProfileUseCommand chooses the default profile.
type ProfileUseCommand struct {
	Name string `arg:"" help:"The profile."`
}

// Run writes the choice.
func (c *ProfileUseCommand) Run(ctx context.Context, env *Env) error {
	return env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) error {
		if _, err := all.Get(c.Name); err != nil {
			return err
		}
		all.Default = c.Name
		return nil
	})
}

// ProfileRenameCommand gives a profile another name.
type ProfileRenameCommand struct {
	Old string `arg:"" help:"The profile."`
	New string `arg:"" help:"Its new name."`
}

// Run copies the key BEFORE it writes the profiles, and removes the old files AFTER that: an
// interrupted run leaves one file too many, and no profile without a key.
func (c *ProfileRenameCommand) Run(ctx context.Context, env *Env) error {
	if err := client.CheckNewProfileName(c.New); err != nil {
		return UsageError{err}
	}
	var old client.Profile
	var used string
	owned := false
	err := env.Folders.ChangeProfiles(ctx, func(all *client.Profiles) (err error) {
		if old, err = all.Get(c.Old); err != nil {
			return err
		}
		if _, taken := all.ByName[c.New]; taken {
			return fmt.Errorf("there is a profile %s already", c.New)
		}
		renamed := old
		renamed.Name = c.New
		if owned = env.Folders.OwnsKey(old); owned {
			renamed.KeyFile = ""
			key, err := client.ReadKey(env.Folders.KeyPath(old))
			if err == nil {
				err = copyKey(env.Folders.KeyPath(renamed), key)
			}
			if err != nil {
				return err
			}
		}
		delete(all.ByName, c.Old)
		all.ByName[c.New] = renamed
		if all.Default == c.Old {
			all.Default = c.New
		}
		used = env.Folders.KeyUser(*all, env.Folders.KeyPath(old), c.New)
		return nil
	})
	if err != nil {
		return err
	}
	if owned && used == "" {
		err = os.Remove(env.Folders.KeyPath(old))
	}
	return errors.Join(err, env.Folders.EndSession(ctx, old))
}

// copyKey saves a key. An interrupted run may have saved it already.
func copyKey(path string, key ed25519.PrivateKey) error {
	err := client.SaveKey(path, key)
	if errors.Is(err, fs.ErrExist) {
		if saved, unread := client.ReadKey(path); unread == nil && saved.Equal(key) {
			return nil
		}
	}
	return err
}

// ProfileRemoveCommand removes a profile.
type ProfileRemoveCommand struct {
	Name string `arg:"" help:"The profile."`
}

// Run removes the profile and its session from this machine. The session at the server ends by
// itself.
func (c *ProfileRemoveCommand) Run(ctx context.Context, env *Env) error {
	all, err := env.Folders.Profiles()
	if err != nil {
		return err
	}
	profile, exists := all.ByName[c.Name]
	if !exists {
		return fmt.Errorf("profile %q: %w", c.Name, client.ErrNoProfile)
	}
	if err := env.Folders.ForgetSession(profile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := removeProfile(ctx, env, profile); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "Removed profile %s. Its key stays in %s.\n", c.Name,
		env.Folders.KeyPath(profile))
	return err
}
