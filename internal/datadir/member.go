package datadir

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// AdoptSecret makes a secret that servers share, as its file has it, that of a data directory.
// Errors: those of the secret; a directory that has another one.
func AdoptSecret(dir string, text []byte) error {
	text = bytes.TrimSpace(text)
	secret, err := hex.DecodeString(string(text))
	if err != nil || len(secret) != secretBytes {
		return fmt.Errorf("the secret of the group is not %d bytes of hexadecimal digits", secretBytes)
	}
	if err := Prepare(dir); err != nil {
		return err
	}
	name := filepath.Join(dir, SecretName)
	own, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		if err := requireNew(dir, groupSecretAdvice); err != nil {
			return err
		}
		return writeSecret(dir, secret)
	}
	// Digits may be capital ones, which a server does not write.
	if err == nil && !bytes.EqualFold(bytes.TrimSpace(own), text) {
		err = fmt.Errorf("%s has another secret than the group: it is of another service", name)
	}
	return err
}

// SecretText returns the secret of a data directory as its file has it.
func SecretText(dir string) ([]byte, error) {
	if err := Check(dir); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, SecretName))
	return append(bytes.TrimSpace(text), '\n'), err
}

// ReadMember returns the text that says which member of a group a data directory belongs to; nil
// where it is that of a single server.
func ReadMember(dir string) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(dir, MemberName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// ErrMember says that a data directory belongs to a member of a group: what were written into it
// alone, the others would not have, and the member could not go on.
var ErrMember = errors.New("the data directory belongs to a member of a group")

// RequireSingle refuses the data directory of a member. Errors: ErrMember.
func RequireSingle(dir string) error {
	text, err := ReadMember(dir)
	if err == nil && text != nil {
		err = fmt.Errorf("%s: %w", dir, ErrMember)
	}
	return err
}

// WriteMember writes that text durably.
func WriteMember(dir string, text []byte) error {
	return writeDurably(filepath.Join(dir, MemberName), text)
}

// RemoveMember makes the data directory of a member that of a single server. It goes on where it
// has ended in between. What is due to leave the disk stays noted.
func RemoveMember(dir string) error {
	// Without the note nobody uses raft's log.
	err := os.Remove(filepath.Join(dir, MemberName))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = SyncDir(dir)
	}
	if err == nil {
		err = os.RemoveAll(filepath.Join(dir, RaftName))
	}
	return err
}
