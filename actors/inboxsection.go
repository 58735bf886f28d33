package actors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"

	"pws/identity"
	"pws/index"
	"pws/internal/disk"
	"pws/internal/id"
	"pws/work"
)

// The versions of the section of an inbox, its first byte:
//
//	version  1 byte
//	counts   from version 2 on: uvarint number, then each: 16 bytes actor, 1 byte kind, uvarint
//	         day since 1970, uvarint items of that day; the one that grew last comes last
//	items    until the end, the oldest first, each: uvarint entry, uvarint number in the entry,
//	         uvarint Unix milliseconds, 1 byte kind, 1 byte 1 where it is archived, 16 bytes each
//	         project, zero for none, and actor, 1 byte type and 16 bytes ID of its subject, 16
//	         bytes part
//
// A section of version 1 is counted by the items that it holds.
const (
	inboxVersionPlain = 1
	inboxVersion      = 2
)

func encodeInbox(saved index.SavedInbox) []byte {
	items := saved.Items
	size := 1 + len(items)*(3+4*len(id.ID{})+3*binary.MaxVarintLen64)
	out := append(make([]byte, 0, size), inboxVersion)
	out = binary.AppendUvarint(out, uint64(len(saved.Counts)))
	for i := range saved.Counts {
		count := &saved.Counts[i]
		out = append(append(out, count.Actor[:]...), byte(count.Kind))
		out = binary.AppendUvarint(out, uint64(count.Day))
		out = binary.AppendUvarint(out, uint64(count.Items))
	}
	for i := range items {
		item := &items[i]
		out = binary.AppendUvarint(out, item.Place.Entry)
		out = binary.AppendUvarint(out, uint64(item.Place.Nth))
		out = binary.AppendUvarint(out, uint64(item.At))
		archived := byte(0)
		if item.Archived {
			archived = 1
		}
		out = append(out, byte(item.Kind), archived)
		out = append(append(out, item.Project[:]...), item.Actor[:]...)
		out = append(append(out, byte(item.Subject.Type)), item.Subject.ID[:]...)
		out = append(out, item.Part[:]...)
	}
	return out
}

func decodeInbox(data []byte) (saved index.SavedInbox, err error) {
	r := disk.NewReader(data)
	switch version := r.Byte(); version {
	case inboxVersionPlain, inboxVersion:
		if version == inboxVersion {
			saved.Counts, err = decodeInboxCounts(&r)
		}
		if err == nil {
			saved.Items, err = decodeInboxItems(&r)
		}
		if err == nil && version == inboxVersionPlain {
			saved.Counts = index.CountItems(saved.Items)
		}
		return saved, err
	default:
		return saved, fmt.Errorf("version %d is unknown", version)
	}
}

func decodeInboxCounts(r *disk.Reader) (counts []index.InboxCount, err error) {
	number := r.Uvarint()
	if number > index.InboxCountsMax {
		return nil, errors.New("too many counts")
	}
	known := make(map[index.InboxCount]bool, number)
	for range number {
		count := index.InboxCount{Actor: id.ID(r.Fixed(16)), Kind: work.NoticeKind(r.Byte())}
		day, items := r.Uvarint(), r.Uvarint()
		count.Day = int64(day)
		if r.Failed() || !count.Kind.Given() || day > math.MaxInt64 || known[count] ||
			items == 0 || items > index.InboxItemsMax {
			return nil, errors.New("a count that cannot be")
		}
		known[count] = true
		count.Items = int(items)
		counts = append(counts, count)
	}
	return counts, nil
}

func decodeInboxItems(r *disk.Reader) (items []index.InboxItem, err error) {
	last, ofClass := identity.Place{}, [work.NoticeClasses]int{}
	for r.Len() > 0 {
		var item index.InboxItem
		entry, nth := r.Uvarint(), r.Uvarint()
		item.Place = identity.Place{Entry: entry, Nth: uint16(nth)}
		item.At = int64(r.Uvarint())
		item.Kind, item.Archived = work.NoticeKind(r.Byte()), r.Byte() == 1
		item.Project, item.Actor = id.ID(r.Fixed(16)), id.ID(r.Fixed(16))
		item.Subject.Type = work.SubjectType(r.Byte())
		item.Subject.ID, item.Part = id.ID(r.Fixed(16)), id.ID(r.Fixed(16))
		if nth > 1<<16-1 || item.Place.Compare(last) <= 0 || !item.Kind.Given() ||
			!item.Subject.Type.Known() {
			return nil, errors.New("an item that cannot be")
		}
		items, last = append(items, item), item.Place
		ofClass[item.Kind.Class()]++
	}
	if r.Failed() || slices.Max(ofClass[:]) > index.InboxItemsMax {
		return nil, errors.New("it ends too soon or too late")
	}
	return items, nil
}
