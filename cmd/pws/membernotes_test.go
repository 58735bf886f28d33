package main

import (
	"bytes"
	"log/slog"
	"slices"
	"testing"

	"pws/actors"
	"pws/internal/datadir"
	"pws/internal/id"
	"pws/journal"
)

// heard is a journal that keeps the entries of contents.
type heard struct {
	journal.Journal
	t       *testing.T
	entries *[]datadir.Entry
}

func (h heard) Append(reign journal.Reign, e journal.Entry, c journal.Committed) error {
	entry, err := datadir.DecodeEntry(bytes.Clone(e.Payload))
	if err != nil {
		h.t.Error(err)
	}
	if entry.Target == datadir.TargetContents {
		*h.entries = append(*h.entries, entry)
	}
	return h.Journal.Append(reign, e, c)
}

// TestMemberGivesUpContents has a member that leads take notes of others which give contents up.
func TestMemberGivesUpContents(t *testing.T) {
	var entries []datadir.Entry
	engine, _, err := actors.Open(actors.Config{
		Dir: t.TempDir(), NoSearch: true, Log: slog.New(slog.DiscardHandler),
		OpenJournal: func(o journal.Options) (journal.Journal, *journal.Recovery, error) {
			j, recovery, err := journal.OpenLocal(o)
			return heard{j, t, &entries}, recovery, err
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	upload, hashes := id.New(1, [10]byte{1}), bytes.Repeat([]byte{7}, 64)
	m := &member{engine: engine}
	m.noted(giveUpNoteOf(upload, hashes))
	m.noted(giveUpNoteOf(upload, hashes[1:]))
	m.noted(slices.Concat([]byte(giveUpNote), upload[1:]))
	if len(entries) != 1 || entries[0].ID != upload || !bytes.Equal(entries[0].Result, hashes) {
		t.Errorf("%+v", entries)
	}
	if err := engine.Close(); err != nil {
		t.Error(err)
	}
}
