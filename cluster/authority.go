package cluster

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
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

	"pws/internal/datadir"
	"pws/internal/localhost"
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
// with its certificate, its key, and the secret that all servers of the group have in common. That
// is the given one, as the file of a data directory has it; nil makes one.
func MakeAuthority(dir string, members []uint64, secret []byte, now time.Time) error {
	if exists(dir) {
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
	if secret == nil {
		var random [32]byte
		rand.Read(random[:])
		secret = []byte(hex.EncodeToString(random[:]) + "\n")
	}
	folder := filepath.Join(dir, "authority")
	if err := writePair(folder, authorityFile, own, authorityKeyFile, key); err != nil {
		return err
	}
	for _, member := range members {
		issued := issuer{authority, key, own, secret}
		if err := issued.addMember(dir, member, now); err != nil {
			return err
		}
	}
	// With it, AddMember makes the folders of later members.
	return write(filepath.Join(folder, secretFile), secret)
}

// AddMember makes the folder of another member in a directory of MakeAuthority. It refuses a member
// that has one.
func AddMember(dir string, member uint64, now time.Time) error {
	if has := memberFolder(dir, member); exists(has) {
		return fmt.Errorf("member %d has keys already, in %s; numbers are never used twice", member, has)
	}
	folder := filepath.Join(dir, "authority")
	secret, err := os.ReadFile(filepath.Join(folder, secretFile))
	if err != nil {
		return err
	}
	pair, err := tls.LoadX509KeyPair(
		filepath.Join(folder, authorityFile), filepath.Join(folder, authorityKeyFile))
	if err != nil {
		return err
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return fmt.Errorf("%s is not a key of this program", filepath.Join(folder, authorityKeyFile))
	}
	issued := issuer{pair.Leaf, key, pair.Certificate[0], secret}
	return issued.addMember(dir, member, now)
}

// issuer is what the folders of members are made with: the authority, its key, its certificate as
// bytes, and the secret of the group.
type issuer struct {
	authority *x509.Certificate
	key       *ecdsa.PrivateKey
	own       []byte
	secret    []byte
}

func memberFolder(dir string, member uint64) string {
	return filepath.Join(dir, fmt.Sprintf("member-%d", member))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, os.ErrNotExist)
}

func (i *issuer) addMember(dir string, member uint64, now time.Time) error {
	folder := memberFolder(dir, member)
	err := certify(folder, member, i.authority, i.key, now)
	if err == nil {
		err = writePEM(filepath.Join(folder, authorityFile), "CERTIFICATE", i.own)
	}
	if err == nil {
		err = write(filepath.Join(folder, secretFile), i.secret)
	}
	return err
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

// LoadIdentity reads the folder of a member that MakeAuthority has made. It refuses keys that all
// users of the machine may read.
func LoadIdentity(folder string, member uint64) (*Identity, error) {
	for _, name := range []string{secretFile, memberKeyFile} {
		if err := datadir.RequireSecret(filepath.Join(folder, name)); err != nil {
			return nil, err
		}
	}
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

// permits refuses plain connections to other machines.
func (i *Identity) permits(address string) error {
	if i.certificate == nil && !localhost.Host(address) {
		return fmt.Errorf("%s is not on this machine: connections without certificates are for "+
			"loopback addresses alone", address)
	}
	return nil
}

// joining is what the greeting of a server has that is not of the group yet.
func (i *Identity) joining() (group [groupBytes]byte) {
	sum := sha256.Sum256(append([]byte("pws join "), i.Secret...))
	copy(group[:], sum[:])
	return group
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
