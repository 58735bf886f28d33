package blobs

import "pws/internal/disk"

// Report is the result of Verify.
type Report struct {
	Packs  int
	Blobs  int64 // sound ones
	Bytes  int64 // of the packs
	Damage disk.DamageList
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
	lock, err := d.Lock(dir, false)
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
	for _, mp := range m.packs {
		r.Packs++
		r.Bytes += mp.Size
		p, err := openPack(d, dir, mp.Number, mp.Size, &mp.FooterCRC)
		if err == nil {
			err = p.check(func() {}, count, r.Damage.Note)
			p.f.Close()
		}
		if err := r.Damage.Note(err); err != nil {
			return r, err
		}
	}
	return r, r.Damage.Err()
}
