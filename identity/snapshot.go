package identity

import (
	"bytes"
	"fmt"
	"unicode/utf8"

	"pws/internal/id"
)

// sectionVersion is the first field of both kinds of section.
const sectionVersion = 1

// agentSection is the saved form of an agent.
type agentSection struct {
	Version uint8 `cbor:"1,keyasint"`
	AgentRecord
	Keys     []Key          `cbor:"8,keyasint,omitempty"`
	Sessions []Session      `cbor:"9,keyasint,omitempty"`
	Results  []StoredResult `cbor:"10,keyasint,omitempty"`
	Profile  *storedProfile `cbor:"11,keyasint,omitempty"`
	Marks    *Marks         `cbor:"12,keyasint,omitempty"`
}

// challengesSection is the saved form of all challenges.
type challengesSection struct {
	Version    uint8       `cbor:"1,keyasint"`
	Challenges []Challenge `cbor:"2,keyasint,omitempty"`
}

// encodeSection cannot fail: CBOR can encode every value in a section.
func encodeSection(section any) []byte {
	var buffer bytes.Buffer
	if err := encoder.MarshalToBuffer(section, &buffer); err != nil {
		panic(fmt.Sprintf("identity: section: %v", err))
	}
	return buffer.Bytes()
}

// decodeSection decodes a section and rejects every encoding except the one that encodeSection
// writes.
func decodeSection(data []byte, section any) error {
	if err := decoder.Unmarshal(data, section); err != nil {
		return fmt.Errorf("%w: section: %w", ErrCorrupt, err)
	}
	if !bytes.Equal(encodeSection(section), data) {
		return corrupt("a section that is not canonical")
	}
	return nil
}

func corrupt(format string, values ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, values...))
}

// EncodeAgent returns the snapshot section of an agent: the record, its keys, sessions and
// stored results. It returns nil if the agent does not exist.
func (s *State) EncodeAgent(agentID id.ID) []byte {
	agent, ok := s.agents.get(agentID)
	if !ok {
		return nil
	}
	return encodeSection(&agentSection{
		Version: sectionVersion, AgentRecord: agent.AgentRecord,
		Keys: values(agent.keys), Sessions: values(agent.sessions), Results: values(agent.results),
		Profile: agent.profile.stored(), Marks: agent.marks,
	})
}

// values returns copies of the values that the pointers of a list point to.
func values[T any](list []*T) []T {
	copies := make([]T, len(list))
	for i, one := range list {
		copies[i] = *one
	}
	return copies
}

// pointers returns pointers to copies of the values of a list; nil for an empty one.
func pointers[T any](list []T) (copies []*T) {
	for _, one := range list {
		copies = append(copies, &one)
	}
	return copies
}

// RestoreAgent restores an agent from its section into this State, which must not be published.
// On an error, which is ErrCorrupt, the State is unchanged.
func (s *State) RestoreAgent(data []byte) error {
	var section agentSection
	if err := decodeSection(data, &section); err != nil {
		return err
	}
	agent := section.agent()
	if err := s.checkRestored(section.Version, agent); err != nil {
		return err
	}
	s.handles.Set(foldHandle(agent.Handle), agent.ID)
	s.putLook(agent.Handle)
	for _, key := range agent.keys {
		s.keyOwners.set(key.ID, agent.ID)
		s.publicKeys.Set(string(key.PublicKey[:]), keyRef{agent: agent.ID, key: key.ID})
	}
	for _, session := range agent.sessions {
		s.putSession(session)
	}
	s.putAgent(agent)
	return nil
}

func (a *agentSection) agent() *Agent {
	agent := &Agent{
		AgentRecord: a.AgentRecord, keys: pointers(a.Keys), sessions: pointers(a.Sessions),
		results: pointers(a.Results), profile: a.Profile.profile(), marks: a.Marks,
	}
	for _, key := range agent.keys {
		key.AgentID = a.ID
	}
	for _, session := range agent.sessions {
		session.AgentID = a.ID
	}
	return agent
}

// checkRestored rejects an agent that the rules do not allow.
func (s *State) checkRestored(version uint8, agent *Agent) error {
	name := agent.ID.Format(id.Agent)
	if version != sectionVersion {
		return corrupt("section of version %d", version)
	}
	if _, twice := s.agents.get(agent.ID); twice || agent.ID.IsZero() {
		return corrupt("agent %s is zero or there twice", name)
	}
	if problem := handleProblem(agent.Handle); problem != "" {
		return corrupt("agent %s: handle %q %s", name, agent.Handle, problem)
	}
	if _, taken := s.handles.Get(foldHandle(agent.Handle)); taken {
		return corrupt("agent %s: handle %q is another's", name, agent.Handle)
	}
	publicKeys := make(map[[32]byte]bool, len(agent.keys))
	keys := make(map[id.ID]bool, len(agent.keys))
	for _, key := range agent.keys {
		_, known := s.publicKeys.Get(string(key.PublicKey[:]))
		_, owned := s.keyOwners.get(key.ID)
		if known || owned || publicKeys[key.PublicKey] || keys[key.ID] {
			return corrupt("agent %s: key %s is there twice", name, key.ID.Format(id.Key))
		}
		publicKeys[key.PublicKey], keys[key.ID] = true, true
	}
	hashes := make(map[[32]byte]bool, len(agent.sessions))
	sessions := make(map[id.ID]bool, len(agent.sessions))
	for _, session := range agent.sessions {
		_, known := s.sessions.get(&session.Hash)
		_, owned := s.sessionIDs.get(session.ID)
		if known || owned || hashes[session.Hash] || sessions[session.ID] || !keys[session.KeyID] {
			return corrupt("agent %s: session %s is there twice or has no key", name,
				session.ID.Format(id.Session))
		}
		hashes[session.Hash], sessions[session.ID] = true, true
	}
	if !utf8.ValidString(agent.ClientName) || !utf8.ValidString(agent.ClientVersion) {
		return corrupt("agent %s: client is not UTF-8", name)
	}
	if err := agent.checkProfile(); err != nil {
		return err
	}
	if !agent.marks.sound() {
		return corrupt("agent %s: the marks of its inbox cannot be", name)
	}
	return nil
}

// EncodeChallenges returns the snapshot section of all challenges.
func (s *State) EncodeChallenges() []byte {
	section := challengesSection{Version: sectionVersion}
	section.Challenges = make([]Challenge, 0, s.challenges.len())
	s.challenges.scan(id.ID{}, func(_ id.ID, challenge *Challenge) bool {
		section.Challenges = append(section.Challenges, *challenge)
		return true
	})
	return encodeSection(&section)
}

// RestoreChallenges restores the challenges from their section into this State, AFTER the
// agents; the State must hold no challenge yet. On an error, which is ErrCorrupt, the State is
// unchanged.
func (s *State) RestoreChallenges(data []byte) error {
	var section challengesSection
	if err := decodeSection(data, &section); err != nil {
		return err
	}
	if section.Version != sectionVersion || s.challenges.len() > 0 {
		return corrupt("challenges of version %d into %d", section.Version, s.challenges.len())
	}
	challenges, last := pointers(section.Challenges), id.ID{}
	for _, challenge := range challenges {
		if err := s.checkChallenge(challenge, last); err != nil {
			return err
		}
		last = challenge.ID
	}
	for _, challenge := range challenges {
		s.challenges.set(challenge.ID, challenge)
	}
	return nil
}

// checkChallenge returns ErrCorrupt for a challenge that cannot follow the last one in this State.
func (s *State) checkChallenge(challenge *Challenge, last id.ID) error {
	name := challenge.ID.Format(id.Challenge)
	if challenge.ID.Compare(last) <= 0 {
		return corrupt("challenge %s is out of order", name)
	}
	agent, hasAgent := s.agents.get(challenge.AgentID)
	hasKey := false
	if hasAgent {
		_, hasKey = agent.Key(challenge.KeyID)
	}
	fits := false
	switch challenge.Purpose {
	case PurposeRegister:
		fits = challenge.AgentID.IsZero() && challenge.KeyID.IsZero()
	case PurposeSession, PurposeWeb:
		fits = hasAgent && hasKey
	case PurposeAddKey:
		fits = hasAgent && challenge.KeyID.IsZero()
	}
	if !fits {
		return corrupt("challenge %s: agent and key do not fit its purpose", name)
	}
	if done := challenge.Completion; done != nil {
		owner, ok := s.keyOwners.get(done.KeyID)
		if !ok || owner != done.AgentID {
			return corrupt("challenge %s: completed with an unknown key", name)
		}
	}
	return nil
}
