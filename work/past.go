package work

import (
	"fmt"
	"slices"
)

// pastContents are contents of texts that records named before they changed or were deleted, the
// oldest first. Stored results of Idempotency-Keys may name them, and they leave the disk with the
// project. Its blocks are the chunks of a saved project.
type pastContents struct{ blocks []*pastBlock }

// pastBlock is a chunk of at most recordBlockLen contents.
type pastBlock struct {
	hashes []Hash
	// changed is the revision of the project that last added to the block.
	changed uint64
}

func (c *pastContents) len() int {
	if len(c.blocks) == 0 {
		return 0
	}
	return (len(c.blocks)-1)*recordBlockLen + len(c.blocks[len(c.blocks)-1].hashes)
}

func (c *pastContents) add(hash Hash, revision uint64) {
	block := &pastBlock{changed: revision}
	at := c.len() / recordBlockLen
	c.blocks = slices.Clone(c.blocks)
	if at < len(c.blocks) {
		block.hashes = slices.Clip(c.blocks[at].hashes)
		c.blocks = c.blocks[:at]
	}
	block.hashes = append(block.hashes, hash)
	c.blocks = append(c.blocks, block)
}

// chunks, changedAt and encode implement savedList.
func (c *pastContents) chunks() int { return len(c.blocks) }

func (c *pastContents) changedAt(n int) uint64 { return c.blocks[n].changed }

func (c *pastContents) encode(n int) ([]byte, error) { return encoding.Marshal(c.blocks[n].hashes) }

func (c *pastContents) restore(count int, chunk func(Chunk) ([]byte, error)) error {
	for n := range (count + recordBlockLen - 1) / recordBlockLen {
		var hashes []Hash
		if err := readChunk(chunk, Chunk{PastChunk, n}, &hashes); err != nil {
			return err
		}
		if len(hashes) != min(recordBlockLen, count-n*recordBlockLen) {
			return fmt.Errorf("chunk %c %d: %d contents", PastChunk, n, len(hashes))
		}
		c.blocks = append(c.blocks, &pastBlock{hashes: hashes})
	}
	return nil
}

// PastContents yields the hashes of contents that records of the project named once and may not
// name any more.
func (p *Project) PastContents(yield func(Hash)) {
	for _, block := range p.past.blocks {
		for _, hash := range block.hashes {
			yield(hash)
		}
	}
}

// leaveTexts notes the contents that a new version of a task does not name any more.
func (p *Project) leaveTexts(old, next *Task) {
	before, after := old.Texts(), next.Texts()
	if before.None() || before == after {
		return
	}
	named := map[Hash]bool{}
	after.Each(func(one Away) { named[one.Hash] = true })
	before.Each(func(one Away) {
		if !named[one.Hash] {
			p.past.add(one.Hash, p.Revision+1)
		}
	})
}
