package api

import "pws/work"

const (
	// mergeOutcomesMax and mergeTextsMax limit the sizes in memory of the merges that are
	// remembered. An outcome takes about mergeOutcomeBytes.
	mergeOutcomesMax  = 4 << 20
	mergeTextsMax     = 12 << 20
	mergeOutcomeBytes = 512
)

// mergeMemo implements work.KnownMerges. A result depends on the contents alone and those who want
// it know all three of them, so it is shared by all projects.
type mergeMemo struct {
	outcomes *memo[work.MergeSides, work.MergeOutcome]
	texts    *memo[work.MergeSides, []byte]
}

func newMergeMemo() *mergeMemo {
	return &mergeMemo{
		outcomes: newMemo[work.MergeSides, work.MergeOutcome](mergeOutcomesMax),
		texts:    newMemo[work.MergeSides, []byte](mergeTextsMax),
	}
}

// Outcome implements work.KnownMerges.
func (m *mergeMemo) Outcome(
	sides work.MergeSides, join func() (work.MergeOutcome, error),
) (work.MergeOutcome, error) {
	return m.outcomes.get(sides, func() (work.MergeOutcome, int, error) {
		outcome, err := join()
		if !outcome.Final {
			return outcome, 0, err
		}
		return outcome, mergeOutcomeBytes, err
	})
}

// Text implements work.KnownMerges.
func (m *mergeMemo) Text(
	sides work.MergeSides, join func() ([]byte, error),
) ([]byte, error) {
	return m.texts.get(sides, func() ([]byte, int, error) {
		text, err := join()
		return text, len(text) + mergeOutcomeBytes, err
	})
}
