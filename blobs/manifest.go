package blobs

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pws/internal/disk"
)

// readManifest returns an empty manifest and nil bytes for a directory that has none yet.
func readManifest(d disk.Disk, dir string, names []string) (manifest, []byte, error) {
	path := filepath.Join(dir, manifestName)
	f, err := d.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		for _, name := range names {
			if _, ok := parsePackName(name); ok {
				return manifest{}, nil, disk.Corrupt(path, 0, "manifest is missing while %s is here", name)
			}
		}
		return manifest{}, nil, nil
	}
	if err != nil {
		return manifest{}, nil, err
	}
	defer f.Close()
	b, err := disk.ReadManifest(f, path, manifestHeadBytes)
	if err != nil {
		return manifest{}, nil, err
	}
	m, err := parseManifest(path, b)
	return m, b, err
}

// ManifestLost is the damage of a directory that has been in use and has no manifest. Open makes
// one BEFORE anything else is stored.
func ManifestLost(dir string) error {
	return disk.Corrupt(filepath.Join(dir, manifestName), 0,
		"manifest is missing, and a snapshot was written: the packs are lost, or the folder is not "+
			"mounted; mount it, or restore a backup of the data directory")
}

func (s *Store) removeLeftovers(names []string, keep map[string]bool) error {
	var leftovers []string
	for _, name := range names {
		_, isPack := parsePackName(name)
		if strings.HasSuffix(name, ".tmp") || (isPack && !keep[name]) {
			leftovers = append(leftovers, name)
		}
	}
	return disk.RemoveNames(s.o.disk, s.o.Dir, leftovers)
}

// swap removes packs from the list and adds new ones, in memory and then on disk. keepOld, if set,
// is called for each pack to remove AFTER the new list is published; packs for which it returns
// true stay. If the manifest cannot be replaced, the old list is restored and the new packs are
// discarded. A list with packs that are discarded may only be seen if the old packs hold what they
// do: Add relies on what it finds. So without packs to remove, the new list is published AFTER the
// manifest is durable.
func (s *Store) swap(in, out []*pack, keepOld func(*pack) bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.list.Load()
	without := func(gone []*pack) *packList {
		l := &packList{packs: slices.Clone(in)}
		for _, p := range before.packs {
			if !slices.Contains(gone, p) {
				l.packs = append(l.packs, p)
			}
		}
		slices.SortFunc(l.packs, func(a, b *pack) int { return cmp.Compare(b.number, a.number) })
		return l
	}
	gone := out
	if len(out) > 0 {
		tentative := without(out)
		tentative.leaving = out
		s.list.Store(tentative)
		if keepOld != nil {
			gone = slices.DeleteFunc(slices.Clone(out), keepOld)
		}
	}
	after := without(gone)
	if len(out) > 0 {
		after.leaving = gone
		s.list.Store(after)
	}
	m := manifest{next: s.mu.next}
	for _, p := range after.packs {
		m.packs = append(m.packs,
			disk.FileRef{Number: p.number, Size: p.size, FooterCRC: p.footer.crc})
	}
	slices.Reverse(m.packs)
	if err := s.replaceManifest(appendManifest(nil, m)); err != nil {
		s.list.Store(before)
		for _, p := range in {
			p.f.Close()
			if !errors.Is(err, ErrUncertain) {
				_ = s.o.disk.Remove(p.name)
			}
		}
		return err
	}
	s.list.Store(without(gone))
	for _, p := range gone {
		p.f.Close()
		// A pack that cannot be removed now is removed by the next Open.
		_ = s.o.disk.Remove(p.name)
	}
	return nil
}

// replaceManifest makes the manifest durable and reads it back. s.mu is held, or the store is not
// shared yet. From the rename on a failure leaves open which manifest a restart will see.
func (s *Store) replaceManifest(b []byte) error {
	d, final := s.o.disk, filepath.Join(s.o.Dir, manifestName)
	tmp := final + ".tmp"
	if err := disk.WriteSynced(d, tmp, b); err != nil {
		_ = d.Remove(tmp)
		return err
	}
	err := d.Rename(tmp, final)
	if err != nil {
		_, now, rerr := readManifest(d, s.o.Dir, nil)
		if rerr == nil && bytes.Equal(now, s.mu.manifest) {
			_ = d.Remove(tmp)
			return err
		}
	}
	if err == nil {
		err = d.SyncDir(s.o.Dir)
	}
	if err == nil {
		var back []byte
		if _, back, err = readManifest(d, s.o.Dir, nil); err == nil && !bytes.Equal(back, b) {
			err = disk.Corrupt(final, 0, "manifest reads back differently")
		}
	}
	if err != nil {
		s.mu.failed = fmt.Errorf("%w: %w", ErrUncertain, err)
		return s.mu.failed
	}
	s.mu.manifest = b
	return nil
}
