package cluster

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
)

// Settings are how a server takes part in a group.
type Settings struct {
	// Data is the data directory.
	Data string
	// Number is that of the member. Members has its address, and at the first start of a group all of
	// its first members.
	Number  uint64
	Members []replica.Member
	// Keys is the member's folder of MakeAuthority. Plain leaves its certificates unused.
	Keys  string
	Plain bool
	// Files writes the files of the data directory for a member that joins.
	Files func(to io.Writer) error
	// Noted takes a note of another member for the leader.
	Noted func(note []byte)
	// Asked answers a question that another member has put to all others.
	Asked func(question []byte) ([]byte, error)
	// Damaged, unless nil, counts what of the data of this member was found damaged, such as projects.
	// A member with damage has another one lead.
	Damaged func() int
	// Removed is called when this member was removed from the group and most voters have applied
	// that, so that they do not need it any more.
	Removed func()
	// Cut is called when this member lacks entries that the leader, which it gets, does not have any
	// more. Renew helps. It does not wait for anything.
	Cut func(leader replica.Member)
	// Now is the clock of the machine; time.Now if nil.
	Now func() time.Time
	// KeepBytes, unless 0, is how much of raft's log stays for members that lag; for tests.
	KeepBytes int64
	// LeaseFor, unless 0, is how long a leader trusts that no other leads; for tests. A wrong one lets
	// members answer reads with what is old.
	LeaseFor time.Duration
	// Version is that of the program, for the status.
	Version string
	Log     *slog.Logger
}

func (s *Settings) identify() (*Identity, error) {
	identity, err := LoadIdentity(s.Keys, s.Number)
	if err != nil {
		return nil, fmt.Errorf("the keys of the member: %w", err)
	}
	if s.Plain {
		identity = Plain(identity.Secret)
	}
	return identity, nil
}

// address is the one that the member listens on.
func (s *Settings) address() (string, error) {
	for _, one := range s.Members {
		if one.Number == s.Number {
			return one.Address, nil
		}
	}
	return "", fmt.Errorf("member %d is not in the list of members", s.Number)
}

// Membership is the part that this server takes in a group.
type Membership struct {
	settings Settings
	identity *Identity
	network  *Network
	journal  *replica.Journal
	released sync.Once
}

// Open takes the address of a member. What the data directory says of an earlier run has to agree
// with the settings. Errors: those of the folder of keys and of the address; a list of members that
// no group begins with; a directory of another member, or with the secret of another service.
func Open(settings Settings) (*Membership, error) {
	identity, err := settings.identify()
	if err != nil {
		return nil, err
	}
	address, err := settings.address()
	if err == nil {
		err = settings.requireBeginning()
	}
	if err != nil {
		return nil, err
	}
	m := &Membership{settings: settings, identity: identity}
	m.network, err = Listen(Config{
		Member: settings.Number, Address: address, Identity: identity, Log: settings.Log,
		Copy: m.writeCopy, Order: m.carryOut, Now: settings.Now, Noted: settings.Noted,
		Asked: settings.Asked,
	})
	if err != nil {
		return nil, err
	}
	// No other server of this member runs, which would have the address.
	if err := m.prepare(); err != nil {
		return nil, errors.Join(err, m.network.Close())
	}
	return m, nil
}

// prepare finishes what an earlier run may have left, and checks that the data directory is that of
// the member.
func (m *Membership) prepare() error {
	dir := m.settings.Data
	if err := datadir.FinishRenewal(dir); err != nil {
		return err
	}
	note, err := readNote(dir)
	if err == nil && note != nil && note.number != m.settings.Number {
		err = fmt.Errorf("%s belongs to member %d", dir, note.number)
	}
	if err != nil {
		return err
	}
	return datadir.AdoptSecret(dir, m.identity.Secret)
}

// OpenJournal opens the journal of the member, as journal.OpenLocal does that of a single server.
// The first time it begins the member's part in the group.
func (m *Membership) OpenJournal(o journal.Options) (journal.Journal, *journal.Recovery, error) {
	dir := filepath.Join(m.settings.Data, datadir.RaftName)
	note, err := readNote(m.settings.Data)
	if err == nil && note == nil {
		note, err = m.begin(o, dir)
	}
	if err != nil {
		return nil, nil, err
	}
	m.network.Enter(note.group)
	opened, found, err := replica.OpenJournal(o, replica.Options{
		Member: m.settings.Number, Dir: dir, Transport: m.network, Log: m.settings.Log,
		OnMembers: m.setMembers, OnRemoved: m.removed, OnCut: m.lacks,
		Damaged: m.settings.Damaged,
		Version: m.settings.Version, LeaseFor: m.settings.LeaseFor, KeepBytes: m.settings.KeepBytes,
	})
	if errors.Is(err, replica.ErrNoMember) {
		err = fmt.Errorf("%s is empty, and this member has taken part in its group: its data "+
			"directory is of no use any more; add a new member instead: %w", dir, err)
	}
	if err != nil {
		return nil, nil, err
	}
	m.journal = opened
	return opened, found, nil
}

// setMembers takes the members that the log names, whose addresses count. It logs where the
// settings have others, which have no effect.
func (m *Membership) setMembers(members []replica.Member) {
	m.network.SetMembers(members)
	for _, one := range members {
		at := slices.IndexFunc(m.settings.Members, func(set replica.Member) bool {
			return set.Number == one.Number && set.Address != one.Address
		})
		switch {
		case at < 0:
		case one.Number == m.settings.Number:
			m.settings.Log.Error("this member listens at another address than the others call: start it "+
				"with the address that the group knows", "listens", m.settings.Members[at].Address,
				"known", one.Address)
		default:
			m.settings.Log.Warn("the group knows a member at another address than the settings; that "+
				"of the settings has no effect", "member", one.Number,
				"settings", m.settings.Members[at].Address, "known", one.Address)
		}
	}
}

// lacks says that this member lacks entries that the leader does not have any more. It reports
// whether somebody has learned of it.
func (m *Membership) lacks(leader uint64) bool {
	p := m.network.peer(leader)
	if p == nil || m.settings.Cut == nil {
		return false
	}
	m.settings.Cut(replica.Member{Number: leader, Address: p.address})
	return true
}

// Serve begins to take part. The journal is open and started.
func (m *Membership) Serve() {
	m.network.Serve(m.journal)
	m.network.running.Go(m.watchFitness)
	m.network.running.Go(m.watchLeader)
}

// Close ends all connections. The journal is closed BEFORE.
func (m *Membership) Close() error { return m.network.Close() }

// Web is the listener for requests that other members pass on.
func (m *Membership) Web() net.Listener { return m.network.Web() }

// Leads reports whether this member leads the group.
func (m *Membership) Leads() bool { return m.journal.Reign() != 0 }

// Leader is the number of the member that leads, 0 while none is known.
func (m *Membership) Leader() uint64 { return m.journal.Leader() }

// Self is this member, with the address of the settings. It is none of the group until it is added.
func (m *Membership) Self() replica.Member {
	for _, one := range m.settings.Members {
		if one.Number == m.settings.Number {
			return one
		}
	}
	return replica.Member{Number: m.settings.Number}
}

// OtherLeads reports whether another member is known to lead.
func (m *Membership) OtherLeads() bool {
	leader := m.Leader()
	return leader != 0 && leader != m.settings.Number
}

// Dial opens a connection for requests that are passed on to a member.
func (m *Membership) Dial(ctx context.Context, member uint64) (net.Conn, error) {
	return m.network.DialWeb(ctx, member)
}

// ClocksAhead is how far ahead of the own clock those of other members are, as they were heard
// lately.
func (m *Membership) ClocksAhead() map[uint64]time.Duration {
	return m.network.clocks.ahead(m.network.config.Now())
}

// ClockAhead is how far the own clock is ahead of that of most members.
func (m *Membership) ClockAhead() time.Duration {
	return -m.network.clocks.behindMost(m.network.config.Now())
}

// Status is what the member knows of its group.
func (m *Membership) Status() replica.Status { return m.journal.Status() }

// Asked is what a member has answered about the group, or why it has not.
type Asked struct {
	replica.Member
	Status replica.Status
	Err    error
}

// askTime bounds how long Ask waits for a member.
const askTime = 2 * time.Second

// Ask asks all members, at the same time.
func (m *Membership) Ask() []Asked {
	return m.ask(context.Background(), m.Status().Members)
}

// ask is Ask for members and guests. It ends with the context, too.
func (m *Membership) ask(ctx context.Context, members []replica.Member) []Asked {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	all := make([]Asked, len(members))
	var asking sync.WaitGroup
	for i, one := range members {
		all[i].Member = one
		asking.Go(func() {
			if one.Number == m.settings.Number {
				all[i].Status = m.Status()
				return
			}
			all[i].Status, all[i].Err = m.network.Status(ctx, one.Number)
		})
	}
	asking.Wait()
	return all
}

// note is the file of the data directory that says which member it belongs to.
type note struct {
	number uint64
	group  [groupBytes]byte
}

// noteText is the form of a note.
const noteText = "pws member 1\nnumber %d\ngroup %x\n"

func (n *note) write(dir string) error {
	return datadir.WriteMember(dir, fmt.Appendf(nil, noteText, n.number, n.group))
}

// readNote returns the note of a data directory, nil if there is none.
func readNote(dir string) (*note, error) {
	text, err := datadir.ReadMember(dir)
	if text == nil || err != nil {
		return nil, err
	}
	lines := strings.Split(string(text), "\n")
	bad := fmt.Errorf("%s in %s is not understood", datadir.MemberName, dir)
	if len(lines) != 4 {
		return nil, bad
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(lines[1], "number "), 10, 64)
	group, gerr := hex.DecodeString(strings.TrimPrefix(lines[2], "group "))
	if err != nil || gerr != nil || len(group) != groupBytes {
		return nil, bad
	}
	n := &note{number: number}
	copy(n.group[:], group)
	if string(text) != fmt.Sprintf(noteText, n.number, n.group) {
		return nil, bad
	}
	return n, nil
}

// NumberOf is the number of the member that a data directory belongs to, 0 if it is that of a
// single server.
func NumberOf(dir string) (uint64, error) {
	n, err := readNote(dir)
	if n == nil || err != nil {
		return 0, err
	}
	return n.number, nil
}
