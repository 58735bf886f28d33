package client

import (
	"context"
	"crypto/ed25519"
	"errors"
	"io/fs"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

// Credentials gives the credentials of requests.
type Credentials interface {
	// Credential returns the one to send, empty for none.
	Credential(ctx context.Context) (string, error)
	// Renew returns one to send after the server refused another; it returns the refused one if it
	// has no other.
	Renew(ctx context.Context, refused string) (string, error)
}

// Fixed is a credential that was given from outside and cannot be renewed.
type Fixed string

// Credential implements Credentials.
func (f Fixed) Credential(context.Context) (string, error) { return string(f), nil }

// Renew implements Credentials.
func (f Fixed) Renew(context.Context, string) (string, error) { return string(f), nil }

// SavedSession is the file of a session. Times are those of this machine's clock; the clock of the
// server may differ.
type SavedSession struct {
	Server     string    `json:"server"`
	AgentID    string    `json:"agent_id"`
	KeyID      string    `json:"key_id"`
	SessionID  string    `json:"session_id"`
	Credential string    `json:"credential"`
	OpenedAt   time.Time `json:"opened_at"`
	// LifeSeconds is how long the session lives from its opening, in seconds.
	LifeSeconds int64 `json:"life_seconds"`
}

// renewalShare is the part of a session's life after which another is opened, in percent.
const renewalShare = 80

// fresh reports whether the session has enough of its life left. A session that was opened in the
// future of this clock is taken as fresh: the server knows.
func (s *SavedSession) fresh(now time.Time) bool {
	life := time.Duration(s.LifeSeconds) * time.Second
	return s.Credential != "" && now.Before(s.OpenedAt.Add(life*renewalShare/100))
}

// Session gives the credential of the session that all processes of a profile share. It opens
// another one when that is needed.
type Session struct {
	folders Folders
	profile Profile
	program Program
	// key reads the key when it is needed.
	key func() (ed25519.PrivateKey, error)
	// signIn is a client without credentials.
	signIn *Client
	now    func() time.Time

	mu struct {
		sync.Mutex
		saved SavedSession
		// own is true for a session that no other process has, because its file cannot be written.
		own bool
		// failed is the last sign-in that failed, with when it ended.
		failed   error
		failedAt time.Time
	}
}

// NoRetry lets a failed sign-in end the request that needed it, which is repeated itself.
func (s *Session) NoRetry() { s.signIn.RetryFor = 0 }

// endTime bounds how long Close waits for the server.
const endTime = 2 * time.Second

// Close ends the idle connections to the server, and the session if no other process has it: an
// agent has few.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.signIn.Close()
	if !s.mu.own {
		return
	}
	s.mu.own = false
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	// A session that was not ended runs out by itself.
	_ = endSession(ctx, s.mu.saved)
}

// Key returns a function that reads the key of a profile.
func (f Folders) Key(p Profile) func() (ed25519.PrivateKey, error) {
	return func() (ed25519.PrivateKey, error) { return ReadKey(f.KeyPath(p)) }
}

// NewSession makes the session of a profile. The key is read when a session must be opened.
func NewSession(
	folders Folders, profile Profile, program Program, key func() (ed25519.PrivateKey, error),
) *Session {
	signIn := New(profile.Reach(), nil)
	signIn.AlsoKnown = profile.Server
	return &Session{
		folders: folders, profile: profile, program: program, key: key,
		signIn: signIn, now: time.Now,
	}
}

// Client is a client of the profile's server with the session. Sign-ins and requests share what is
// known of the addresses.
func (s *Session) Client() *Client {
	made := New(s.profile.Reach(), s)
	made.addresses, made.AlsoKnown = s.signIn.addresses, s.signIn.AlsoKnown
	return made
}

// Credential implements Credentials. Errors: those of Client.SignIn, ReadKey and the file system.
func (s *Session) Credential(ctx context.Context) (string, error) {
	return s.other(ctx, func(saved *SavedSession) bool { return saved.fresh(s.now()) })
}

// Renew implements Credentials. Another process may have renewed the session already.
func (s *Session) Renew(ctx context.Context, refused string) (string, error) {
	return s.other(ctx, func(saved *SavedSession) bool {
		return saved.Credential != refused && saved.fresh(s.now())
	})
}

// other returns the credential of the first session that suits: the one in memory, the one in the
// file, or a new one. One goroutine of one process opens it, the others wait. Where files cannot be
// written, as in a sandbox, this process has a session of its own.
func (s *Session) other(
	ctx context.Context, suits func(*SavedSession) bool,
) (credential string, err error) {
	begun := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if suits(&s.mu.saved) {
		return s.mu.saved.Credential, nil
	}
	if s.mu.failedAt.After(begun) {
		// Who has waited for a sign-in that failed does not wait for another one.
		return "", s.mu.failed
	}
	defer func() {
		if err != nil && ctx.Err() == nil {
			s.mu.failed, s.mu.failedAt = err, time.Now()
		}
	}()
	use := func() bool {
		saved, err := s.folders.readSession(s.profile)
		if err != nil || !suits(&saved) {
			return false
		}
		s.mu.saved = saved
		return true
	}
	if use() {
		return s.mu.saved.Credential, nil
	}
	err = s.folders.Locked(ctx, "session-"+s.profile.Name, func() error {
		if use() {
			return nil
		}
		if err := s.open(ctx); err != nil {
			return err
		}
		return s.folders.writeSession(s.profile.Name, s.mu.saved)
	})
	if ofFiles(err) {
		err = nil
		if !suits(&s.mu.saved) {
			err = s.open(ctx)
		}
		s.mu.own = err == nil
	}
	return s.mu.saved.Credential, err
}

// ofFiles reports whether an error is of the file system.
func ofFiles(err error) bool {
	var path *fs.PathError
	var link *os.LinkError
	return errors.As(err, &path) || errors.As(err, &link)
}

// SignInError is the error of a session that could not be opened. What the request is about was not
// asked for.
type SignInError struct {
	// Profile is the name of the profile, empty for a given key.
	Profile string
	Cause   error
}

func (e *SignInError) Error() string {
	as := "with the given key"
	if e.Profile != "" {
		as = "as profile " + e.Profile
	}
	return "signing in " + as + ": " + e.Cause.Error()
}

// Unwrap returns the cause.
func (e *SignInError) Unwrap() error { return e.Cause }

// IsUnknown reports whether the server knows no such agent or key, as after its data were replaced
// by older ones. A login registers the key again.
func (e *SignInError) IsUnknown() bool {
	return IsCode(e.Cause, codeAgentNotFound, codeKeyNotFound)
}

// open opens a session. It is called with mu. Errors: *SignInError, those of the key.
func (s *Session) open(ctx context.Context) error {
	key, err := s.key()
	if err != nil {
		return err
	}
	known, name := KnownKey{AgentID: s.profile.AgentID, KeyID: s.profile.KeyID}, s.profile.Name
	if s.profile.OfKey() {
		name = ""
		var begun *Registration
		if begun, known, err = s.signIn.Register(ctx, key, s.program); begun != nil {
			err = ErrUnknownKey
		}
	}
	opened := s.now()
	var done SignedIn
	if err == nil {
		done, err = s.signIn.SignIn(ctx, key, known, s.program)
	}
	if err != nil {
		return &SignInError{name, err}
	}
	s.mu.saved, s.mu.own = savedSession(s.profile.Server, done, opened), false
	return nil
}

func savedSession(server string, done SignedIn, opened time.Time) SavedSession {
	return SavedSession{
		Server: server, AgentID: done.Session.AgentID, KeyID: done.Session.KeyID,
		SessionID: done.Session.ID, Credential: done.Session.Credential, OpenedAt: opened,
		LifeSeconds: int64(done.Session.ExpiresAt.Sub(done.Session.CreatedAt) / time.Second),
	}
}

// SaveSession writes the session of a login for all processes of its profile.
func (f Folders) SaveSession(p Profile, done SignedIn, opened time.Time) error {
	return f.writeSession(p.Name, savedSession(p.Server, done, opened))
}

func (f Folders) writeSession(name string, saved SavedSession) error {
	text, err := json.Marshal(saved)
	if err != nil {
		return err
	}
	return writePrivate(f.sessionPath(name), append(text, '\n'))
}

// readSession returns the session in the file; none if that is of another server or key, cannot be
// read as JSON, or is open to others: then a new one replaces it.
func (f Folders) readSession(p Profile) (saved SavedSession, err error) {
	path := f.sessionPath(p.Name)
	if err := checkPrivate(path); err != nil {
		return saved, err
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return saved, err
	}
	if err := json.Unmarshal(text, &saved); err != nil {
		return SavedSession{}, err
	}
	if !SameService(saved.Server, p.Server) || saved.KeyID != p.KeyID && !p.OfKey() {
		return SavedSession{}, errors.New("the session is of another server or key")
	}
	return saved, nil
}

// EndSession ends the session of a profile at the server and removes its file. A session that has
// ended already is no error.
func (f Folders) EndSession(ctx context.Context, p Profile) error {
	return f.Locked(ctx, "session-"+p.Name, func() error {
		saved, err := f.readSession(p)
		if err == nil {
			err = endSession(ctx, saved)
		}
		return errors.Join(notMissing(err), notMissing(f.ForgetSession(p)))
	})
}

// endSession ends a session at its server. One that has ended already is no error.
func endSession(ctx context.Context, saved SavedSession) error {
	ending := New(saved.Server, Fixed(saved.Credential))
	defer ending.Close()
	_, err := ending.Do(ctx, &Request{Method: http.MethodDelete, Path: "/api/v1/auth/session"})
	if IsCode(err, codeSessionInvalid, codeSessionExpired) {
		return nil
	}
	return err
}

// ForgetSession removes the file of a profile's session.
func (f Folders) ForgetSession(p Profile) error { return os.Remove(f.sessionPath(p.Name)) }

// notMissing leaves out the error of a file that does not exist.
func notMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
