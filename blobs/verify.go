package blobs

import (
	"errors"

	"pws/internal/disk"
)

// Report is the result of Verify.
type Report struct {
	Packs  int
	Blobs  int64 // sound ones
	Bytes  int64 // of the packs
	Damage disk.DamageList
	// Repaired is damage of blobs that all have a sound copy in another pack, which reads find.
	Repaired disk.DamageList
	// NoManifest says that there is none, and no pack: nothing was ever stored, or all is lost.
	NoManifest bool
}

// Verify reads every pack and checks the hash of every blob, without changing anything. each, if
// given, is called for each sound blob. The error is nil if all is sound, a *CorruptError for the
// first damage (the report has the rest), and otherwise what kept Verify from reading; ErrLocked
// while a store has the directory open.
func Verify(dir string, each func(h Hash, size int64)) (Report, error) {
	return verify(disk.OS{}, dir, each)
}

func verify(d disk.Disk, dir string, each func(Hash, int64)) (Report, error) {
	var r Report
	lock, err := d.Lock(dir, disk.Shared)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	names, err := d.List(dir)
	if err != nil {
		return r, err
	}
	m, raw, err := readManifest(d, dir, names)
	r.NoManifest = err == nil && raw == nil
	if err := r.Damage.Note(err); err != nil {
		return r, err
	}
	count := func(h Hash, size int64) {
		r.Blobs++
		if each != nil {
			each(h, size)
		}
	}
	var spoils spoiledList
	for _, mp := range m.packs {
		r.Packs++
		r.Bytes += mp.Size
		p, err := openPack(d, dir, mp.Number, mp.Size, &mp.FooterCRC)
		if err == nil {
			err = p.check(func() {}, count, spoils.note)
			p.f.Close()
		}
		if err := r.Damage.Note(err); err != nil {
			return r, err
		}
	}
	if err := spoils.report(d, dir, m, &r); err != nil {
		return r, err
	}
	return r, r.Damage.Err()
}

// spoiled is damage with the blobs that it spoils.
type spoiled struct {
	fault error
	of    []Hash
}

type spoiledList []spoiled

// note adds damage and returns every other error.
func (l *spoiledList) note(err error, of []entry) error {
	if !errors.Is(err, ErrCorrupt) {
		return err
	}
	one := spoiled{fault: err}
	for i := range of {
		one.of = append(one.of, of[i].hash)
	}
	*l = append(*l, one)
	return nil
}

// report puts what has sound copies elsewhere under Repaired, and the rest under Damage.
func (l spoiledList) report(d disk.Disk, dir string, m manifest, r *Report) error {
	if len(l) == 0 {
		return nil
	}
	var packs []*pack
	for _, mp := range m.packs {
		// One that cannot be opened is among the damage.
		if p, err := openPack(d, dir, mp.Number, mp.Size, &mp.FooterCRC); err == nil {
			defer p.f.Close()
			packs = append(packs, p)
		}
	}
	for _, one := range l {
		list := &r.Repaired
		for i := range one.of {
			if _, err := readSound(packs, &one.of[i]); err != nil {
				list = &r.Damage
			}
		}
		if err := list.Note(one.fault); err != nil {
			return err
		}
	}
	return nil
}
