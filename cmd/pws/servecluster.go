package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/signal"
	"slices"
	"time"

	"pws/actors"
	"pws/actors/offline"
	"pws/cluster"
	"pws/http"
	"pws/identity"
	"pws/internal/id"
	"pws/journal/replica"
	"pws/work"
)

// ClusterSettings are the flags of a server that is a member of a group.
type ClusterSettings struct {
	Cluster      string `help:"Members that are one service, as 1=HOST:PORT;2=HOST:PORT;3=HOST:PORT."`
	ClusterID    uint64 `name:"cluster-id" help:"Number of this member in --cluster."`
	ClusterKeys  string `name:"cluster-keys" help:"This member's folder, made by pws cluster init."`
	ClusterPlain bool   `name:"cluster-plain" help:"No TLS between members; for loopback addresses."`

	TestLease time.Duration `hidden:"" help:"For tests only: how long a leader trusts that no other leads."`
	TestKeep  int64         `hidden:"" help:"For tests only: bytes of the group's log that stay in memory."`
}

// check returns the members, nil for a single server.
func (c *ClusterSettings) check() ([]replica.Member, error) {
	if c.Cluster == "" {
		if c.ClusterID != 0 || c.ClusterKeys != "" || c.ClusterPlain {
			return nil, errors.New("--cluster-id, --cluster-keys and --cluster-plain need --cluster")
		}
		return nil, nil
	}
	members, err := cluster.ParseMembers(c.Cluster)
	if err != nil {
		return nil, fmt.Errorf("--cluster: %w", err)
	}
	if c.ClusterID == 0 || c.ClusterKeys == "" {
		return nil, errors.New("--cluster needs --cluster-id and --cluster-keys")
	}
	return members, nil
}

// openCluster takes this server's part in its group; nil for a single server. A data directory of a
// member must not be served alone: what is written then is not in the group.
func (c *ServeCommand) openCluster(
	members []replica.Member, own *member, failed chan<- error, log *slog.Logger,
) (*cluster.Membership, error) {
	if members == nil {
		number, err := cluster.NumberOf(c.Data)
		if err == nil && number != 0 {
			err = fmt.Errorf("%s belongs to member %d of a group: start it with --cluster, or take it "+
				"out of the group permanently with pws cluster leave", c.Data, number)
		}
		return nil, err
	}
	if c.TestLease != 0 {
		log.Warn("TEST LEASE: reads may be answered with what is old. Do not use this in production.",
			"for", c.TestLease)
	}
	return cluster.Open(cluster.Settings{
		Data: c.Data, Number: c.ClusterID, Members: members, Keys: c.ClusterKeys,
		Plain: c.ClusterPlain, Log: log, Removed: func() { failed <- errRemoved },
		Cut:     func(leader replica.Member) { failed <- &cutError{leader} },
		Files:   func(to io.Writer) error { return actors.SendCopy(c.Data, to) },
		Damaged: own.damaged, Noted: own.noted, Asked: own.asked, Version: version,
		LeaseFor: c.TestLease, KeepBytes: c.TestKeep,
		Now: func() time.Time { return time.Now().Add(c.TestSkew) },
	})
}

// cutError ends a member that lacks entries which the leader does not have any more.
type cutError struct{ leader replica.Member }

// Error implements error.
func (e *cutError) Error() string {
	return fmt.Sprintf("this member lacks entries that member %d does not have any more",
		e.leader.Number)
}

// onlyCut returns the cutError that an error consists of, nil where something else has failed, too.
func onlyCut(err error) *cutError {
	cut, _ := onlyFault(err).(*cutError)
	return cut
}

// onlyFault returns the one error that an error is joined of, and the error itself if there are
// several, or it was not joined.
func onlyFault(err error) error {
	for {
		joined, ok := err.(interface{ Unwrap() []error })
		if !ok || len(joined.Unwrap()) != 1 {
			return err
		}
		err = joined.Unwrap()[0]
	}
}

// A member whose data could not be replaced waits BEFORE it tries that again, each time twice as
// long.
const (
	renewAgain    = 3 * time.Second
	renewAgainMax = 5 * time.Minute
)

// errUnsound reports that the data of the member that was copied from is damaged there.
var errUnsound = errors.New("the copy is not sound")

// receiveFrom makes a data directory of the copy of a member's data. Errors: errUnsound.
func receiveFrom(number uint64, from io.Reader, dir string) (*offline.Report, error) {
	report, err := actors.ReceiveCopy(from, dir)
	if damage := new(offline.Damage); errors.As(err, &damage) {
		err = fmt.Errorf("%w, because the data of member %d is damaged there; the files that are "+
			"named are those of the copy: %w", errUnsound, number, err)
	}
	return report, err
}

// renew replaces the data of this member by a copy of that of the leader, or of another member
// where that of the leader is damaged, or waits. It reports whether a signal says to stop. Where it
// fails the member goes on with what it has, and will be here again.
func (c *ServeCommand) renew(
	members []replica.Member, cut *cutError, again time.Duration, log *slog.Logger,
) (stopped bool) {
	ctx, stop := signal.NotifyContext(context.Background(), stopSignals()...)
	defer stop()
	for _, source := range c.sources(members, cut.leader) {
		log.Warn("the data of this member is being replaced by a copy", "from", source.Number,
			"leader", cut.leader.Number)
		err := c.renewFrom(ctx, members, source)
		if err == nil {
			log.Info("the data of this member was replaced", "from", source.Number)
			return ctx.Err() != nil
		}
		log.Error("the data of this member could not be replaced", "from", source.Number,
			"error", err, "again", again)
		if !errors.Is(err, errUnsound) {
			break
		}
	}
	timer := time.NewTimer(again)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err() != nil
}

// sources are the members to copy from, the leader first. The others are those of the settings. One
// of them may lack what the leader has cut: then this member lacks it again.
func (c *ServeCommand) sources(members []replica.Member, leader replica.Member) []replica.Member {
	all := []replica.Member{leader}
	for _, one := range members {
		if one.Number != leader.Number && one.Number != c.ClusterID {
			all = append(all, one)
		}
	}
	return all
}

func (c *ServeCommand) renewFrom(
	ctx context.Context, members []replica.Member, source replica.Member,
) error {
	return cluster.Renew(ctx, cluster.Settings{
		Data: c.Data, Number: c.ClusterID, Members: members, Keys: c.ClusterKeys,
		Plain: c.ClusterPlain,
	}, cluster.Source{
		Address: source.Address, Number: source.Number,
		Receive: func(from io.Reader, dir string) error {
			_, err := receiveFrom(source.Number, from, dir)
			return err
		},
	})
}

// errRemoved ends a server that was removed from its group. That is no failure, AFTER which a
// supervisor would start it again.
var errRemoved = errors.New("this member was removed from its group")

// member is this server as a member of a group; of a single server all methods do nothing.
type member struct {
	of *cluster.Membership
	// engine is set BEFORE the member begins to take part, and BEFORE anybody asks it.
	engine *actors.Engine
}

// markNote is the note of a member that asks for a mark in the log.
const markNote = "mark"

// giveUpNote begins the note of a member that asks to give up contents of an upload: its ID and the
// hashes follow.
const giveUpNote = "give up"

func giveUpNoteOf(upload id.ID, hashes []byte) []byte {
	return slices.Concat([]byte(giveUpNote), upload[:], hashes)
}

// noted takes the note of another member: that a session is in use, as an agent and a session, a
// markNote, or one that begins with giveUpNote. Members with an older program ignore those that
// they do not know.
func (m *member) noted(note []byte) {
	const half = len(id.ID{})
	switch {
	case len(note) == 2*half:
		m.engine.SeeCaller(identity.Caller{Agent: id.ID(note[:half]), Session: id.ID(note[half:])})
	case string(note) == markNote:
		m.engine.Mark()
	case bytes.HasPrefix(note, []byte(giveUpNote)) && len(note) > len(giveUpNote)+half:
		rest := note[len(giveUpNote):]
		// A member whose note has no effect gives it again.
		_, _ = m.engine.GiveUp(id.ID(rest[:half]), rest[half:])
	}
}

// damaged counts what of the data of this server was found damaged since the start.
func (m *member) damaged() int {
	if m.engine == nil {
		return 0
	}
	return m.engine.Damaged()
}

// contentQuestion begins the question of a member for a content; its hash follows. Members with an
// older program refuse it.
const contentQuestion = 'c'

// asked answers another member, which asks for a content, or which of some contents are here.
func (m *member) asked(question []byte) ([]byte, error) {
	if len(question) == 1+len(work.Hash{}) && question[0] == contentQuestion {
		return m.engine.ContentOf(question[1:])
	}
	return m.engine.HeldOf(question)
}

// configure makes the engine use the journal of the group, and the transport pass writes on.
func (m *member) configure(engine *actors.Config, transport *http.Config) {
	if m.of != nil {
		engine.OpenJournal, engine.SharedJournal = m.of.OpenJournal, true
		engine.TrustClock = m.of.ClockIsNear
		engine.SeeSession = func(seen identity.Caller) {
			m.of.Note(append(seen.Agent[:], seen.Session[:]...))
		}
		engine.OtherLeads = m.of.OtherLeads
		engine.AskMark = func() { m.of.Note([]byte(markNote)) }
		engine.AskGiveUp = func(upload id.ID, hashes []byte) {
			m.of.Note(giveUpNoteOf(upload, hashes))
		}
		engine.AskContent = func(ctx context.Context, hash []byte) ([]byte, error) {
			return m.of.Question(ctx, append([]byte{contentQuestion}, hash...))
		}
		engine.AskHeld = m.of.Question
		transport.Group, transport.PassedFrom = m.of, cluster.Passed
	}
}

// serve begins to take part in the group.
func (m *member) serve(server *http.Server, log *slog.Logger) {
	if m.of == nil {
		return
	}
	m.of.Serve()
	go func() {
		if err := server.ServePassed(m.of.Web()); err != nil {
			log.Error("requests that members pass on are not answered", "error", err)
		}
	}()
}

// close leaves the network. It is called AFTER the engine was closed, which may have entries that
// the group has to agree on.
func (m *member) close() error {
	if m.of == nil {
		return nil
	}
	return m.of.Close()
}

// handOverMax bounds the time for which a leader that stops looks for another one.
const handOverMax = 2 * time.Second

// handOver lets another member lead, so that nobody has to wait for an election.
func (m *member) handOver(log *slog.Logger) {
	if m.of == nil || !m.of.Leads() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handOverMax)
	defer cancel()
	if err := m.of.HandOver(ctx); err != nil {
		log.Warn("no other member leads yet", "error", err)
	}
}
