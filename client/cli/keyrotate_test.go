package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"pws/client"
)

// keyServer has the keys of one agent. A key is revoked with a new session of its own.
type keyServer struct {
	*httptest.Server
	mu       sync.Mutex
	keys     []*servedKey
	sessions map[string]*servedKey
	// stop, if it is not nil, is called before and after the effect of each request. It returns true
	// to end the client there.
	stop func() bool
}

type servedKey struct {
	id, public string
	revoked    bool
}

func newKeyServer(t *testing.T) *keyServer {
	t.Helper()
	s := &keyServer{sessions: map[string]*servedKey{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+keysPath, s.list)
	mux.HandleFunc("POST "+keysPath+"/start", s.start)
	mux.HandleFunc("POST "+keysPath+"/complete", s.complete)
	mux.HandleFunc("DELETE "+keysPath+"/{key}", s.revoke)
	mux.HandleFunc("POST /api/v1/agents/register/start", s.register)
	mux.HandleFunc("GET /api/v1/agents/me", s.me)
	mux.HandleFunc("POST /api/v1/auth/challenge", s.challenge)
	mux.HandleFunc("POST /api/v1/auth/session", s.open)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.stop != nil && s.stop() {
			panic(http.ErrAbortHandler)
		}
		mux.ServeHTTP(w, r)
		if s.stop != nil && s.stop() {
			panic(http.ErrAbortHandler)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

func give(w http.ResponseWriter, data any) {
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": true, "data": data})
}

func refuse(w http.ResponseWriter, status int, code string, details map[string]any) {
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"ok": false, "error": map[string]any{
		"code": code, "message": "No.", "details": details,
	}})
}

// bodyOf is the body of a request; all of its members are texts.
func bodyOf(r *http.Request) map[string]string {
	all := map[string]string{}
	_ = json.NewDecoder(r.Body).Decode(&all)
	return all
}

func (s *keyServer) key(match func(*servedKey) bool) *servedKey {
	for _, key := range s.keys {
		if match(key) {
			return key
		}
	}
	return nil
}

// caller is the key of the session, nil after an answer that there is none.
func (s *keyServer) caller(w http.ResponseWriter, r *http.Request) *servedKey {
	key := s.sessions[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
	if key == nil || key.revoked {
		refuse(w, http.StatusUnauthorized, "SESSION_INVALID", nil)
		return nil
	}
	return key
}

// me answers with a handle that is that of the key.
func (s *keyServer) me(w http.ResponseWriter, r *http.Request) {
	if caller := s.caller(w, r); caller != nil {
		give(w, map[string]any{"agent": map[string]any{"id": "agt_1", "handle": caller.id}})
	}
}

func (s *keyServer) list(w http.ResponseWriter, r *http.Request) {
	if s.caller(w, r) == nil {
		return
	}
	list := []map[string]string{}
	for _, key := range s.keys {
		status := "ACTIVE"
		if key.revoked {
			status = "REVOKED"
		}
		list = append(list, map[string]string{"id": key.id, "status": status})
	}
	give(w, map[string]any{"keys": list})
}

func (s *keyServer) start(w http.ResponseWriter, r *http.Request) {
	if s.caller(w, r) != nil {
		s.register(w, r)
	}
}

// register begins the registration of a key, or its addition.
func (s *keyServer) register(w http.ResponseWriter, r *http.Request) {
	public := bodyOf(r)["public_key"]
	if key := s.key(func(k *servedKey) bool { return k.public == public }); key != nil {
		refuse(w, http.StatusConflict, "KEY_ALREADY_REGISTERED",
			map[string]any{"agent_id": "agt_1", "key_id": key.id})
		return
	}
	purpose := "register"
	if strings.HasPrefix(r.URL.Path, keysPath) {
		purpose = "add-key"
	}
	give(w, challengeOf(purpose, public, public))
}

func payloadOf(purpose, id, public string) string {
	return "pws/v1|" + purpose + "|" + id + "|c|" + public + "|t"
}

func challengeOf(purpose, id, public string) map[string]any {
	return map[string]any{
		"challenge_id": id, "challenge": "c", "signing_payload": payloadOf(purpose, id, public),
	}
}

func (s *keyServer) complete(w http.ResponseWriter, r *http.Request) {
	if s.caller(w, r) == nil {
		return
	}
	give(w, map[string]any{"key": map[string]any{
		"id": s.add(bodyOf(r)["challenge_id"]).id, "agent_id": "agt_1",
	}})
}

func (s *keyServer) add(public string) *servedKey {
	key := &servedKey{id: fmt.Sprintf("key_%d", len(s.keys)+1), public: public}
	s.keys = append(s.keys, key)
	return key
}

func (s *keyServer) revoke(w http.ResponseWriter, r *http.Request) {
	caller := s.caller(w, r)
	switch {
	case caller == nil:
	case caller.id != r.PathValue("key"):
		refuse(w, http.StatusForbidden, "KEY_TOO_YOUNG", nil)
	default:
		caller.revoked = true
		give(w, map[string]any{})
	}
}

func (s *keyServer) challenge(w http.ResponseWriter, r *http.Request) {
	id := bodyOf(r)["key_id"]
	key := s.key(func(k *servedKey) bool { return k.id == id })
	if key == nil || key.revoked {
		refuse(w, http.StatusForbidden, "KEY_REVOKED", nil)
		return
	}
	give(w, challengeOf("session", id, key.public))
}

func (s *keyServer) open(w http.ResponseWriter, r *http.Request) {
	body := bodyOf(r)
	key := s.key(func(k *servedKey) bool { return k.id == body["challenge_id"] })
	public, _ := base64.RawURLEncoding.DecodeString(key.public)
	signature, _ := base64.RawURLEncoding.DecodeString(body["signature"])
	if !ed25519.Verify(public, []byte(payloadOf("session", key.id, key.public)), signature) {
		refuse(w, http.StatusUnauthorized, "SIGNATURE_INVALID", nil)
		return
	}
	credential := fmt.Sprintf("%s-%d", key.id, len(s.sessions))
	s.sessions[credential] = key
	now := time.Now()
	give(w, map[string]any{"session": map[string]any{
		"id": "ses_1", "agent_id": "agt_1", "key_id": key.id, "credential": credential,
		"created_at": now, "expires_at": now.Add(time.Hour),
	}})
}

// keyPlace is a home with a profile of the agent.
type keyPlace struct {
	*keyServer
	env       *Env
	out       *bytes.Buffer
	variables map[string]string
}

func (p *keyPlace) lookup(name string) (string, bool) {
	value, set := p.variables[name]
	return value, set
}

func newKeyPlace(t *testing.T) *keyPlace {
	t.Helper()
	home := t.TempDir()
	p := &keyPlace{
		keyServer: newKeyServer(t), out: new(bytes.Buffer), variables: map[string]string{},
	}
	p.env = &Env{
		Lookup: p.lookup,
		Folders: client.Folders{
			Config: filepath.Join(home, "c"), State: filepath.Join(home, "s"),
		},
		Dir: home, Out: p.out, Err: p.out, Program: client.Program{Name: "pws"}, Now: time.Now,
	}
	profile := client.Profile{Name: "default", Server: p.URL, AgentID: "agt_1"}
	key := p.newKey(t, p.env.Folders.KeyPath(profile))
	profile.KeyID = p.add(client.PublicText(key)).id
	err := p.env.Folders.ChangeProfiles(t.Context(), func(all *client.Profiles) error {
		all.ByName[profile.Name], all.Default = profile, profile.Name
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *keyPlace) newKey(t *testing.T, path string) ed25519.PrivateKey {
	t.Helper()
	key, err := client.NewKey()
	if err == nil && path != "" {
		err = client.SaveKey(path, key)
	}
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// active are the IDs of the active keys.
func (p *keyPlace) active() (ids []string) {
	for _, key := range p.keys {
		if !key.revoked {
			ids = append(ids, key.id)
		}
	}
	return ids
}

// check returns an error unless the profile names a key that works, whose file is the only one.
func (p *keyPlace) check(ctx context.Context) error {
	profile, err := p.env.profile("")
	if err != nil {
		return err
	}
	signing := client.New(p.URL, nil)
	defer signing.Close()
	key, err := client.ReadKey(p.env.Folders.KeyPath(profile))
	if err != nil {
		return err
	}
	known := client.KnownKey{AgentID: profile.AgentID, KeyID: profile.KeyID}
	_, err = signing.SignIn(ctx, key, known, p.env.Program)
	return err
}

// TestInterruptedRotationIsFinished ends a rotation before and after the effect of each of its
// requests, and repeats it.
func TestInterruptedRotationIsFinished(t *testing.T) {
	for _, second := range []bool{false, true} {
		for moment := 0; ; moment++ {
			p := newKeyPlace(t)
			if second {
				p.add(client.PublicText(p.newKey(t, "")))
			}
			before := len(p.active())
			passed := 0
			ctx, end := context.WithCancel(t.Context())
			p.stop = func() bool {
				if passed++; passed == moment+1 {
					end()
				}
				return ctx.Err() != nil
			}
			interrupted := (&KeyRotateCommand{}).Run(ctx, p.env)
			end()
			p.stop = nil
			if interrupted == nil {
				if moment < 8 {
					t.Errorf("a rotation of %d moments", moment)
				}
				break
			}
			if err := p.check(t.Context()); err != nil {
				t.Errorf("ended at %d, second %v: %v", moment, second, err)
			}
			if err := (&KeyRotateCommand{}).Run(t.Context(), p.env); err != nil {
				t.Errorf("ended at %d, second %v, repeated: %v", moment, second, err)
			}
			if err := p.check(t.Context()); err != nil {
				t.Errorf("ended at %d, second %v, after the repeat: %v", moment, second, err)
			}
			files, _ := os.ReadDir(filepath.Join(p.env.Folders.Config, "keys"))
			if !p.keys[0].revoked || len(p.active()) != before || len(files) != 1 {
				t.Errorf("ended at %d, second %v: active %v, %d files, output %s", moment, second,
					p.active(), len(files), p.out)
			}
		}
	}
}

// TestRotationTakesNoOtherKey has a revoked key, and that of another profile, in the file of the
// new key.
func TestRotationTakesNoOtherKey(t *testing.T) {
	p := newKeyPlace(t)
	next := filepath.Join(p.env.Folders.Config, "keys", "default.next.pem")
	p.add(client.PublicText(p.newKey(t, next))).revoked = true
	if err := (&KeyRotateCommand{}).Run(t.Context(), p.env); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(p.active(), " "); got != "key_3" || p.check(t.Context()) != nil {
		t.Errorf("active keys %s; %v", got, p.check(t.Context()))
	}

	p = newKeyPlace(t)
	other := client.Profile{Name: "default.next", Server: p.URL, AgentID: "agt_1", KeyID: "key_2"}
	p.add(client.PublicText(p.newKey(t, p.env.Folders.KeyPath(other))))
	err := p.env.Folders.ChangeProfiles(t.Context(), func(all *client.Profiles) error {
		all.ByName[other.Name] = other
		return nil
	})
	err = errors.Join(err, (&KeyRotateCommand{Common{Profile: "default"}}).Run(t.Context(), p.env))
	if err == nil || !strings.Contains(err.Error(), "the key of profile default.next") {
		t.Errorf("error %v", err)
	}
	if got := strings.Join(p.active(), " "); got != "key_1 key_2" {
		t.Errorf("active keys %s", got)
	}
}
