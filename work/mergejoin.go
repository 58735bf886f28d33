package work

import (
	"crypto/sha256"
	"errors"

	"pws/internal/fault"
	"pws/work/merge"
)

// MergeSides names the contents of a merge: base, ours and theirs. The zero hash names no file,
// which counts as an empty text.
type MergeSides [3]Hash

// MergeOutcome describes the result of a merge of texts.
type MergeOutcome struct {
	// Conflicts is the number of conflicts. In each, the text has both sides between markers.
	Conflicts int
	// Text and Bytes are the hash and the size of the text.
	Text  Hash
	Bytes int
	// Final means that a merge of the same sides with a full budget has this result. Only final
	// results are remembered.
	Final bool
	// Unread means that an operator has removed one of the texts. The merge counts as a conflict and
	// has no text.
	Unread bool
}

// KnownMerges remembers merges of texts, which take long for large texts; a merge that ends in a
// conflict can be requested again and again. Both functions return what is known, or else what join
// returns. Outcomes are small, and texts are requested only if they are needed.
type KnownMerges interface {
	Outcome(sides MergeSides, join func() (MergeOutcome, error)) (MergeOutcome, error)
	Text(sides MergeSides, join func() ([]byte, error)) ([]byte, error)
}

// joins are the merges of texts of one plan.
type joins struct {
	// known may be nil.
	known KnownMerges
	// last is the last merge that was made, which is often needed again at once.
	last joined
	// clean are the merges whose texts are contents of the plan.
	clean []joined
	// refused means that the plan is not carried out if it has a conflict.
	refused bool
}

// joined is a merge of texts. Its text is nil if the outcome was known.
type joined struct {
	MergeOutcome
	sides MergeSides
	text  []byte
}

// join merges three texts; a missing file counts as empty.
func (m *treeMerge) join(states ...*fileState) (joined, error) {
	var sides MergeSides
	for i, state := range states {
		if state != nil {
			sides[i] = state.blob
		}
	}
	if m.joins.last.sides == sides {
		return m.joins.last, nil
	}
	join := func() (MergeOutcome, error) {
		made, err := m.joinTexts(sides, &m.budget)
		if err == nil {
			m.joins.last = made
		}
		return made.MergeOutcome, err
	}
	if m.joins.known == nil {
		_, err := join()
		return m.joins.last, err
	}
	outcome, err := m.joins.known.Outcome(sides, join)
	if err == nil && !outcome.Final && m.joins.last.sides != sides {
		// Another request has just made it, with a budget of its own.
		_, err = join()
	}
	if m.joins.last.sides == sides {
		return m.joins.last, err
	}
	return joined{MergeOutcome: outcome, sides: sides}, err
}

func (m *treeMerge) joinTexts(sides MergeSides, budget *merge.Budget) (joined, error) {
	var texts [3][]byte
	for i, hash := range sides {
		if hash == (Hash{}) {
			continue
		}
		var err error
		texts[i], err = m.read(hash)
		switch {
		case fault.CodeOf(err) == fault.ContentRemoved:
			return joined{sides: sides, MergeOutcome: MergeOutcome{Conflicts: 1, Unread: true}}, nil
		case err != nil:
			return joined{}, err
		}
	}
	full := budget.Full()
	result := budget.Merge(texts[0], texts[1], texts[2])
	return joined{sides: sides, text: result.Text, MergeOutcome: MergeOutcome{
		Conflicts: result.Conflicts, Text: sha256.Sum256(result.Text), Bytes: len(result.Text),
		Final: full || !result.Limited,
	}}, nil
}

var errOtherMerge = errors.New("two merges of the same contents have different results")

// textOf returns the text of a merge. A known merge is made again, unless its text is known too.
func (m *treeMerge) textOf(one joined) ([]byte, error) {
	if !one.Final || m.joins.known == nil {
		return one.text, nil
	}
	return m.joins.known.Text(one.sides, func() ([]byte, error) {
		if one.text != nil {
			return one.text, nil
		}
		again, err := m.joinTexts(one.sides, new(merge.Budget))
		if err == nil && again.Text != one.Text {
			err = errOtherMerge
		}
		return again.text, err
	})
}

// bring adds the texts of clean merges to the contents of the plan, unless the plan cannot be
// carried out because of a conflict.
func (m *treeMerge) bring() error {
	if m.joins.refused && len(m.plan.conflicts) > 0 {
		return nil
	}
	for _, one := range m.joins.clean {
		text, err := m.textOf(one)
		if err != nil {
			return err
		}
		m.plan.Blobs = append(m.plan.Blobs, Blob{Hash: one.Text, Content: text})
	}
	return nil
}
