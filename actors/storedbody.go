package actors

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"

	"pws/internal/disk"
)

// formatName holds the version of the data directory's layout, secretName the server's secret.
const (
	formatName   = "FORMAT"
	formatText   = "pws data 1\n"
	secretName   = "secret"
	secretBytes  = 32
	bodyBytesMax = 64 << 20
)

// prepareDir makes the data directory, and refuses one of another format.
func prepareDir(dir string) error {
	if err := (disk.OS{}).MakeDir(dir); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	name := filepath.Join(dir, formatName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return writeDurably(name, []byte(formatText))
	}
	if err == nil && string(text) != formatText {
		err = fmt.Errorf("%s says %q, this program reads %q", name,
			strings.TrimSpace(string(text)), strings.TrimSpace(formatText))
	}
	return err
}

// loadSecret reads the server's secret, or makes one. It is a line of hexadecimal digits.
func loadSecret(dir string) ([]byte, error) {
	name := filepath.Join(dir, secretName)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		secret := make([]byte, secretBytes)
		if _, err := rand.Read(secret); err != nil {
			return nil, err
		}
		return secret, writeDurably(name, []byte(hex.EncodeToString(secret)+"\n"))
	}
	if err != nil {
		return nil, err
	}
	secret, err := hex.DecodeString(strings.TrimSpace(string(text)))
	if err != nil || len(secret) != secretBytes {
		return nil, fmt.Errorf("%s: not %d bytes of hexadecimal digits", name, secretBytes)
	}
	return secret, nil
}

// writeDurably makes a file that is there whole or not at all.
func writeDurably(name string, content []byte) error {
	temporary := name + ".new"
	file, err := os.OpenFile(temporary, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(content)
	err = errors.Join(err, file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(temporary, name)
	}
	if err == nil {
		err = syncDir(filepath.Dir(name))
	}
	return err
}

func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

var (
	packer   = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest)))
	unpacker = must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(bodyBytesMax)))
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// pack compresses the body of a stored answer.
func pack(body []byte) []byte {
	if len(body) == 0 {
		return nil
	}
	return packer.EncodeAll(body, nil)
}

func unpack(packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return nil, nil
	}
	body, err := unpacker.DecodeAll(packed, nil)
	if err != nil {
		return nil, fmt.Errorf("stored answer: %w", err)
	}
	return body, nil
}
