package actors

import (
	"fmt"
	"sync"
	"weak"

	"pws/internal/id"
	"pws/work"
)

// trees has one copy of each tree that a loaded project needs, and keeps none alive itself.
type trees struct {
	// content gives stored contents.
	content func(work.Hash) ([]byte, error)

	mu struct {
		sync.Mutex
		byRoot map[work.Hash]weak.Pointer[work.Tree]
		// sweepAt is the size of byRoot at which those that are gone leave it.
		sweepAt int
		// built are the last ones that were made of changesets; next is the place of the next one.
		built [builtTreesMax]builtTree
		next  int
	}
}

// builtTree is the tree of a changeset.
type builtTree struct {
	project, changeset id.ID
	tree               weak.Pointer[work.Tree]
}

// builtTreesMax is of how many changesets it is known that there is a tree of them.
const builtTreesMax = 256

// treesSweepMin is the least number of trees at which it is looked for those that are gone.
const treesSweepMin = 1024

func newTrees(content func(work.Hash) ([]byte, error)) *trees {
	t := &trees{content: content}
	t.mu.byRoot, t.mu.sweepAt = map[work.Hash]weak.Pointer[work.Tree]{}, treesSweepMin
	return t
}

// load is the tree of a manifest.
func (t *trees) load(root work.Hash) (*work.Tree, error) {
	t.mu.Lock()
	known := t.mu.byRoot[root].Value()
	t.mu.Unlock()
	if known != nil {
		return known, nil
	}
	tree, err := work.ReadTree(root, t.content)
	if err != nil {
		return nil, fmt.Errorf("the tree that it began with: %w", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.keep(tree), nil
}

// keep gives the one copy of a tree. The lock is held.
func (t *trees) keep(tree *work.Tree) *work.Tree {
	if known := t.mu.byRoot[tree.Root()].Value(); known != nil {
		return known
	}
	if len(t.mu.byRoot) >= t.mu.sweepAt {
		for root, one := range t.mu.byRoot {
			if one.Value() == nil {
				delete(t.mu.byRoot, root)
			}
		}
		t.mu.sweepAt = max(treesSweepMin, 2*len(t.mu.byRoot))
	}
	t.mu.byRoot[tree.Root()] = weak.Make(tree)
	return tree
}

// of is the tree of a changeset.
func (t *trees) of(p *work.Project, changeset *work.Changeset) *work.Tree {
	known, like := t.find(p.ID, changeset.ID)
	if known != nil {
		return known
	}
	tree := p.TreeAt(changeset, like)
	t.mu.Lock()
	defer t.mu.Unlock()
	tree = t.keep(tree)
	t.mu.built[t.mu.next] = builtTree{p.ID, changeset.ID, weak.Make(tree)}
	t.mu.next = (t.mu.next + 1) % builtTreesMax
	return tree
}

// find is the tree of a changeset where it was built; else the last one of the project, or nil.
func (t *trees) find(project, changeset id.ID) (known, like *work.Tree) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for nth := range builtTreesMax {
		one := &t.mu.built[(t.mu.next+builtTreesMax-1-nth)%builtTreesMax]
		if one.project != project {
			continue
		}
		tree := one.tree.Value()
		if tree != nil && one.changeset == changeset {
			return tree, nil
		}
		if like == nil {
			like = tree
		}
	}
	return nil, like
}

// give gives an event the tree that it names, where it names one.
func (t *trees) give(event work.Event) error {
	needs, ok := event.(work.NeedsTree)
	if !ok {
		return nil
	}
	tree, err := t.load(needs.TreeRoot())
	if err == nil {
		needs.GiveTree(tree)
	}
	return err
}

// Tree implements api.Engine.
func (e *Engine) Tree(p *work.Project, at *work.Changeset) *work.Tree { return e.trees.of(p, at) }
