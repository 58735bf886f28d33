package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"pws/api"
	"pws/journal/replica"
)

// groupMember is a server of a group. Its data is in the folder data-NUMBER of the script, its keys
// are in keys/member-NUMBER, and its log is the file member-NUMBER.log.
type groupMember struct {
	number uint64
	// peers is the flag --cluster with which it is started.
	peers string
	// running is nil while it does not run.
	running *server
	frozen  bool
}

func groupCommands() map[string]command {
	return map[string]command{
		"group":   wrap((*script).group),
		"member":  wrap((*script).member),
		"alone":   wrap((*script).alone),
		"led":     wrap((*script).led),
		"await":   wrap((*script).await),
		"ungroup": wrap((*script).ungroup),
	}
}

// group starts the servers of a new group. The requests that follow go to the first.
//
//	group NUMBER
func (s *script) group(ts *testscript.TestScript, args []string) error {
	if len(args) != 1 || s.server != nil {
		return errors.New("usage: group NUMBER, without a server")
	}
	count, err := strconv.ParseUint(args[0], 10, 8)
	if err != nil {
		return err
	}
	s.members = map[uint64]*groupMember{}
	var peers []string
	for number := range count {
		address, err := s.reserveAddress()
		if err != nil {
			return err
		}
		peers = append(peers, fmt.Sprintf("%d=%s", number+1, address))
	}
	if err := ts.Exec("pws", "cluster", "init", "--dir", "keys"); err != nil {
		return err
	}
	for number := range count {
		one := &groupMember{number: number + 1, peers: strings.Join(peers, ";")}
		s.members[one.number] = one
		if err := s.startMember(ts, one); err != nil {
			return err
		}
	}
	if _, err := s.leader(); err != nil {
		return err
	}
	s.address(ts, s.members[1].running)
	port, err := s.reserveAddress()
	s.set(ts, "port", strings.TrimPrefix(port, "127.0.0.1:"))
	return err
}

// ungroup kills the members that run. The script goes on without a group.
//
//	ungroup
func (s *script) ungroup(*testscript.TestScript, []string) error {
	s.client.idle()
	s.killMembers()
	s.server, s.members = nil, nil
	return nil
}

func (m *groupMember) data() string { return fmt.Sprintf("data-%d", m.number) }

func (s *script) startMember(ts *testscript.TestScript, m *groupMember) (err error) {
	m.running, err = s.launch(ts, fmt.Sprintf("member-%d.log", m.number), []string{
		"--data", m.data(), "--rate-limits", "off", "--cluster", m.peers,
		"--cluster-id", fmt.Sprint(m.number), "--cluster-keys", fmt.Sprintf("keys/member-%d", m.number),
	})
	return err
}

// member has the requests that follow go to a member, or does something with it. leader and
// follower are members of the moment; other is one that is not frozen, without asking who leads.
// add makes a member of that number, as operators do, and join one that was not added. ends waits
// until a member has ended by itself. The variables dead, frozen and stopped are the numbers of the
// last such members.
//
//	member NUMBER|leader|follower|other [kill|freeze|thaw|stop|start|add|join|ends]
func (s *script) member(ts *testscript.TestScript, args []string) error {
	if len(args) == 0 || len(args) > 2 || s.members == nil {
		return errors.New("usage: member NUMBER|leader|follower [ACTION]")
	}
	if len(args) == 2 && (args[1] == "add" || args[1] == "join") {
		return s.addMember(ts, args[0], args[1] == "add")
	}
	m, err := s.findMember(args[0])
	if err != nil {
		return err
	}
	if len(args) == 1 {
		s.address(ts, m.running)
		return nil
	}
	s.client.idle()
	number := fmt.Sprint(m.number)
	switch args[1] {
	case "kill":
		s.set(ts, "dead", number)
		m.running.kill()
		m.running = nil
	case "freeze":
		s.set(ts, "frozen", number)
		m.frozen = true
		return freeze(m.running.command.Process)
	case "thaw":
		m.frozen = false
		return thaw(m.running.command.Process)
	case "stop":
		s.set(ts, "stopped", number)
		if err := m.running.command.Process.Signal(syscall.SIGTERM); err != nil {
			return err
		}
		return m.ended()
	case "ends":
		return m.ended()
	case "start":
		return s.startMember(ts, m)
	default:
		return fmt.Errorf("unknown action %q", args[1])
	}
	return nil
}

// alone kills all members but the leader, and sends it a write, whose outcome is unknown then. A
// leader that has noticed the loss BEFORE it gets the write refuses it, which a busy machine brings
// about: the others are started again, and it is tried once more.
//
//	alone METHOD TARGET BODY
func (s *script) alone(ts *testscript.TestScript, args []string) error {
	const attempts = 20
	for range attempts {
		leader, err := s.leader()
		if err != nil {
			return err
		}
		s.address(ts, s.members[leader].running)
		s.client.idle()
		for number, m := range s.members {
			if number != leader {
				m.running.kill()
				m.running = nil
			}
		}
		expected := append(slices.Clone(args), "503", "STORAGE_UNAVAILABLE")
		if err := s.api(ts, expected); err != nil {
			return err
		}
		if reason, err := s.value("error.details.reason"); err != nil ||
			textOf(reason) == api.ReasonOutcomeUnknown {
			return err
		}
		for number, m := range s.members {
			if number == leader {
				continue
			}
			if err := s.startMember(ts, m); err != nil {
				return err
			}
		}
	}
	return errors.New("the leader has always noticed that it is alone")
}

// led has a member lead, runs the program, and expects an exit code and a line of its output. A
// member that stalls costs the leader its reign, on a busy machine: if another outcome comes when
// the reign is over, or because a transfer took too long, all is tried once more.
//
//	led NUMBER CODE PATTERN ARG...
func (s *script) led(ts *testscript.TestScript, args []string) error {
	if len(args) < 4 {
		return errors.New("usage: led NUMBER CODE PATTERN ARG...")
	}
	number, err := strconv.ParseUint(args[0], 10, 64)
	if err != nil {
		return err
	}
	pattern, err := regexp.Compile("(?m)" + args[2])
	if err != nil {
		return err
	}
	late := strings.TrimPrefix(replica.ErrNotTransferred.Error(), "replica: ")
	for end := time.Now().Add(patience); ; {
		leader, reign, err := s.reign()
		if err != nil {
			return err
		}
		if leader != number && time.Now().Before(end) {
			// It may be refused in an election. Whether the member leads now is seen in the next round.
			_ = ts.Exec("pws", "cluster", "transfer", "--data", s.members[leader].data(), args[0])
			continue
		}
		err = s.exits(ts, append([]string{args[1]}, args[3:]...))
		said := ts.ReadFile("stdout") + ts.ReadFile("stderr")
		if err == nil && pattern.MatchString(said) {
			return nil
		}
		if err == nil {
			err = mismatchf("no line like %s: %s", args[2], said)
		}
		after, later, wrong := s.reign()
		if wrong != nil {
			return wrong
		}
		same := after == leader && later == reign && !strings.Contains(said, late)
		if same || !time.Now().Before(end) {
			return err
		}
	}
}

// ended waits for the end of a member, which is a success.
func (m *groupMember) ended() error {
	timer := time.AfterFunc(patience, m.running.killNow)
	defer timer.Stop()
	err := m.running.command.Wait()
	m.running = nil
	if err != nil {
		return fmt.Errorf("member %d ended: %v", m.number, err)
	}
	return nil
}

func (s *script) findMember(name string) (*groupMember, error) {
	if name == "other" {
		for _, one := range s.members {
			if one.running != nil && !one.frozen {
				return one, nil
			}
		}
		return nil, errors.New("no other member runs")
	}
	if name != "leader" && name != "follower" {
		number, err := strconv.ParseUint(s.expand(name), 10, 64)
		if err == nil && s.members[number] == nil {
			err = fmt.Errorf("there is no member %d", number)
		}
		return s.members[number], err
	}
	leader, err := s.leader()
	if err != nil || name == "leader" {
		return s.members[leader], err
	}
	for number, one := range s.members {
		if number != leader && one.running != nil {
			return one, nil
		}
	}
	return nil, errors.New("no follower runs")
}

// leader waits until a member says that it leads, and returns its number.
func (s *script) leader() (uint64, error) {
	number, _, err := s.reign()
	return number, err
}

// reign is leader, and the reign of that member.
func (s *script) reign() (number, reign uint64, err error) {
	said := ""
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		for _, m := range s.members {
			if m.running == nil || m.frozen {
				continue
			}
			ask := exec.Command(m.running.command.Path)
			ask.Args = []string{"pws", "cluster", "status", "--json", "--data", m.data()}
			ask.Dir = s.work
			out, err := ask.Output()
			said = fmt.Sprintf("%s %v", out, err)
			var status clusterStatus
			if err != nil || json.Unmarshal(out, &status) != nil {
				continue
			}
			for _, one := range status.Members {
				if led := s.members[one.Number]; one.Reign != 0 && led != nil && led.running != nil {
					return one.Number, one.Reign, nil
				}
			}
		}
	}
	return 0, 0, fmt.Errorf("no member leads: %s", said)
}

// addMember adds a member with the commands of an operator, unless it only joins, and starts it.
func (s *script) addMember(ts *testscript.TestScript, name string, add bool) error {
	number, err := strconv.ParseUint(name, 10, 64)
	if err != nil {
		return err
	}
	address, err := s.reserveAddress()
	if err != nil {
		return err
	}
	from, err := s.findMember("follower")
	if err != nil {
		return err
	}
	fromAddress := ""
	for one := range strings.SplitSeq(from.peers, ";") {
		if strings.HasPrefix(one, fmt.Sprint(from.number)+"=") {
			fromAddress = one
		}
	}
	m := &groupMember{number: number, peers: fmt.Sprintf("%d=%s", number, address)}
	for _, args := range [][]string{
		{"key", "--dir", "keys", name},
		{"add", "--data", from.data(), m.peers},
		{
			"join", "--data", m.data(), "--from", fromAddress, "--cluster-id", name,
			"--cluster-keys", filepath.Join("keys", "member-"+name),
		},
	} {
		if args[0] == "add" && !add {
			continue
		}
		if err := ts.Exec("pws", append([]string{"cluster"}, args...)...); err != nil {
			return err
		}
	}
	s.members[number] = m
	return s.startMember(ts, m)
}

// await waits until a file has a line that matches.
//
//	await PATTERN FILE
func (s *script) await(_ *testscript.TestScript, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: await PATTERN FILE")
	}
	pattern, err := regexp.Compile(args[0])
	if err != nil {
		return err
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-tick.C {
		text, err := os.ReadFile(filepath.Join(s.work, args[1]))
		if err != nil || pattern.Match(text) {
			return err
		}
	}
	return fmt.Errorf("%s has no line like %s", args[1], args[0])
}

func (s *script) killMembers() {
	for _, m := range s.members {
		if m.running != nil {
			m.running.kill()
		}
	}
}
