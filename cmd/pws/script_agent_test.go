package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// keyPair is an Ed25519 key of a script.
type keyPair struct {
	public  string
	private ed25519.PrivateKey
}

// agent is a registered agent whose credential a script can send.
type agent struct {
	id, keyID, credential string
	key                   *keyPair
}

// keypair creates a key and sets the variable NAME to its public half.
//
//	keypair NAME
func (s *script) keypair(ts *testscript.TestScript, args []string) error {
	s.makeKey(ts, args[0])
	return nil
}

func (s *script) makeKey(ts *testscript.TestScript, name string) *keyPair {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		panic(err)
	}
	made := &keyPair{public: base64.RawURLEncoding.EncodeToString(public), private: private}
	if s.keys == nil {
		s.keys = map[string]*keyPair{}
	}
	s.keys[name] = made
	s.set(ts, name+"_public", made.public)
	return made
}

func (k *keyPair) sign(payload string) string {
	return base64.RawURLEncoding.EncodeToString(ed25519.Sign(k.private, []byte(payload)))
}

// sign signs the signing_payload of the last answer.
//
//	sign NAME KEYPAIR
func (s *script) sign(ts *testscript.TestScript, args []string) error {
	key, known := s.keys[args[1]]
	payload, err := s.value("data.signing_payload")
	if err != nil || !known {
		return errors.Join(err, fmt.Errorf("key %s known: %v", args[1], known))
	}
	s.set(ts, args[0], key.sign(textOf(payload)))
	return nil
}

// register registers agents and makes the last one the current caller. NAME is the handle and the
// variable of the ID; NAME_key is the ID of its key, NAME_credential its credential.
//
//	agent NAME...
func (s *script) register(ts *testscript.TestScript, args []string) error {
	for _, name := range args {
		name = s.expand(name)
		if err := s.tick(ts); err != nil {
			return err
		}
		caller := s.caller
		s.caller = ""
		err := s.registerOne(ts, name)
		s.caller = caller
		if err != nil {
			return err
		}
		s.caller = name
	}
	return nil
}

func (s *script) registerOne(ts *testscript.TestScript, name string) error {
	key := s.makeKey(ts, name)
	err := s.post("agents/register/start", map[string]string{
		"public_key": key.public, "algorithm": "Ed25519",
	})
	if err != nil {
		return err
	}
	if err := s.post("agents/register/complete", s.proof(key, "handle", name)); err != nil {
		return err
	}
	s.become(ts, name, key)
	return nil
}

// login opens another session of an agent and makes it the current caller.
//
//	login NAME
func (s *script) login(ts *testscript.TestScript, args []string) error {
	known, ok := s.agents[args[0]]
	if !ok {
		return fmt.Errorf("no agent %s", args[0])
	}
	s.caller = ""
	err := s.post("auth/challenge", map[string]string{
		"agent_id": known.id, "key_id": known.keyID,
	})
	if err != nil {
		return err
	}
	if err := s.post("auth/session", s.proof(known.key)); err != nil {
		return err
	}
	s.become(ts, args[0], known.key)
	s.caller = args[0]
	return nil
}

// addMembers registers agents and makes them members of a project of the caller.
//
//	addmembers PROJECT N
func (s *script) addMembers(ts *testscript.TestScript, args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	owner := s.caller
	for i := range count {
		s.caller = ""
		name := fmt.Sprintf("member%d", i)
		if err := s.registerOne(ts, name); err != nil {
			return err
		}
		s.caller = owner
		err := s.post("projects/"+args[0]+"/members", map[string]string{
			"agent": name, "role": "READER",
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// blockMembers blocks agents that addmembers has registered from another project of the caller.
//
//	blockmembers PROJECT N
func (s *script) blockMembers(_ *testscript.TestScript, args []string) error {
	count, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	for i := range count {
		err := s.post("projects/"+args[0]+"/blocks", map[string]string{
			"agent": fmt.Sprintf("member%d", i),
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// addKey adds a second key to the current caller.
//
//	addkey NAME
func (s *script) addKey(ts *testscript.TestScript, args []string) error {
	key := s.makeKey(ts, args[0])
	err := s.post("agents/me/keys/start", map[string]string{
		"public_key": key.public, "algorithm": "Ed25519",
	})
	if err != nil {
		return err
	}
	answer := s.proof(key)
	delete(answer, "client_name")
	delete(answer, "client_version")
	return s.post("agents/me/keys/complete", answer)
}

// proof signs the challenge in the last answer.
func (s *script) proof(key *keyPair, more ...string) map[string]string {
	field := func(name string) string {
		value, _ := s.last.at("data." + name)
		return textOf(value)
	}
	body := map[string]string{
		"challenge_id": field("challenge_id"), "challenge": field("challenge"),
		"signature": key.sign(field("signing_payload")), "client_name": "script",
		"client_version": "1",
	}
	for i := 0; i < len(more); i += 2 {
		body[more[i]] = more[i+1]
	}
	return body
}

// become stores the agent and the session of the last answer under a name.
func (s *script) become(ts *testscript.TestScript, name string, key *keyPair) {
	made := &agent{key: key}
	for path, into := range map[string]*string{
		"agent_id": &made.id, "key_id": &made.keyID, "credential": &made.credential,
	} {
		value, _ := s.last.at("data.session." + path)
		*into = textOf(value)
	}
	if s.agents == nil {
		s.agents = map[string]*agent{}
	}
	s.agents[name] = made
	s.set(ts, name, made.id)
	s.set(ts, name+"_key", made.keyID)
	s.set(ts, name+"_credential", made.credential)
}

func (s *script) post(path string, body map[string]string) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return s.expect(&request{method: "POST", target: s.target(path), body: text}, 201, "")
}

// as changes the current caller.
//
//	as NAME|nobody
func (s *script) as(_ *testscript.TestScript, args []string) error {
	if args[0] == "nobody" {
		s.caller = ""
		return nil
	}
	if s.agents[args[0]] == nil {
		return fmt.Errorf("no agent %s", args[0])
	}
	s.caller = args[0]
	return nil
}
