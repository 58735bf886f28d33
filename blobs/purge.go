package blobs

import (
	"errors"
	"slices"
)

// Forget drops blobs from memory: from the recent ones, so that no Pack writes them, and from the
// cache. Their hashes must not be added again. What is in packs stays until Purge.
func (s *Store) Forget(hashes []Hash) {
	s.packing.Lock()
	defer s.packing.Unlock()
	for i := range hashes {
		s.damaged.remove(&hashes[i])
		s.recent.Add(-s.shard(&hashes[i]).forget(&hashes[i]))
	}
}

// Purge writes each pack that has one of the blobs again without them. Unlike Drop it drops them
// also where Has has answered for them. The order of effects is that of a merge; when Purge
// fails, the packs that it has not reached are as they were. Damaged blocks do not have it fail:
// they stay damaged, and one that had a purged blob loses all its bytes.
func (s *Store) Purge(hashes []Hash) error {
	s.merging.Lock()
	defer s.merging.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	gone := make(map[Hash]bool, len(hashes))
	for _, h := range hashes {
		gone[h] = true
	}
	keep := func(h *Hash) bool { return !gone[*h] }
	for _, p := range s.list.Load().packs {
		has, err := p.hasAny(hashes)
		if err != nil {
			return err
		}
		if !has {
			continue
		}
		if err := s.rewrite(p, keep, nil); err != nil {
			return err
		}
	}
	return nil
}

func (p *pack) hasAny(hashes []Hash) (bool, error) {
	for i := range hashes {
		if _, ok, err := p.find(&hashes[i]); ok || err != nil {
			return ok, err
		}
	}
	return false, nil
}

// dropRounds is how often Drop writes a pack again in which a blob has become needed.
const dropRounds = 8

// errNeeded says that a pack had blobs to drop which were needed again and again.
var errNeeded = errors.New("blobs: what is to be dropped is being stored again")

// Drop writes the packs again without the blobs that list gives. What Has and Add have answered for
// BEFORE list is called has to be known to list; what they answer for later stays. The order of
// effects is that of a merge; when Drop fails, the packs that it has not reached are as they were.
// Damage is for it as for Purge.
func (s *Store) Drop(list func() ([]Hash, error)) error {
	s.merging.Lock()
	defer s.merging.Unlock()
	if err := s.usable(); err != nil {
		return err
	}
	s.touched.Store(new(touched))
	hashes, err := list()
	if err != nil || len(hashes) == 0 {
		return err
	}
	gone := make(map[Hash]bool, len(hashes))
	for _, h := range hashes {
		gone[h] = true
	}
	keep := func(h *Hash) bool { return !gone[*h] || s.isTouched(h) }
	for _, p := range s.list.Load().packs {
		if err := s.dropFrom(p, hashes, keep); err != nil {
			return err
		}
	}
	return nil
}

// dropFrom writes a pack again until it can go.
func (s *Store) dropFrom(p *pack, hashes []Hash, keep func(h *Hash) bool) error {
	for range dropRounds {
		droppable, err := p.hasAny(slices.DeleteFunc(slices.Clone(hashes), func(h Hash) bool {
			return keep(&h)
		}))
		if err != nil || !droppable {
			return err
		}
		if err := s.rewrite(p, keep, (*merge).neededAgain); err != nil {
			return err
		}
		if !slices.Contains(s.list.Load().packs, p) {
			return nil
		}
	}
	return errNeeded
}
