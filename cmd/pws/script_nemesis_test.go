package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

// roundTime is how long faults happen in a round. There is one round, unless PWS_NEMESIS_TIME says
// how long to go on.
const roundTime = 8 * time.Second

// nemesis harms the servers of a group while agents work, by a seed that it prints.
type nemesis struct {
	s       *script
	ts      *testscript.TestScript
	project string
	random  *rand.Rand
	http    http.Client
	// began is the beginning of the round.
	began time.Time
	// agents are two members of the project.
	agents [2]*agent
	mu     struct {
		sync.Mutex
		// addresses are those of the members that are asked.
		addresses map[uint64]string
		// answered are the times of acknowledged writes.
		answered []time.Duration
		history  history
		tasks    []string
		problems []string
	}
	over chan struct{}
}

// nemesis has two agents write and read in a project while members are killed, frozen, and relieved
// of the leadership. Afterwards the history of each file has to be that of one register, each task
// that was created has to be there once, and each claim has to have one winner.
//
//	nemesis AGENT AGENT
func (s *script) nemesis(ts *testscript.TestScript, args []string) error {
	lasts, seed := roundTime, rand.Uint64()>>1
	var err error
	if text := os.Getenv("PWS_NEMESIS_TIME"); text != "" {
		lasts, err = time.ParseDuration(text)
	}
	if text := os.Getenv("PWS_SEED"); text != "" && err == nil {
		seed, err = strconv.ParseUint(text, 10, 64)
	}
	if err != nil || len(args) != 2 || s.members == nil {
		return errors.Join(err, errors.New("usage: nemesis AGENT AGENT, in a group"))
	}
	for end := time.Now().Add(lasts); err == nil && time.Now().Before(end); seed++ {
		n := &nemesis{
			s: s, ts: ts, random: rand.New(rand.NewPCG(seed, 1)), began: time.Now(),
			http: http.Client{Timeout: hangMax}, over: make(chan struct{}),
			agents: [2]*agent{s.agents[args[0]], s.agents[args[1]]},
		}
		n.mu.addresses = map[uint64]string{}
		for number, one := range s.members {
			n.mu.addresses[number] = one.running.address
		}
		ts.Logf("PWS_SEED=%d", seed)
		err = n.round(seed, min(lasts, roundTime))
		n.http.CloseIdleConnections()
	}
	return err
}

// round is a round in a project of its own.
func (n *nemesis) round(seed uint64, lasts time.Duration) error {
	random := rand.New(rand.NewPCG(seed, 2))
	made := n.insist(random, 0, "projects", map[string]string{
		"name": "round", "visibility": "PRIVATE",
	})
	var said struct {
		Data struct{ Project struct{ ID string } }
	}
	if err := json.Unmarshal(made.body, &said); err != nil || made.status != 201 {
		return fmt.Errorf("no project: %d %s", made.status, made.body)
	}
	n.project = said.Data.Project.ID
	added := n.insist(random, 0, "projects/"+n.project+"/members", map[string]string{
		"agent": n.agents[1].id, "role": "MAINTAINER",
	})
	if added.status != 201 {
		return fmt.Errorf("no member: %d %s", added.status, added.body)
	}
	var working sync.WaitGroup
	for worker := range uint64(4) {
		working.Go(func() { n.useFiles(rand.New(rand.NewPCG(seed, 10+worker))) })
	}
	for worker := range uint64(2) {
		working.Go(func() { n.useTasks(worker, rand.New(rand.NewPCG(seed, 20+worker))) })
	}
	err := n.harm(lasts)
	close(n.over)
	working.Wait()
	if err == nil {
		err = n.check()
	}
	return err
}

// hangMax is how long a request may take.
const hangMax = 20 * time.Second

// now is the time since the beginning.
func (n *nemesis) now() time.Duration { return time.Since(n.began) }

func (n *nemesis) problem(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.problems = append(n.mu.problems, fmt.Sprintf(format, args...))
}

// harm does one harm after the other, and has the group heal in between.
func (n *nemesis) harm(lasts time.Duration) error {
	for n.now() < lasts {
		if err := n.pause(n.between(300, 1000)); err != nil {
			return err
		}
		leader, err := n.s.leader()
		if err != nil {
			return err
		}
		victim := n.s.members[leader]
		if n.random.IntN(3) == 0 {
			victim, err = n.s.findMember("follower")
		}
		if err != nil {
			return err
		}
		what, begun := n.random.IntN(3), n.now()
		name := []string{"kill", "freeze", "transfer"}[what]
		switch what {
		case 0:
			err = n.kill(victim)
		case 1:
			err = n.freeze(victim)
		case 2:
			// Where the leader changes meanwhile, that is a transfer, too.
			_ = n.s.ask(victim, "transfer").Run()
		}
		if err != nil {
			return err
		}
		n.ts.Logf("%v: %s of member %d, leader %d: writes again after %v", begun, name,
			victim.number, leader, n.outage(begun))
	}
	return nil
}

// between is a random time, in milliseconds.
func (n *nemesis) between(least, most int) time.Duration {
	return time.Duration(least+n.random.IntN(most-least)) * time.Millisecond
}

func (n *nemesis) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(n.mu.problems) > 0 {
		return errors.New(n.mu.problems[0])
	}
	return nil
}

func (n *nemesis) kill(m *groupMember) error {
	n.mu.Lock()
	delete(n.mu.addresses, m.number)
	n.mu.Unlock()
	m.running.kill()
	if err := n.pause(n.between(200, 2000)); err != nil {
		return err
	}
	if err := n.s.startMember(n.ts, m); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.mu.addresses[m.number] = m.running.address
	return nil
}

func (n *nemesis) freeze(m *groupMember) error {
	if err := m.running.command.Process.Signal(syscall.SIGSTOP); err != nil {
		return err
	}
	err := n.pause(n.between(500, 3000))
	return errors.Join(err, m.running.command.Process.Signal(syscall.SIGCONT))
}

// outage is the longest time without an acknowledged write since a harm began.
func (n *nemesis) outage(begun time.Duration) (longest time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before := begun
	for _, at := range n.mu.answered {
		if at > begun {
			longest, before = max(longest, at-before), at
		}
	}
	return max(longest, n.now()-before)
}

// ask is a command of an operator to a member.
func (s *script) ask(m *groupMember, command string, args ...string) *exec.Cmd {
	ask := exec.Command(m.running.command.Path)
	ask.Args = append([]string{"pws", "cluster", command, "--data", m.data()}, args...)
	ask.Dir = s.work
	return ask
}

// answered is an answer to a request of a nemesis. Status is 0 where there was none.
type answered struct {
	status int
	etag   string
	body   []byte
}

func (a *answered) fault() (code, reason string) {
	var said struct {
		Error struct {
			Code    string
			Details struct{ Reason string }
		}
	}
	_ = json.Unmarshal(a.body, &said)
	return said.Error.Code, said.Error.Details.Reason
}

// refused reports whether a write surely has no effect, and unknown whether it may have one.
func (a *answered) refused() bool {
	code, reason := a.fault()
	return code == "SHUTTING_DOWN" || code == "RATE_LIMITED" ||
		code == "STORAGE_UNAVAILABLE" && reason == "NOT_LEADING"
}

func (a *answered) unknown() bool {
	_, reason := a.fault()
	return a.status == 0 || reason == "OUTCOME_UNKNOWN"
}

// send sends a request to a member.
func (n *nemesis) send(
	random *rand.Rand, agent int, method, path string, body any, headers ...string,
) (got answered) {
	n.mu.Lock()
	numbers := make([]uint64, 0, len(n.mu.addresses))
	for number := range n.mu.addresses {
		numbers = append(numbers, number)
	}
	slices.Sort(numbers)
	address := n.mu.addresses[numbers[random.IntN(len(numbers))]]
	n.mu.Unlock()
	text, err := json.Marshal(body)
	if err != nil {
		panic(err)
	}
	if body == nil {
		text = nil
	}
	request, err := http.NewRequest(method, "http://"+address+"/api/v1/"+path, bytes.NewReader(text))
	if err != nil {
		panic(err)
	}
	request.Header.Set("Authorization", "Bearer "+n.agents[agent].credential)
	request.Header.Set("Content-Type", "application/json")
	for at := 0; at < len(headers); at += 2 {
		request.Header.Set(headers[at], headers[at+1])
	}
	begun := time.Now()
	answer, err := n.http.Do(request)
	if err == nil {
		got.status, got.etag = answer.StatusCode, answer.Header.Get("ETag")
		if got.body, err = copyOf(answer.Body); err != nil {
			got = answered{}
		}
		_ = answer.Body.Close()
	}
	if took := time.Since(begun); took > hangMax*3/4 {
		n.problem("%s %s took %v: %d %v", method, path, took, got.status, err)
	}
	if method != http.MethodGet && (got.status == 200 || got.status == 201) {
		n.mu.Lock()
		n.mu.answered = append(n.mu.answered, n.now())
		n.mu.Unlock()
	}
	return got
}
