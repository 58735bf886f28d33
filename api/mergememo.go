package api

import (
	"pws/internal/memo"
	"pws/work"
)

const (
	// mergeOutcomesMax and mergeTextsMax limit the sizes in memory of the merges that are
	// remembered. An outcome takes about mergeOutcomeBytes.
	mergeOutcomesMax  = 4 << 20
	mergeTextsMax     = 12 << 20
	mergeOutcomeBytes = 512
)

// mergeMemo remembers merges. A result depends on the contents alone and those who want it know all
// three of them, so it is shared by all projects.
type mergeMemo struct {
	outcomes *memo.Memo[work.MergeSides, work.MergeOutcome]
	texts    *memo.Memo[work.MergeSides, []byte]
}

func newMergeMemo() *mergeMemo {
	return &mergeMemo{
		outcomes: memo.New[work.MergeSides, work.MergeOutcome](mergeOutcomesMax),
		texts:    memo.New[work.MergeSides, []byte](mergeTextsMax),
	}
}

// mergeEdition implements work.KnownMerges.
type mergeEdition struct {
	of      *mergeMemo
	edition uint64
}

// Outcome implements work.KnownMerges.
func (m mergeEdition) Outcome(
	sides work.MergeSides, join func() (work.MergeOutcome, error),
) (work.MergeOutcome, error) {
	return m.of.outcomes.Get(m.edition, sides, func() (work.MergeOutcome, int, error) {
		outcome, err := join()
		if !outcome.Final {
			return outcome, 0, err
		}
		return outcome, mergeOutcomeBytes, err
	})
}

// Text implements work.KnownMerges.
func (m mergeEdition) Text(
	sides work.MergeSides, join func() ([]byte, error),
) ([]byte, error) {
	return m.of.texts.Get(m.edition, sides, func() ([]byte, int, error) {
		text, err := join()
		return text, len(text) + mergeOutcomeBytes, err
	})
}
