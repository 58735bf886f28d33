package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"pws/internal/datadir"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/snapshot"
)

// accountVersion is the first byte of the section of an account:
//
//	version  1 byte
//	bytes    uvarint: what the agent has stored
//	empty    uvarint: when its hourly quota is unused again, Unix nanoseconds
//	hour     uvarint: the hourly quota by which empty was computed; version 1 has none, and it was
//	         that of the server's settings
const accountVersion = 2

// encode returns the section of an account and its position.
func (a *account) encode() (data []byte, position uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	data = binary.AppendUvarint([]byte{accountVersion}, uint64(a.mu.bytes))
	data = binary.AppendUvarint(data, uint64(a.mu.emptyAt))
	return binary.AppendUvarint(data, uint64(a.mu.hourLimit)), a.mu.position
}

// decode reads a section; hourLimit is the quota of one of version 1.
func (a *account) decode(data []byte, position uint64, hourLimit int64) error {
	r := disk.NewReader(data)
	version := r.Byte()
	if version < 1 || version > accountVersion {
		return fmt.Errorf("version %d is unknown", version)
	}
	bytes, emptyAt, hour := r.Uvarint(), r.Uvarint(), uint64(hourLimit)
	if version > 1 {
		hour = r.Uvarint()
	}
	if r.Failed() || r.Len() > 0 || max(bytes, emptyAt, hour) > math.MaxInt64 {
		return errors.New("it is too short or too long, or has a number that is too large")
	}
	a.mu.bytes, a.mu.emptyAt, a.mu.hourLimit = int64(bytes), int64(emptyAt), int64(hour)
	a.mu.position = position
	return nil
}

// drainDirty returns the accounts that changed since the last call.
func (a *accounts) drainDirty() []*account {
	a.dirty.Lock()
	taken := a.dirty.accounts
	a.dirty.accounts = nil
	a.dirty.Unlock()
	for _, one := range taken {
		// Its section is encoded AFTER this: what changes in between is in the section, and in the
		// next list.
		one.change(func(of *account) { of.mu.dirty = false })
	}
	return taken
}

// requeueDirty marks accounts that were not saved.
func (a *accounts) requeueDirty(taken []*account) {
	for _, one := range taken {
		one.change(func(of *account) { a.settled(of, of.mu.position) })
	}
}

// saveAccounts writes the accounts that have changed.
func saveAccounts(writer *snapshot.Writer, changed []*account) error {
	for _, one := range changed {
		data, position := one.encode()
		if err := writer.Put(datadir.AccountKey(one.agent), position, data); err != nil {
			return err
		}
	}
	return nil
}

// restoreAccounts reads the saved accounts, BEFORE the log behind the snapshot is read.
func (e *Engine) restoreAccounts() error {
	return e.snapshot.Scan(datadir.AccountPrefix, datadir.KeyBytes, func(s snapshot.Section) error {
		one := e.accounts.account(datadir.IDOf(string(s.Key)))
		if err := one.decode(s.Data, s.Position, e.accounts.limits.AgentHour); err != nil {
			return fmt.Errorf("account of agent %s: %w", one.agent.Format(id.Agent), err)
		}
		e.accounts.total.Add(one.mu.bytes)
		return nil
	})
}
