package actors

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"sync"
	"sync/atomic"

	"pws/api"
	"pws/internal/disk"
	"pws/journal"
)

// The reserve of disk space has three parts. The writers stop one after another as it gets used up,
// so that those who free space, and the log above all, never meet a full disk:
//
//	free space                  who writes
//	reserve and more            everybody; indexing for search, merges of packs and compaction of
//	                            snapshots only where the reserve is left when they are done
//	below the reserve           sign-in, operators, what a removal or a purge writes again, and the
//	                            snapshot with its packs and the feed, AFTER which the log is cut:
//	                            that is what the reserve is for
//	below two floors            sign-in and operators
//	below one floor             nobody
const (
	// spaceFloorMax bounds the floor: the space that is never used on purpose.
	spaceFloorMax = 16 << 20
	// spaceFloorPart is the part of a small reserve that the floor is.
	spaceFloorPart = 8
	// spaceDiskPart is the part of its share of a disk that the reserve is at most, where no
	// reserve is given.
	spaceDiskPart = 4
	// snapshotFixedBytes are headers, indexes and manifests of one snapshot with its packs.
	snapshotFixedBytes = 8 << 20
	// snapshotDueMin is the least that the sizes are which make a snapshot due.
	snapshotDueMin = 1 << 20
	// searchMargin is what one batch of the search index takes, and what belongs to it.
	searchMargin = 16 << 20
)

// snapshotRoom is the most that a snapshot writes BEFORE it frees the log: contents into a pack,
// and sections of what the log has. Contents above the size that makes a snapshot due are kept free
// in addition while there are any, and so is what a small reserve lacks; see diskSpace.excess.
func snapshotRoom(blobBytes, logBytes int64) int64 {
	return blobBytes + logBytes + snapshotFixedBytes
}

func spaceFloor(reserve int64) int64 { return min(spaceFloorMax, reserve/spaceFloorPart) }

// fitDisk completes the reserve, and makes a snapshot due so early that the reserve covers it. What
// a disk has for the server is the free space and what the server uses already: a disk that others
// have filled leaves a small reserve and not a server that refuses all writes, and a restart does
// not shrink the reserve of a disk that the server itself has filled.
func (d *diskSpace) fitDisk() error {
	e := d.engine
	if e.config.ReserveBytes == 0 {
		free, err := e.config.freeBytes()
		if err != nil {
			return err
		}
		share, needed := free, e.config.reserveNeeded()
		if share/spaceDiskPart < needed {
			// A start looks at all files only where they matter.
			share += folderBytes(e.config.Dir)
		}
		e.config.fitReserve(share)
		if e.config.ReserveBytes < needed {
			e.log.Warn("little disk space is free: snapshots run earlier until the next start",
				"free", free, "reserve", e.config.ReserveBytes, "usual-reserve", needed)
		}
	}
	e.config.fitSnapshots()
	lacks := e.config.excess(e.config.SnapshotBlobBytes)
	if reserve := e.config.ReserveBytes; reserve >= 0 && lacks > 0 {
		e.log.Warn("the reserve is smaller than what a snapshot needs: more is kept free",
			"reserve", reserve, "kept", reserve+lacks)
	}
	return nil
}

// reserveNeeded is the reserve that snapshots of the sizes asked for need.
func (c *Config) reserveNeeded() int64 {
	return snapshotRoom(c.SnapshotBlobBytes, c.SnapshotLogBytes) + 2*spaceFloorMax
}

// fitReserve sets the reserve for so many bytes that a disk has for the server.
func (c *Config) fitReserve(bytes int64) {
	c.ReserveBytes = max(1, min(c.reserveNeeded(), bytes/spaceDiskPart))
}

// fitSnapshots makes a snapshot due so early that the reserve covers it.
func (c *Config) fitSnapshots() {
	if c.ReserveBytes < 0 {
		return
	}
	room := c.ReserveBytes - 2*spaceFloor(c.ReserveBytes) - snapshotFixedBytes
	if asked := c.SnapshotBlobBytes + c.SnapshotLogBytes; asked > room {
		part := float64(max(0, room)) / float64(asked)
		c.SnapshotBlobBytes = max(snapshotDueMin, int64(part*float64(c.SnapshotBlobBytes)))
		c.SnapshotLogBytes = max(snapshotDueMin, int64(part*float64(c.SnapshotLogBytes)))
	}
}

// diskSpace says who may write with the space that is left, and what was last noted of it.
type diskSpace struct {
	engine *Engine
	// short says that writes are refused, paused that snapshots wait for space.
	short, paused atomic.Bool
	// noting is held from a look at the space until it is noted: an older look that came to be noted
	// later would log a change that is none.
	noting sync.Mutex
	// unfit says that the last snapshot did not fit and wrote nothing, freed that writes have been
	// accepted again since the last one began.
	unfit, freed atomic.Bool
}

func newDiskSpace(e *Engine) *diskSpace { return &diskSpace{engine: e} }

// freeBytes is the free space of the data directory. The errors are those of the file system.
func (c *Config) freeBytes() (int64, error) {
	if c.free != nil {
		return c.free()
	}
	free, _, err := disk.Free(c.Dir)
	return free, err
}

// room refuses a write of the stores that would use the part of the reserve that is kept for
// sign-in.
func (d *diskSpace) room(bytes int64) error {
	e := d.engine
	if e.config.ReserveBytes < 0 {
		return nil
	}
	free, err := e.config.freeBytes()
	if err != nil {
		return fmt.Errorf("%w: free disk space: %w", disk.ErrNoRoom, err)
	}
	if free-bytes < 2*spaceFloor(e.config.ReserveBytes) {
		return fmt.Errorf("%w: %d bytes are free", disk.ErrNoRoom, free)
	}
	return nil
}

// roomy says whether so many bytes can be written and leave what the next snapshot needs as it is:
// the reserve, and its excess. Writers that free nothing ask it, and wait where it is false.
func (d *diskSpace) roomy(bytes int64) bool {
	e := d.engine
	if e.config.ReserveBytes < 0 {
		return true
	}
	free, err := e.config.freeBytes()
	return err == nil && free-bytes >= e.config.ReserveBytes+d.excess()
}

// excess is how much a snapshot needs beyond the reserve at this moment: there are more contents
// than make one due, or the reserve is smaller than any. It is never less than what roomToSave asks
// for, so that writes stop while a snapshot still fits.
func (d *diskSpace) excess() int64 { return d.excessWith(0) }

// excessWith is excess once the queue of the log is committed, as its contents are recent then.
func (d *diskSpace) excessWith(queuedBytes int64) int64 {
	e := d.engine
	if e.blobs == nil {
		// The log is opened first, and fills its space in advance.
		return e.config.excess(queuedBytes)
	}
	return e.config.excess(e.blobs.RecentBytes() + queuedBytes)
}

// excess is how much a snapshot of so many bytes of contents needs beyond the reserve.
func (c *Config) excess(blobBytes int64) int64 {
	room := snapshotRoom(blobBytes, c.SnapshotLogBytes)
	return max(0, room+2*spaceFloor(c.ReserveBytes)-c.ReserveBytes)
}

func (d *diskSpace) logOptions(dir string) journal.Options {
	e := d.engine
	o := journal.Options{
		Dir: dir, ReserveBytes: e.config.ReserveBytes, OnFailure: e.fail, Needs: d.excessWith,
		QueueBytesMax: e.config.QueueBytesMax,
	}
	if o.ReserveBytes >= 0 {
		o.FloorBytes = max(1, spaceFloor(o.ReserveBytes))
	}
	if e.config.free != nil {
		o.Free = func(string) (int64, error) { return e.config.freeBytes() }
	}
	return o
}

// Space implements api.Engine.
func (e *Engine) Space() api.Space {
	at := e.journal.Space()
	space := api.Space{FreeBytes: at.FreeBytes, ReserveBytes: at.KeptBytes, Writable: at.Writable}
	switch {
	case e.failure.Load() != nil:
		space.Writable, space.Reason = false, reasonLogFailed
	case !space.Writable:
		space.Reason = reasonReserve
	case e.leading() == 0 && !e.otherLeads():
		// Unlike a read, this does not ask the other servers and wait for them.
		space.Writable, space.Reason = false, api.ReasonNotLeading
	}
	return space
}

// noteSpace logs once when writes begin to be refused, and once when they are taken again.
func (d *diskSpace) noteSpace() {
	d.noting.Lock()
	defer d.noting.Unlock()
	e := d.engine
	now := e.Space()
	if now.Reason == reasonLogFailed || now.Reason == api.ReasonNotLeading ||
		d.short.Swap(!now.Writable) == !now.Writable {
		return
	}
	if now.Writable {
		d.freed.Store(true)
		e.log.Info("disk space is available again; all writes are accepted",
			"free", now.FreeBytes, "reserve", now.ReserveBytes)
		return
	}
	if err := e.journal.Space().Fault; err != nil {
		e.log.Error("free disk space is unknown: nothing is written, reads still work",
			"error", err)
		return
	}
	e.log.Warn("disk is nearly full: writes are rejected, reads and sign-in still work; free space",
		"free", now.FreeBytes, "reserve", now.ReserveBytes)
}

// roomToSave refuses a snapshot whose packs would not fit.
func (d *diskSpace) roomToSave() error {
	return d.room(d.engine.blobs.RecentBytes() + snapshotFixedBytes)
}

func (e *Engine) spaceMetrics() []Metric {
	return []Metric{
		{Name: "pws_disk_free_bytes", Help: "Free disk space, without what is queued for the log.",
			Value: func() float64 { return float64(e.Space().FreeBytes) }},
		{Name: "pws_disk_reserve_bytes", Help: "Free disk space below which writes are refused.",
			Value: func() float64 { return float64(e.Space().ReserveBytes) }},
		{Name: "pws_writable", Help: "Whether writes are accepted: 1 or 0.",
			Value: func() float64 {
				if e.Space().Writable {
					return 1
				}
				return 0
			}},
	}
}

// folderBytes is the size of the files in a folder.
func folderBytes(dir string) (bytes int64) {
	_ = filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return nil
		}
		// A file that has just been removed counts as nothing.
		if info, err := entry.Info(); err == nil {
			bytes += info.Size()
		}
		return nil
	})
	return bytes
}
