package datadir

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pws/internal/disk"
)

// LoadSecret reads the server's secret, or creates it for a new directory, which has neither
// snapshots nor packs. Where its checksum is missing it is written. Errors: those of ReadSecret.
func LoadSecret(dir string) ([]byte, error) {
	secret, summed, err := readSecret(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err := requireNew(dir, newSecretAdvice); err != nil {
			return nil, err
		}
		secret = make([]byte, secretBytes)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		err = writeSecret(dir, secret)
	}
	if err == nil && !summed {
		// A full disk does not keep the server from starting: the next start writes it.
		_ = writeDurably(filepath.Join(dir, SecretSumName), sumOf(secret))
	}
	return secret, err
}

// ReadSecret reads the server's secret, and changes nothing. Errors: what is no secret, or does not
// fit its checksum.
func ReadSecret(dir string) ([]byte, error) {
	secret, _, err := readSecret(dir)
	return secret, err
}

// readSecret reports whether there is a checksum, too. The secret is a line of hexadecimal digits.
func readSecret(dir string) (secret []byte, summed bool, err error) {
	name, sumName := filepath.Join(dir, SecretName), filepath.Join(dir, SecretSumName)
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, false, err
	}
	secret, err = hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != secretBytes {
		return nil, false, fmt.Errorf("%s: not %d bytes of hexadecimal digits", name, secretBytes)
	}
	sum, err := os.ReadFile(sumName)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return secret, false, nil
	case err != nil:
		return nil, false, err
	case strings.TrimSpace(string(sum)) != strings.TrimSpace(string(sumOf(secret))):
		return nil, false, fmt.Errorf("%s does not have the checksum in %s: one of them is damaged; "+
			"copy the first from a backup; if it is the same there, or was replaced on purpose, "+
			"remove the second", name, sumName)
	}
	return secret, true, nil
}

// writeSecret writes a secret without its checksum. That of another secret goes BEFORE.
func writeSecret(dir string, secret []byte) error {
	err := os.Remove(filepath.Join(dir, SecretSumName))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	text := []byte(hex.EncodeToString(secret) + "\n")
	return writeDurably(filepath.Join(dir, SecretName), text)
}

// sumOf is the checksum of a secret as its file has it.
func sumOf(secret []byte) []byte { return fmt.Appendf(nil, "%08x\n", disk.Checksum(secret)) }
