package replica

import (
	"context"
	"errors"
	"fmt"

	"go.etcd.io/raft/v3/raftpb"

	"pws/journal"
	"pws/wal"
)

// Begin makes the log of a member of a group that begins, in a directory that has none. All members
// begin with the same list of voters, and with the same entries of the journal, up to a position.
// Errors: ErrNumberUsed, ErrAddressUsed and ErrMalformed for a list that makes no group.
func Begin(dir string, members []Member, position uint64) error {
	g, err := beginning(members)
	if err != nil {
		return err
	}
	return makeLog(dir, func(records Records) error {
		_, err := Bootstrap(records, g.voters(), First(position, nil, g.members...))
		return err
	})
}

// Join makes the log of a member that is added to a group, in a directory that has none, from a
// Descriptor of another member. Its log of entries has to have what that member had AFTER
// Descriptor has returned; it may have more. Errors: ErrDescriptor; ErrNumberUsed for a number that
// is that of a voter, or was that of a member: the copy may lack what the voter has acknowledged.
func Join(dir string, member uint64, descriptor []byte) error {
	if err := Joinable(member, descriptor); err != nil {
		return err
	}
	return makeLog(dir, func(records Records) error {
		_, err := Adopt(records, descriptor)
		return err
	})
}

// Joinable says why Join would refuse a descriptor, BEFORE the rest of the data is there.
func Joinable(member uint64, descriptor []byte) error {
	_, s, err := decodeDescriptor(descriptor)
	if err != nil {
		return err
	}
	at, found := s.group.find(member)
	if found && s.group.members[at].Voter || s.group.hadRemoved(member) {
		return fmt.Errorf("%w: %d; add a member with a new number, and remove that one",
			ErrNumberUsed, member)
	}
	return nil
}

// Renewable says why Renew would refuse a descriptor, BEFORE the rest of the data is there.
func Renewable(old string, member uint64, descriptor []byte) error {
	_, _, err := renewal(old, member, descriptor)
	return err
}

// Renew makes a new log for a member, in a directory that has none: for one that lacks entries
// which nobody has any more. It goes on from a Descriptor of another member, which has to name it,
// with entries as Join needs them. What it has voted in its old log, in another directory, still
// counts. Errors: ErrDescriptor, ErrNewerFormat, ErrUnknownMember; a descriptor of what the member
// knows to be agreed on, which the other one had BEFORE; and those of the old log.
func Renew(dir, old string, member uint64, descriptor []byte) error {
	before, base, err := renewal(old, member, descriptor)
	if err != nil {
		return err
	}
	return makeLog(dir, func(records Records) error {
		_, err := begin(records, before, base)
		return err
	})
}

// renewal returns what the member of an old log has voted, and what a descriptor describes.
func renewal(old string, member uint64, descriptor []byte) (
	*raftpb.HardState, *raftpb.Snapshot, error,
) {
	base, _, err := decodeDescriptor(descriptor)
	if err != nil {
		return nil, nil, err
	}
	if !names(base, member) {
		return nil, nil, fmt.Errorf("%w: %d, for the member that the data comes from",
			ErrUnknownMember, member)
	}
	before, err := readLog(old)
	if err != nil {
		return nil, nil, err
	}
	at := base.GetMetadata()
	term, err := before.Term(at.GetIndex())
	if has := err == nil && term == at.GetTerm(); has || at.GetIndex() <= before.hard.GetCommit() {
		return nil, nil, fmt.Errorf("replica: %s lacks nothing up to entry %d of raft", old,
			at.GetIndex())
	}
	return before.hard, base, nil
}

// readLog reads a log that nobody uses.
func readLog(dir string) (*Log, error) {
	records, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	if err != nil {
		return nil, err
	}
	l, err := Open(records)
	return l, errors.Join(err, records.Close())
}

// makeLog makes a log in a directory that has none.
func makeLog(dir string, fill func(Records) error) error {
	records, _, err := wal.Open(wal.Options{Dir: dir, ReserveBytes: -1})
	if err != nil {
		return err
	}
	_, err = Open(records)
	if err == nil {
		err = fmt.Errorf("replica: %s has the log of a member already", dir)
	} else if errors.Is(err, ErrNoMember) {
		err = fill(records)
	}
	return errors.Join(err, records.Close())
}

// Descriptor describes what this member has applied, for Join. It returns AFTER all of that is
// durable in its log of entries, so a copy that is made from now on has it. A member whose Members
// have the new one already spares the group some work. Descriptor is called AFTER Start. Errors:
// journal.ErrClosed, and why the journal has failed.
func (j *Journal) Descriptor() ([]byte, error) {
	var position uint64
	var descriptor []byte
	result := make(chan error, 1)
	err := j.call(context.Background(), func() {
		var err error
		position = j.node.Admitted()
		descriptor, err = j.node.Descriptor(position, nil)
		result <- err
	})
	if err == nil {
		err = <-result
	}
	if err != nil {
		return nil, err
	}
	j.awaitShown(position)
	return descriptor, j.Healthy()
}

// call has the goroutine of the journal call a function. It does not wait for that. AFTER an error
// it is not called.
func (j *Journal) call(ctx context.Context, fn func()) error {
	select {
	case j.calls <- fn:
		return nil
	case <-j.done:
		return journal.ErrClosed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// outcomeOf has the goroutine of the journal begin something and waits for its outcome.
func (j *Journal) outcomeOf(ctx context.Context, begin func(done func(error))) error {
	result := make(chan error, 1)
	if err := j.call(ctx, func() { begin(func(err error) { result <- err }) }); err != nil {
		return err
	}
	select {
	case err := <-result:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", journal.ErrOutcomeUnknown, ctx.Err())
	case <-j.done:
	}
	select {
	case err := <-result:
		return err
	default:
		return journal.ErrOutcomeUnknown
	}
}

// Change changes the group by one member. It returns AFTER this member has applied the change. The
// leader promotes learners by itself, so Promote is for those who do not want to wait. A member
// that was removed has to go on until Options.OnRemoved. Errors: journal.ErrNotLeading,
// ErrChangePending, ErrNumberUsed, ErrAddressUsed, ErrUnknownMember, ErrLagging, ErrNoQuorum and
// ErrMalformed, all without effect; that of the context, without effect unless it comes with
// journal.ErrOutcomeUnknown; journal.ErrOutcomeUnknown; journal.ErrClosed; and why the journal has
// failed.
func (j *Journal) Change(ctx context.Context, c Change) error {
	return j.outcomeOf(ctx, func(done func(error)) { j.node.Change(c, done) })
}
