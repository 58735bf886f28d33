package wal

// FaultDisk is a disk that fails, for tests of what stands on a Log.
type FaultDisk struct{ faultDisk }

// FaultModes is the number of ways in which a call fails; see faultSegment.
const FaultModes = faultModes

// ErrFault is the error of an injected failure.
var ErrFault = errFault

// NewFaultDisk returns a disk whose call of a number fails, 0 for none.
func NewFaultDisk(failAt, mode int) *FaultDisk {
	return &FaultDisk{faultDisk{failAt: failAt, mode: mode}}
}

// Options are those of a small log on the disk.
func (d *FaultDisk) Options(dir string) Options {
	return Options{Dir: dir, SegmentBytes: 1000, disk: &d.faultDisk, now: clock()}
}

// Calls is how many calls there were.
func (d *FaultDisk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// Failed is the name of the call that has failed, empty for none.
func (d *FaultDisk) Failed() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.failed
}
