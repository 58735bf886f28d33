package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"os"
	"path/filepath"
	"time"
)

// The files of a member, and of the authority.
const (
	authorityFile    = "authority.pem"
	authorityKeyFile = "authority-key.pem"
	memberFile       = "member.pem"
	memberKeyFile    = "member-key.pem"
	secretFile       = "secret"
)

// validYears is how long certificates are valid.
const validYears = 10

// nameOf is the name of a member in its certificate.
func nameOf(member uint64) string { return fmt.Sprintf("member-%d.pws.internal", member) }

// MakeAuthority makes, in a directory that does not exist, a private authority and what each member
// needs: folder "authority", which the members do not need, and a folder "member-NUMBER" for each,
// with its certificate, its key, and the secret that all servers of the group have in common.
func MakeAuthority(dir string, members []uint64, now time.Time) error {
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s is there already", dir)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	authority := template("pws cluster", now)
	authority.IsCA, authority.BasicConstraintsValid, authority.MaxPathLenZero = true, true, true
	authority.KeyUsage = x509.KeyUsageCertSign
	own, err := x509.CreateCertificate(rand.Reader, authority, authority, &key.PublicKey, key)
	if err != nil {
		return err
	}
	var secret [32]byte
	rand.Read(secret[:])
	folder := filepath.Join(dir, "authority")
	if err := writePair(folder, authorityFile, own, authorityKeyFile, key); err != nil {
		return err
	}
	for _, member := range members {
		folder := filepath.Join(dir, fmt.Sprintf("member-%d", member))
		if err := certify(folder, member, authority, key, now); err != nil {
			return err
		}
		err := writePEM(filepath.Join(folder, authorityFile), "CERTIFICATE", own)
		if err == nil {
			err = write(filepath.Join(folder, secretFile), []byte(hex.EncodeToString(secret[:])+"\n"))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func template(name string, now time.Time) *x509.Certificate {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		panic(err)
	}
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		// Clocks of members may differ.
		NotBefore: now.Add(-24 * time.Hour), NotAfter: now.AddDate(validYears, 0, 0),
	}
}

func certify(
	folder string, member uint64, authority *x509.Certificate, by *ecdsa.PrivateKey, now time.Time,
) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	one := template(nameOf(member), now)
	one.DNSNames = []string{nameOf(member)}
	one.KeyUsage = x509.KeyUsageDigitalSignature
	one.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	made, err := x509.CreateCertificate(rand.Reader, one, authority, &key.PublicKey, by)
	if err != nil {
		return err
	}
	return writePair(folder, memberFile, made, memberKeyFile, key)
}

func writePair(
	folder, name string, certificate []byte, keyName string, key *ecdsa.PrivateKey,
) error {
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err == nil {
		err = os.MkdirAll(folder, 0o700)
	}
	if err == nil {
		err = writePEM(filepath.Join(folder, keyName), "PRIVATE KEY", encoded)
	}
	if err == nil {
		err = writePEM(filepath.Join(folder, name), "CERTIFICATE", certificate)
	}
	return err
}

func writePEM(path, kind string, data []byte) error {
	return write(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
}

// write makes a file that must not be there.
func write(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// Identity is what a member proves itself with.
type Identity struct {
	// Secret is that of the servers of the group, a line of hexadecimal digits.
	Secret []byte
	// certificate and authority are nil for plain connections.
	certificate *tls.Certificate
	authority   *x509.CertPool
}

// Plain is an identity without certificates, for members on one machine.
func Plain(secret []byte) *Identity { return &Identity{Secret: secret} }

// LoadIdentity reads the folder of a member that MakeAuthority has made.
func LoadIdentity(folder string, member uint64) (*Identity, error) {
	secret, err := os.ReadFile(filepath.Join(folder, secretFile))
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(
		filepath.Join(folder, memberFile), filepath.Join(folder, memberKeyFile))
	if err != nil {
		return nil, err
	}
	if len(pair.Leaf.DNSNames) != 1 || pair.Leaf.DNSNames[0] != nameOf(member) {
		return nil, fmt.Errorf("%s is of %q, not of member %d", folder, pair.Leaf.DNSNames, member)
	}
	text, err := os.ReadFile(filepath.Join(folder, authorityFile))
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s has no certificate", filepath.Join(folder, authorityFile))
	}
	return &Identity{Secret: secret, certificate: &pair, authority: pool}, nil
}

// dialing is how a connection to a member is made; nil for a plain one.
func (i *Identity) dialing(member uint64) *tls.Config {
	if i.certificate == nil {
		return nil
	}
	return &tls.Config{
		Certificates: []tls.Certificate{*i.certificate}, RootCAs: i.authority,
		ServerName: nameOf(member), MinVersion: tls.VersionTLS13,
	}
}

// accepting is how connections of members are taken; nil for plain ones.
func (i *Identity) accepting() *tls.Config {
	if i.certificate == nil {
		return nil
	}
	return &tls.Config{
		Certificates: []tls.Certificate{*i.certificate}, ClientCAs: i.authority,
		ClientAuth: tls.RequireAndVerifyClientCert, MinVersion: tls.VersionTLS13,
	}
}
