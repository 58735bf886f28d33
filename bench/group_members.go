package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"pws/bench/child"
	"pws/bench/client"
)

// members are servers that are one service.
type members struct {
	config *Config
	// dir has the keys and the data of all members. host is their loopback address, which no other
	// program uses, so that a connection that begins at 127.0.0.1 takes none of their ports while a
	// member is down.
	dir, host string
	all       []*member
	// credential is that of an agent.
	credential string
}

// The ports of members, less their numbers. No other group has the same address. Connections
// between members begin at that address too, with ports of 32768 and more.
const (
	memberPort = 18000
	peerPort   = 19000
)

// member is one server of a group.
type member struct {
	*server
	number uint64
	// peer is its address for the others.
	peer string
}

// groupStatus is the part of the answer of pws cluster status that is used.
type groupStatus struct {
	Members []memberStatus `json:"members"`
}

type memberStatus struct {
	Number   uint64 `json:"number"`
	Voter    bool   `json:"voter"`
	Fault    string `json:"fault"`
	Leader   uint64 `json:"leader"`
	Term     uint64 `json:"term"`
	Reign    uint64 `json:"reign"`
	Position uint64 `json:"position"`
}

// startGroup starts three members with empty folders and registers an agent.
func startGroup(ctx context.Context, config *Config) (*members, error) {
	g := &members{
		config: config, host: fmt.Sprintf("127.%d.%d.1", 2+rand.IntN(250), rand.IntN(256)),
	}
	var err error
	if g.dir, err = os.MkdirTemp(config.Dir, "pws-bench-group-"); err != nil {
		return nil, err
	}
	if err = g.begin(ctx); err != nil {
		g.close()
		return nil, err
	}
	return g, nil
}

func (g *members) begin(ctx context.Context) error {
	if err := g.cluster(ctx, "init", "--dir", g.path("keys")); err != nil {
		return err
	}
	var peers []string
	for number := range uint64(groupMembers) {
		m := g.newMember(number + 1)
		peers = append(peers, m.peer)
		g.all = append(g.all, m)
	}
	for _, m := range g.all {
		m.arguments = append(m.arguments, "--cluster", strings.Join(peers, ";"))
	}
	if err := g.each((*member).start, ctx); err != nil {
		return err
	}
	leader, err := g.leader(ctx)
	if err != nil {
		return err
	}
	if err := leader.api.Register(newHandle()); err != nil {
		return err
	}
	g.credential = leader.api.Credential
	for _, m := range g.all {
		m.api.Credential = g.credential
	}
	return nil
}

// newMember is a member that does not run yet. It lacks the flag --cluster.
func (g *members) newMember(number uint64) *member {
	host := net.JoinHostPort(g.host, fmt.Sprint(memberPort+number))
	s := &server{
		config: g.config, dataDir: g.path(fmt.Sprint("data-", number)), listen: host, host: host,
		api: &client.API{Host: host, Credential: g.credential},
		arguments: []string{
			"--cluster-id", fmt.Sprint(number),
			"--cluster-keys", g.path(fmt.Sprint("keys/member-", number)),
		},
	}
	peer := net.JoinHostPort(g.host, fmt.Sprint(peerPort+number))
	return &member{server: s, number: number, peer: fmt.Sprintf("%d=%s", number, peer)}
}

func (m *member) start(ctx context.Context) error { return m.server.start(ctx) }

func (g *members) path(name string) string { return filepath.Join(g.dir, filepath.FromSlash(name)) }

// each does something to all members at the same time.
func (g *members) each(do func(*member, context.Context) error, ctx context.Context) error {
	failures := make([]error, len(g.all))
	var doing sync.WaitGroup
	for i, m := range g.all {
		doing.Go(func() {
			if err := do(m, ctx); err != nil {
				failures[i] = fmt.Errorf("member %d: %w", m.number, err)
			}
		})
	}
	doing.Wait()
	return errors.Join(failures...)
}

// close kills the members and removes their folders.
func (g *members) close() {
	for _, m := range g.all {
		m.close()
	}
	// A folder that cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(g.dir)
}

// run runs the program to its end.
func (g *members) run(ctx context.Context, args ...string) ([]byte, error) {
	out, err := child.Output(ctx, child.Program{Path: g.config.Program, Args: args})
	if err != nil {
		err = fmt.Errorf("pws %s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return out, err
}

// cluster runs pws cluster to its end.
func (g *members) cluster(ctx context.Context, args ...string) error {
	_, err := g.run(ctx, append([]string{"cluster"}, args...)...)
	return err
}

// groupPatience bounds how long members may take to agree or to catch up.
const groupPatience = 5 * time.Minute

// askEvery is the pause between two questions to another program.
const askEvery = 50 * time.Millisecond

// awaiting asks until there is no error.
func awaiting(ctx context.Context, what string, ask func() error) error {
	ctx, cancel := context.WithTimeout(ctx, groupPatience)
	defer cancel()
	ticker := time.NewTicker(askEvery)
	defer ticker.Stop()
	for {
		err := ask()
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return fmt.Errorf("%s: %w: %w", what, ctx.Err(), err)
		}
	}
}

// statusPatience bounds one question.
const statusPatience = 20 * time.Second

// status is what a member knows of all members.
func (g *members) status(ctx context.Context, m *member) (*groupStatus, error) {
	select {
	case <-m.process.Done():
		return nil, fmt.Errorf("member %d does not run", m.number)
	default:
	}
	ctx, cancel := context.WithTimeout(ctx, statusPatience)
	defer cancel()
	out, err := g.run(ctx, "cluster", "status", "--json", "--data", m.dataDir)
	if err != nil {
		return nil, err
	}
	status := new(groupStatus)
	return status, json.Unmarshal(out, status)
}

// leads is the member that says that it leads in the newest term, 0 if there is none.
func (s *groupStatus) leads() (number, term uint64) {
	for _, one := range s.Members {
		if one.Reign != 0 && one.Term > term {
			number, term = one.Number, one.Term
		}
	}
	return number, term
}

// leader waits until a member leads.
func (g *members) leader(ctx context.Context) (found *member, err error) {
	found, _, err = g.reign(ctx)
	return found, err
}

// reign waits until a member leads, and returns its term with it.
func (g *members) reign(ctx context.Context) (found *member, term uint64, err error) {
	err = awaiting(ctx, "no member leads", func() error {
		status, err := g.status(ctx, g.all[0])
		if err != nil {
			return err
		}
		var number uint64
		number, term = status.leads()
		for _, m := range g.all {
			if m.number == number {
				found = m
				return nil
			}
		}
		return fmt.Errorf("%+v", status)
	})
	return found, term, err
}

// inOrder returns the members, the leader first.
func (g *members) inOrder(ctx context.Context) ([]*member, error) {
	leader, err := g.leader(ctx)
	if err != nil {
		return nil, err
	}
	ordered := []*member{leader}
	for _, m := range g.all {
		if m != leader {
			ordered = append(ordered, m)
		}
	}
	return ordered, nil
}

// lead has a member lead, if another one does.
func (g *members) lead(ctx context.Context, m *member) error {
	return awaiting(ctx, fmt.Sprintf("member %d does not lead", m.number), func() error {
		leader, err := g.leader(ctx)
		if err != nil || leader == m {
			return err
		}
		err = g.cluster(ctx, "transfer", "--data", leader.dataDir, strconv.FormatUint(m.number, 10))
		return errors.Join(fmt.Errorf("member %d leads", leader.number), err)
	})
}

// settled waits until all members serve, vote, follow one leader, and have all that any of them has
// at the beginning: others may write all the time.
func (g *members) settled(ctx context.Context) error {
	newest := uint64(0)
	return awaiting(ctx, "the members have not caught up", func() error {
		status, err := g.status(ctx, g.all[0])
		if err != nil {
			return err
		}
		if newest == 0 {
			for _, one := range status.Members {
				newest = max(newest, one.Position)
			}
		}
		if err := status.agree(len(g.all), newest); err != nil {
			return err
		}
		for _, m := range g.all {
			answer, err := m.adminPage(ctx, "/readyz")
			if err != nil {
				return err
			}
			if answer.Status != 200 {
				return fmt.Errorf("member %d: /readyz answers %d", m.number, answer.Status)
			}
		}
		return nil
	})
}

// agree says why the members are not one group of so many voters that all have a position.
func (s *groupStatus) agree(n int, position uint64) error {
	if len(s.Members) != n {
		return fmt.Errorf("%d members, not %d", len(s.Members), n)
	}
	leader, term := s.leads()
	for _, one := range s.Members {
		switch {
		case one.Fault != "":
			return fmt.Errorf("member %d: %s", one.Number, one.Fault)
		case !one.Voter || leader == 0 || one.Leader != leader || one.Term != term:
			return fmt.Errorf("the members differ: %+v", s.Members)
		case one.Position < position:
			return fmt.Errorf("member %d has %d of %d entries", one.Number, one.Position, position)
		}
	}
	return nil
}

// hosts are the addresses of all members.
func (g *members) hosts() (hosts []string) {
	for _, m := range g.all {
		hosts = append(hosts, m.host)
	}
	return hosts
}
