package blobs

import "errors"

// Report is what Verify has found.
type Report struct {
	Packs  int
	Blobs  int64 // sound ones
	Bytes  int64 // of the packs
	Damage []CorruptError
}

// damageMax bounds the places a report names.
const damageMax = 1000

// Verify reads every pack and checks the hash of every blob, without changing anything. each, if
// given, is called for each sound blob. The error is nil if all is sound, a *CorruptError for the
// first damage (the report has the rest), and otherwise what kept Verify from reading; ErrLocked
// while a store has the directory open.
func Verify(dir string, each func(h Hash, size int64)) (Report, error) {
	return verify(osDisk{}, dir, each)
}

func verify(d disk, dir string, each func(Hash, int64)) (Report, error) {
	var r Report
	lock, err := d.lock(dir, false)
	if err != nil {
		return r, err
	}
	defer lock.Close()
	names, err := d.list(dir)
	if err != nil {
		return r, err
	}
	m, _, err := readManifest(d, dir, names)
	if err := r.note(err); err != nil {
		return r, err
	}
	count := func(h Hash, size int64) {
		r.Blobs++
		if each != nil {
			each(h, size)
		}
	}
	for _, mp := range m.packs {
		r.Packs++
		r.Bytes += mp.size
		p, err := openPack(d, dir, mp.number, mp.size, &mp.footerCRC)
		if err == nil {
			err = p.check(count, r.note)
			p.f.Close()
		}
		if err := r.note(err); err != nil {
			return r, err
		}
	}
	if len(r.Damage) > 0 {
		first := r.Damage[0]
		return r, &first
	}
	return r, nil
}

// note collects damage and hands back every other error.
func (r *Report) note(err error) error {
	var c *CorruptError
	if !errors.As(err, &c) {
		return err
	}
	if len(r.Damage) < damageMax {
		r.Damage = append(r.Damage, *c)
	}
	return nil
}
