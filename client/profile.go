package client

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Profile is an agent on a server.
type Profile struct {
	Name string `toml:"-"`
	// Server is the base URL without a slash at its end, as http://127.0.0.1:8080, or several with
	// commas between them.
	Server string `toml:"server"`
	// Via are the addresses to use now, empty for those of Server. They are not saved.
	Via     string `toml:"-"`
	AgentID string `toml:"agent_id"`
	KeyID   string `toml:"key_id"`
	Handle  string `toml:"handle"`
	// KeyFile is the path of a key that is kept elsewhere; empty for the profile's own.
	KeyFile string `toml:"key_file,omitempty"`
}

// Reach are the addresses to use now.
func (p Profile) Reach() string {
	if p.Via != "" {
		return p.Via
	}
	return p.Server
}

// keyMark begins the names of KeyProfile, which no profile in config.toml may have.
const keyMark = "+"

// KeyProfile is the profile of a key whose agent is not known. It is not saved, but its session is.
func KeyProfile(key ed25519.PrivateKey, server string) Profile {
	const ofHash = 16
	hash := sha256.Sum256([]byte(PublicText(key)))
	return Profile{Name: keyMark + hex.EncodeToString(hash[:ofHash]), Server: server}
}

// OfKey reports whether it is a KeyProfile.
func (p Profile) OfKey() bool { return strings.HasPrefix(p.Name, keyMark) }

// ErrUnknownKey reports a key of no agent.
var ErrUnknownKey = errors.New("no agent of the server has this key")

// Profiles is the content of config.toml.
type Profiles struct {
	// Default is the profile that is used when none is named.
	Default string             `toml:"default"`
	ByName  map[string]Profile `toml:"profiles"`
}

// profileName limits names to what every file system can hold.
var profileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$`)

// CheckProfileName returns an error if a name cannot be that of a profile.
func CheckProfileName(name string) error {
	if !profileName.MatchString(name) {
		return fmt.Errorf("%q is not a name of a profile: up to 64 letters, digits and any of ._-", name)
	}
	return nil
}

// nextMark ends the names of files for keys that replace others. A profile of such a name would
// have its key in the file that a rotation of another one uses.
const nextMark = ".next"

// CheckNewProfileName is CheckProfileName for a profile that does not exist yet.
func CheckNewProfileName(name string) error {
	if strings.HasSuffix(strings.ToLower(name), nextMark) {
		return fmt.Errorf("%q is not a name of a new profile: key rotate uses names that end in %s", name,
			nextMark)
	}
	return CheckProfileName(name)
}

// Names are the names of all profiles, in order.
func (p Profiles) Names() []string { return slices.Sorted(maps.Keys(p.ByName)) }

// ErrNoProfile reports a profile that does not exist.
var ErrNoProfile = errors.New("there is no such profile")

// Get returns the profile of a name, the default one if the name is empty. Errors: ErrNoProfile.
func (p Profiles) Get(name string) (Profile, error) {
	if name == "" {
		name = p.Default
	}
	profile, exists := p.ByName[name]
	if !exists {
		return Profile{}, fmt.Errorf("profile %q: %w", name, ErrNoProfile)
	}
	return profile, nil
}

func (f Folders) profilesPath() string { return filepath.Join(f.Config, "config.toml") }

// ProfilesMark differs between two calls if the profiles were written in between.
func (f Folders) ProfilesMark() string {
	info, err := os.Stat(f.profilesPath())
	if err != nil {
		return ""
	}
	return fmt.Sprint(info.ModTime().UnixNano(), info.Size())
}

// Profiles reads the profiles. There are none before the first login.
func (f Folders) Profiles() (Profiles, error) {
	all := Profiles{ByName: map[string]Profile{}}
	text, err := os.ReadFile(f.profilesPath())
	if errors.Is(err, fs.ErrNotExist) {
		return all, nil
	}
	if err != nil {
		return all, err
	}
	known, err := toml.NewDecoder(bytes.NewReader(text)).Decode(&all)
	if err != nil {
		return all, fmt.Errorf("%s: %w", f.profilesPath(), err)
	}
	if extra := known.Undecoded(); len(extra) > 0 {
		return all, fmt.Errorf("%s: unknown setting %s", f.profilesPath(), extra[0])
	}
	for name, profile := range all.ByName {
		if err := CheckProfileName(name); err != nil {
			return all, fmt.Errorf("%s: %w", f.profilesPath(), err)
		}
		profile.Name = name
		all.ByName[name] = profile
	}
	return all, nil
}

// ChangeProfiles reads the profiles, lets change edit them, and writes them, while no other process
// does the same.
func (f Folders) ChangeProfiles(ctx context.Context, change func(*Profiles) error) error {
	return f.Locked(ctx, "config", func() error {
		all, err := f.Profiles()
		if err != nil {
			return err
		}
		if err := change(&all); err != nil {
			return err
		}
		var text bytes.Buffer
		if err := toml.NewEncoder(&text).Encode(all); err != nil {
			return err
		}
		return writePrivate(f.profilesPath(), text.Bytes())
	})
}

// KeyPath is the file of the profile's private key.
func (f Folders) KeyPath(p Profile) string {
	if p.KeyFile != "" {
		return p.KeyFile
	}
	return filepath.Join(f.Config, "keys", p.Name+".pem")
}

// NextKeyPath is the file for the key that replaces the profile's key.
func (f Folders) NextKeyPath(p Profile) string {
	own := filepath.Join(f.Config, "keys", p.Name+".pem")
	if f.KeyPath(p) != own {
		return own
	}
	return filepath.Join(f.Config, "keys", p.Name+nextMark+".pem")
}

// OwnsKey reports whether the key of a profile is in the folder of keys, and not kept elsewhere.
func (f Folders) OwnsKey(p Profile) bool {
	return filepath.Dir(f.KeyPath(p)) == filepath.Join(f.Config, "keys")
}

// KeyUser is the name of a profile other than one whose key is in a file, empty if there is none.
func (f Folders) KeyUser(all Profiles, path, except string) string {
	info, err := os.Stat(path)
	for _, name := range all.Names() {
		if name == except {
			continue
		}
		used := f.KeyPath(all.ByName[name])
		if used == path {
			return name
		}
		// Some file systems know a file by several names.
		if other, failed := os.Stat(used); err == nil && failed == nil && os.SameFile(info, other) {
			return name
		}
	}
	return ""
}

// KeyElsewhere is the profile of another service than a server that has a key, none if a profile of
// that server has it too. The mode of a file does not matter here.
func (f Folders) KeyElsewhere(all Profiles, key ed25519.PrivateKey, server string) (Profile, bool) {
	var elsewhere Profile
	for _, name := range all.Names() {
		profile := all.ByName[name]
		text, err := os.ReadFile(f.KeyPath(profile))
		if err != nil {
			continue
		}
		if used, err := ParseKey(text); err != nil || !used.Equal(key) {
			continue
		}
		if SameService(profile.Server, server) {
			return Profile{}, false
		}
		elsewhere = profile
	}
	return elsewhere, elsewhere.Name != ""
}

// sessionPath is the file of the session that all processes of a profile share.
func (f Folders) sessionPath(name string) string {
	return filepath.Join(f.State, "sessions", name+".json")
}
