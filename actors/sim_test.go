package actors

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"pws/api"
	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// simulation gives random commands to one engine, and starts it again now and then.
type simulation struct {
	t        *testing.T
	e        *Engine
	config   Config
	random   *rand.Rand
	agents   []*simulated
	projects []id.ID
	// results are the outcomes of Idempotency-Keys that were acknowledged.
	results map[string]keyed
	steps   int
	// chains follow what happens, and truth is what did.
	chains []*chain
	truth  truth
	// durable is how much of each file of the feed no crash takes away.
	durable map[string]int64
	// copies counts projects that were made of bundles.
	copies int
}

// simulated is an agent with what it needs to prove itself.
type simulated struct {
	key     ed25519.PrivateKey
	keyID   id.ID
	session *identity.Session
}

type keyed struct {
	request string
	result  work.Result
}

// seedOf is the seed of a random test: a new one, or that of PWS_SEED.
func seedOf(t *testing.T) uint64 {
	seed := rand.Uint64()
	if text := os.Getenv("PWS_SEED"); text != "" {
		seed, _ = strconv.ParseUint(text, 10, 64)
	}
	t.Logf("PWS_SEED=%d", seed)
	return seed
}

func TestSimulation(t *testing.T) {
	seed := seedOf(t)
	s := &simulation{
		t: t, config: quiet(filepath.Join(t.TempDir(), "data")), results: map[string]keyed{},
		random: rand.New(rand.NewPCG(seed, 0)),
		truth:  truth{ids: map[string]bool{}, acknowledged: map[id.ID]bool{}},
	}
	s.e = start(t, s.config)
	s.addChain(id.ID{}, id.ID{})
	s.register()
	for range 1200 {
		s.step()
		s.followSome()
	}
	s.checkReach()
	s.restart()
	s.checkChains()
	s.checkWholeLog()
}

func (s *simulation) pick(n int) int { return s.random.IntN(n) }

func (s *simulation) step() {
	s.steps++
	switch kind := s.pick(100); {
	case kind < 3 && len(s.agents) < 6:
		s.register()
	case kind < 12:
		s.identify()
	case kind < 15 && len(s.projects) < 7+s.steps/150 || len(s.projects) == 0:
		s.create()
	case kind < 60:
		s.work("")
	case kind < 85:
		s.work(fmt.Sprint("key ", s.pick(40)))
	case kind < 92:
		s.burst()
	case kind < 94:
		saveAll(s.t, s.e)
		s.noteFeed()
	case kind < 97:
		s.e.sweep(s.e.Advance([]int64{1000, leaseMillis / 2}[s.pick(2)]))
		s.e.prune()
	case kind == 98:
		s.crash()
	case kind == 99:
		s.restart()
	}
}

// tolerate takes refusals of the rules; anything else ends the test.
func (s *simulation) tolerate(err error) {
	s.t.Helper()
	if fault.CodeOf(err) == fault.Internal {
		s.t.Fatalf("step %d: %v", s.steps, err)
	}
}

func (s *simulation) create() {
	agent := s.agents[s.pick(len(s.agents))].session.AgentID
	var project id.ID
	if len(s.projects) > 3 && s.pick(2) == 0 {
		made, ok := s.copyOf(s.projects[s.pick(len(s.projects))], agent)
		if project = made; !ok {
			return
		}
	} else if len(s.projects)%3 == 1 {
		project = s.createCommunity(agent)
	} else {
		visibility := work.Visibility(1 + s.pick(3))
		project = createProject(s.t, s.e, agent, visibility)
	}
	s.projects = append(s.projects, project)
	if len(s.projects)%2 == 0 {
		agent = s.agents[s.pick(len(s.agents))].session.AgentID
		s.addChain(agent, project)
		s.addChain(id.ID{}, project)
	}
}

// work gives a random command to a project; under a key, its repeat must not be taken for another
// one.
func (s *simulation) work(key string) {
	project := s.projects[s.pick(len(s.projects))]
	agent := s.agents[s.pick(len(s.agents))].session.AgentID
	if s.pick(4) > 0 {
		agent = viewOf(s.t, s.e, project).Owner
	}
	order := api.Order{Project: project, Agent: agent}
	request := fmt.Sprint("request ", s.pick(3))
	if view := viewOf(s.t, s.e, project); s.pick(8) == 0 {
		order.Command, order.Agent = s.talkCommand(view)
	} else if s.pick(3) > 0 {
		order.Command = s.command(view)
	} else {
		order.Command, order.Agent = s.spaceCommand(view)
	}
	if key == "" {
		done, err := s.e.Do(order)
		s.tolerate(err)
		if err == nil {
			s.acknowledge(&done)
		}
		return
	}
	order.Idempotency = keyFor(key, request)
	if s.pick(2) == 0 {
		order.Render = func(p *work.Project, _ work.Result) api.Rendered {
			return api.Rendered{Status: 201, Body: fmt.Append(nil, p.Revision)}
		}
	}
	done, err := s.e.Do(order)
	s.tolerate(err)
	if err == nil {
		s.acknowledge(&done)
	}
	known, used := s.results[project.Format(id.Project)+key]
	switch {
	case err == nil && done.Replayed != used,
		err == nil && used && (known.request != request || known.result != done.Result),
		fault.CodeOf(err) == fault.IdempotencyKeyReused && (!used || known.request == request):
		s.t.Fatalf("step %d: %s of %s: %+v, %v; before %v %+v", s.steps, request, key, done, err,
			used, known)
	case err == nil:
		s.results[project.Format(id.Project)+key] = keyed{request, done.Result}
	}
}

func (s *simulation) command(p *work.Project) work.Command {
	path := fmt.Sprintf("%c/%d", 'a'+s.pick(3), s.pick(4))
	switch {
	case p.End() != nil && s.pick(2) == 0:
		return new(work.RestoreProject)
	case s.pick(40) == 0:
		return &work.DeleteProject{IfMatch: func(*work.Project) error { return nil }}
	}
	switch kind := s.pick(24); {
	case kind >= 12:
		return s.workCommand(p)
	case kind < 5:
		return putOf(path, fmt.Sprint("content ", s.pick(30)))
	case kind < 7:
		return &work.DeleteFile{Path: path}
	case kind < 9:
		content := blobOf(fmt.Sprint("content ", s.pick(60)))
		return &work.PublishChangeset{Base: p.Head().ID, Operations: []work.Operation{
			{Action: work.Create, Path: fmt.Sprint("new/", s.steps), Content: &content,
				ContentType: "text/plain"},
			{Action: work.Rename, Path: path, NewPath: fmt.Sprint("moved/", s.pick(5))},
		}}
	case kind == 9:
		name := fmt.Sprint("name ", s.pick(5))
		return &work.UpdateProject{
			Name: &name, Visibility: work.Visibility(1 + s.pick(3)), Reuse: work.AllowReuse,
		}
	case kind == 10:
		return &work.AddMember{
			Agent: s.agents[s.pick(len(s.agents))].session.AgentID, Role: work.Maintainer,
		}
	}
	return &work.ChangeMember{
		Agent: s.agents[s.pick(len(s.agents))].session.AgentID, Role: work.Role(1 + s.pick(4)),
	}
}

// burst writes to several projects at the same time, while others listen.
func (s *simulation) burst() {
	s.followAll()
	faults := make(chan error, 8)
	for n := range cap(faults) {
		project, step := s.projects[n%len(s.projects)], s.steps
		go func() {
			p, err := s.e.Project(project)
			if err == nil {
				path := fmt.Sprint("burst/", n%4)
				_, err = put(s.e, project, p.Owner, path, fmt.Sprint(step, n))
			}
			faults <- err
		}()
	}
	s.overhear()
	for range cap(faults) {
		s.tolerate(<-faults)
	}
	s.followAll()
}

func (s *simulation) register() {
	handle := fmt.Sprint("agent-", len(s.agents))
	sum := sha256.Sum256([]byte(handle))
	one := &simulated{key: ed25519.NewKeyFromSeed(sum[:])}
	agent := register(s.t, s.e, handle)
	one.keyID = s.e.Identity().Keys(agent)[0].ID
	found, _ := s.e.Identity().Agent(agent)
	one.session = found.Sessions()[0]
	s.agents = append(s.agents, one)
	s.addChain(agent, id.ID{})
}

func (s *simulation) identity(command identity.Command, agent id.ID) (api.IdentityDone, error) {
	order := identityOrderOf(command)
	order.Agent = agent
	if s.pick(3) == 0 {
		key := fmt.Sprint("key ", s.pick(20))
		order.Idempotency = keyFor(key, fmt.Sprintf("%T", command))
		order.Render = func(*identity.State, identity.Result) (int, []byte) {
			return 201, []byte("answer")
		}
	}
	done, err := s.e.DoIdentity(order)
	s.tolerate(err)
	return done, err
}

func (one *simulated) prove(of *identity.Challenge, key ed25519.PrivateKey) identity.Proof {
	text := base64.RawURLEncoding.EncodeToString
	return identity.Proof{
		ChallengeID: of.ID.Format(id.Challenge), Challenge: of.Text(),
		Signature: text(ed25519.Sign(key, []byte(of.SigningPayload()))),
	}
}

// identify lets an agent start or end a session, add or revoke a key, or fail at it.
func (s *simulation) identify() {
	one := s.agents[s.pick(len(s.agents))]
	agent := one.session.AgentID
	caller := identity.Caller{Agent: agent, Session: one.session.ID}
	switch s.pick(6) {
	case 5:
		s.markInbox(caller)
	case 0:
		s.login(one, agent)
	case 1:
		_, _ = s.identity(&identity.EndSession{Caller: caller}, agent)
	case 2:
		sum := sha256.Sum256(fmt.Append(nil, "key ", s.steps))
		fresh := ed25519.NewKeyFromSeed(sum[:])
		done, err := s.identity(&identity.StartKey{
			Caller: caller, Algorithm: identity.Algorithm,
			PublicKey: base64.RawURLEncoding.EncodeToString(fresh.Public().(ed25519.PublicKey)),
		}, agent)
		if granted, ok := done.Result.(*identity.ChallengeGranted); ok && err == nil {
			proof := one.prove(granted.Challenge, fresh)
			_, _ = s.identity(&identity.CompleteKey{Caller: caller, Proof: proof}, agent)
		}
	case 3:
		s.e.SeeSession(one.session)
	case 4:
		keys := s.e.Identity().Keys(agent)
		last := keys[len(keys)-1].ID
		if last != one.keyID {
			_, _ = s.identity(&identity.RevokeKey{
				Caller: caller, KeyID: last.Format(id.Key),
			}, agent)
		}
	}
}

func (s *simulation) login(one *simulated, agent id.ID) {
	done, err := s.identity(&identity.RequestChallenge{
		AgentID: agent.Format(id.Agent), KeyID: one.keyID.Format(id.Key),
	}, agent)
	granted, ok := done.Result.(*identity.ChallengeGranted)
	if err != nil || !ok {
		return
	}
	proof := one.prove(granted.Challenge, one.key)
	if s.pick(3) == 0 {
		_, other, _ := ed25519.GenerateKey(nil)
		proof = one.prove(granted.Challenge, other)
	}
	done, err = s.identity(&identity.StartSession{
		Proof: proof, ClientName: "test", ClientVersion: "1", Secret: s.e.Secret(),
	}, agent)
	if session, ok := done.Result.(*identity.SessionGranted); ok && err == nil {
		one.session = session.Session
	}
}

// restart closes the engine, and expects the next one to publish the same.
func (s *simulation) restart() {
	s.t.Helper()
	for s.e.identity.seeing.Size() > 0 {
		s.e.prune()
	}
	checkFound(s.t, fmt.Sprintf("step %d", s.steps), s.e)
	want := fullState(s.t, s.e)
	for _, c := range s.chains {
		s.hangUp(c)
	}
	stop(s.t, s.e)
	s.e = start(s.t, s.config)
	s.noteFeed()
	checkFound(s.t, fmt.Sprintf("step %d, after a start", s.steps), s.e)
	sameState(s.t, fmt.Sprintf("step %d", s.steps), want, fullState(s.t, s.e))
}

// checkWholeLog replays the log from its first entry, without snapshot and packs.
func (s *simulation) checkWholeLog() {
	config := s.config
	config.Dir = crashCopy(s.t, s.config.Dir)
	for _, folder := range []string{"snapshot", "blobs"} {
		if err := os.RemoveAll(filepath.Join(config.Dir, folder)); err != nil {
			s.t.Fatal(err)
		}
	}
	e := start(s.t, config)
	checkFound(s.t, "the whole log", e)
	sameState(s.t, "the whole log", fullState(s.t, s.e), fullState(s.t, e))
	for _, project := range s.projects {
		p := viewOf(s.t, e, project)
		p.Files("", func(file work.FileInfo) bool {
			if _, _, err := contentOf(e, p, file.Path); err != nil {
				s.t.Error(err)
			}
			return true
		})
	}
}
