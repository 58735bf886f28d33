package cli

import (
	"crypto/ed25519"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pws/client"
)

func (p *keyPlace) config() string {
	text, _ := os.ReadFile(filepath.Join(p.env.Folders.Config, "config.toml"))
	return string(text)
}

// whoami is the handle that the server gives the caller, which is the ID of the key.
func (p *keyPlace) whoami(t *testing.T) (string, error) {
	t.Helper()
	p.out.Reset()
	err := (&WhoamiCommand{}).Run(t.Context(), p.env)
	handle, _, _ := strings.Cut(p.out.String(), " ")
	return strings.TrimPrefix(handle, "@"), err
}

// give puts a key into the environment.
func (p *keyPlace) give(t *testing.T, key ed25519.PrivateKey) {
	t.Helper()
	text, err := client.EncodeKey(key)
	if err != nil {
		t.Fatal(err)
	}
	p.variables[varKey] = string(text)
}

// TestKeyOfTheEnvironment has a profile with a session, and another key in the environment.
func TestKeyOfTheEnvironment(t *testing.T) {
	p := newKeyPlace(t)
	path := filepath.Join(t.TempDir(), "ci.pem")
	key := p.newKey(t, path)
	p.add(client.PublicText(key))
	before := p.config()
	expect := func(want string, sessions int) {
		t.Helper()
		got, err := p.whoami(t)
		if got != want || err != nil || len(p.sessions) != sessions || p.config() != before {
			t.Errorf("whoami says %q, %v; %d sessions; profiles\n%s", got, err, len(p.sessions),
				p.config())
		}
	}
	expect("key_1", 1)
	p.give(t, key)
	expect("key_2", 2)
	expect("key_2", 2)
	p.variables[varKey], p.variables[varKeyFile] = "", path
	expect("key_2", 2)
	if err := (&LoginCommand{Yes: true}).Run(t.Context(), p.env); err != nil {
		t.Error(err)
	}
	expect("key_2", 3)
	var usage UsageError
	if err := (&KeyRotateCommand{}).Run(t.Context(), p.env); !errors.As(err, &usage) {
		t.Errorf("rotating the key of the environment: %v", err)
	}
	p.variables[varKeyFile] = ""
	expect("key_1", 3)
}

// TestEnvironmentKeyNeedsNoProfile has no profile, but the name of one.
func TestEnvironmentKeyNeedsNoProfile(t *testing.T) {
	p := newKeyPlace(t)
	if err := os.RemoveAll(p.env.Folders.Config); err != nil {
		t.Fatal(err)
	}
	p.variables[varProfile], p.variables[varServer] = "ci", p.URL
	key := p.newKey(t, "")
	p.give(t, key)
	if got, err := p.whoami(t); !errors.Is(err, client.ErrUnknownKey) || ExitCode(err) != ExitSignIn {
		t.Errorf("a key of nobody: %q, %v", got, err)
	}
	p.add(client.PublicText(key))
	if got, err := p.whoami(t); got != "key_2" || err != nil {
		t.Errorf("whoami says %q, %v", got, err)
	}
	p.variables[varKey] = "junk"
	_, err := p.whoami(t)
	if err == nil || !strings.Contains(err.Error(), "PWS_KEY: this is not a private key") {
		t.Errorf("junk: %v", err)
	}
	// The file of a directory does not choose who gets a signature.
	p.give(t, key)
	p.variables[varServer] = ""
	err = writeBinding(p.env.Dir,
		Binding{Server: p.URL, Project: "prj_00000000000000000000000000", Files: "none"})
	if err != nil {
		t.Fatal(err)
	}
	var usage UsageError
	if _, err := p.whoami(t); !errors.As(err, &usage) {
		t.Errorf("a server that only a directory names: %v", err)
	}
	if p.config() != "" {
		t.Error("a profile was made")
	}
}
