package snapshot

import (
	"bytes"
	"errors"
	"math"
	"sort"
)

// entry is where the section of a key lies. It holds no pointer, so that a table of a million keys
// costs the garbage collector nothing to scan.
type entry struct {
	offset   uint64
	position uint64
	key      uint32 // offset of the key in the table's keys
	size     uint32 // of the section with its head
	file     uint32
	keyLen   uint8
	gone     bool
}

// table is a sorted run of entries with the bytes of their keys: 32 bytes and the key per section.
// A published table is never changed.
type table struct {
	entries []entry
	keys    []byte
}

var errTableFull = errors.New("snapshot: keys take more than 4 GiB")

func (t *table) len() int { return len(t.entries) }

func (t *table) key(i int) []byte {
	e := &t.entries[i]
	return t.keys[e.key : e.key+uint32(e.keyLen)]
}

// append adds an entry whose key is greater than all before.
func (t *table) append(key []byte, e entry) error {
	if len(t.keys)+len(key) > math.MaxUint32 {
		return errTableFull
	}
	e.key, e.keyLen = uint32(len(t.keys)), uint8(len(key))
	t.keys = append(t.keys, key...)
	t.entries = append(t.entries, e)
	return nil
}

// lowerBound is the first entry whose key is not less than the given one.
func (t *table) lowerBound(key string) int {
	return sort.Search(len(t.entries), func(i int) bool { return string(t.key(i)) >= key })
}

func (t *table) find(key string) (entry, bool) {
	i := t.lowerBound(key)
	if i < len(t.entries) && string(t.key(i)) == key {
		return t.entries[i], true
	}
	return entry{}, false
}

// eachMerged goes through both tables in order of keys; where both have a key the newer one wins.
func eachMerged(older, newer *table, from string, yield func(key []byte, e entry) bool) {
	i, j := older.lowerBound(from), newer.lowerBound(from)
	for i < older.len() || j < newer.len() {
		order := 0
		switch {
		case i == older.len():
			order = 1
		case j == newer.len():
			order = -1
		default:
			order = bytes.Compare(older.key(i), newer.key(j))
		}
		t, at := newer, j
		if order < 0 {
			t, at = older, i
		}
		if order <= 0 {
			i++
		}
		if order >= 0 {
			j++
		}
		if !yield(t.key(at), t.entries[at]) {
			return
		}
	}
}

// gonePolicy is what a merge does with the entries of deleted keys.
type gonePolicy bool

const (
	keepGone gonePolicy = false
	// dropGone is for tables below which nothing older can lie.
	dropGone gonePolicy = true
)

// mergeTables makes one table of two.
func mergeTables(older, newer *table, gone gonePolicy) (*table, error) {
	t := &table{
		entries: make([]entry, 0, older.len()+newer.len()),
		keys:    make([]byte, 0, len(older.keys)+len(newer.keys)),
	}
	var err error
	eachMerged(older, newer, "", func(key []byte, e entry) bool {
		if gone == dropGone && e.gone {
			return true
		}
		err = t.append(key, e)
		return err == nil
	})
	return t, err
}

// mergeAll folds tables, oldest first, in pairs of neighbours, so that each entry is moved a
// logarithmic number of times.
func mergeAll(tables []*table) (*table, error) {
	if len(tables) == 0 {
		return &table{}, nil
	}
	for len(tables) > 1 {
		next := make([]*table, 0, (len(tables)+1)/2)
		for i := 0; i < len(tables); i += 2 {
			if i+1 == len(tables) {
				next = append(next, tables[i])
				continue
			}
			t, err := mergeTables(tables[i], tables[i+1], keepGone)
			if err != nil {
				return nil, err
			}
			next = append(next, t)
		}
		tables = next
	}
	if tables[0].deletions() == 0 {
		return tables[0], nil
	}
	return mergeTables(tables[0], &table{}, dropGone)
}

// bytes is the memory the table takes.
func (t *table) bytes() int64 {
	const entryBytes = 32
	return int64(cap(t.entries))*entryBytes + int64(cap(t.keys))
}

func (t *table) deletions() int {
	n := 0
	for i := range t.entries {
		if t.entries[i].gone {
			n++
		}
	}
	return n
}
