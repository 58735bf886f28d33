package client

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

const pemType = "PRIVATE KEY"

// NewKey makes a private key.
func NewKey() (ed25519.PrivateKey, error) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	return key, err
}

// PublicText is the form of a public key on the wire: unpadded base64url of its 32 bytes.
func PublicText(key ed25519.PrivateKey) string {
	public, _ := key.Public().(ed25519.PublicKey)
	return base64.RawURLEncoding.EncodeToString(public)
}

// EncodeKey is a private key as PEM of its PKCS#8 form, which OpenSSL reads.
func EncodeKey(key ed25519.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: pemType, Bytes: der}), nil
}

// ParseKey reads what EncodeKey writes.
func ParseKey(text []byte) (ed25519.PrivateKey, error) {
	block, _ := pem.Decode(text)
	if block == nil || block.Type != pemType {
		return nil, fmt.Errorf("this is not a private key: a PEM block %q is expected", pemType)
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("this is not a private key: %w", err)
	}
	private, ok := key.(ed25519.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("this is no Ed25519 key but a %T", key)
	}
	return private, nil
}

// ReadKey reads a private key from a file. Errors: *OpenFileError if others may read it.
func ReadKey(path string) (ed25519.PrivateKey, error) {
	if err := checkPrivate(path); err != nil {
		return nil, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	key, err := ParseKey(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return key, nil
}

// SaveKey writes a private key to a file that does not exist yet: a key that is overwritten is an
// agent that is lost.
func SaveKey(path string, key ed25519.PrivateKey) error {
	switch _, err := os.Lstat(path); {
	case err == nil:
		return fmt.Errorf("%s: %w", path, fs.ErrExist)
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	text, err := EncodeKey(key)
	if err != nil {
		return err
	}
	return writePrivate(path, text)
}
