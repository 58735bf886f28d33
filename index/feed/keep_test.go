package feed

import (
	"errors"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
	"pws/internal/id"
)

// busy appends records of projects that follow each other, and expires after each batch. It checks
// that the log does not grow.
func busy(t *testing.T, l *Log, from, count uint64, of func(entry uint64) id.ID) {
	t.Helper()
	const batch = 500
	for entry := from; entry < from+count; {
		var records []Record
		for range batch {
			records = append(records, recordOf(At(entry, 0, 0), of(entry), int64(entry)))
			entry++
		}
		if err := l.Append(records, entry-1); err != nil {
			t.Fatal(err)
		}
		if err := l.Expire(0); err != nil {
			t.Fatal(err)
		}
		s := l.Stats()
		if most := uint64(2*l.opts.Events + 2*l.opts.fileRecords() + batch); s.Records > most {
			t.Fatalf("%d records are stored, more than %d", s.Records, most)
		}
		const filesMost = 4 * parts
		if s.Files > filesMost {
			t.Fatalf("%d files", s.Files)
		}
	}
}

// TestBusyProjectsDoNotRemoveOthers writes many times what is kept into one project, and into many:
// what was written into others stays.
func TestBusyProjectsDoNotRemoveOthers(t *testing.T) {
	const quiet, events = 40, 8192
	options := Options{Dir: t.TempDir(), Events: events, Each: 20}
	l := reopen(t, options)
	busy(t, l, 1, 500, func(entry uint64) id.ID { return project(int(entry % quiet)) })
	const first = 1000
	busy(t, l, 501, 10*events, func(uint64) id.ID { return project(first) })
	check := func(least int) {
		t.Helper()
		for nth := range quiet {
			all := chain(t, l, Query{Limit: 7, Project: project(nth)})
			newest := 0
			err := l.Newest(EndOf(1<<60), []id.ID{project(nth)}, func(*Record) Step {
				newest++
				return Next
			})
			if len(all) < least || newest != len(all) || err != nil {
				t.Fatalf("%d and %d records of a project are left, %v", len(all), newest, err)
			}
		}
	}
	// Each has 12 or 13 records.
	check(12)
	// All projects together have more newest records than there is room for: each keeps fewer.
	many := func(entry uint64) id.ID { return project(first + int(entry%1000)) }
	busy(t, l, 501+10*events, 10*events, many)
	check(3)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	l = reopen(t, options)
	check(3)
	// They are more projects than there is room for one record of each: the newest remain.
	lone := func(entry uint64) id.ID { return project(int(entry) + first) }
	busy(t, l, 501+20*events, 10*events, lone)
	for nth := range quiet {
		if all := chain(t, l, Query{Limit: 7, Project: project(nth)}); len(all) > 0 {
			t.Fatalf("%d records of a project are left", len(all))
		}
	}
	newest := lone(500 + 30*events - events - events/3)
	if all := chain(t, l, Query{Limit: 7, Project: newest}); len(all) != 1 {
		t.Fatalf("%d records of a new project", len(all))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestKeptFilesAfterCrash finds a file whose place another one has taken, as a crash leaves it.
func TestKeptFilesAfterCrash(t *testing.T) {
	options := Options{Dir: t.TempDir(), Events: 4096, Each: 10}
	l := reopen(t, options)
	of := func(entry uint64) id.ID {
		const before = 300
		if entry < before {
			return project(int(entry % 5))
		}
		return project(4)
	}
	busy(t, l, 1, 6500, of)
	s := l.snapshot()
	if s.kept() != 1 {
		t.Fatalf("%d kept files", s.kept())
	}
	kept := s.files[0]
	content, err := os.ReadFile(kept.path)
	if err != nil {
		t.Fatal(err)
	}
	busy(t, l, 6501, 2500, of)
	want := everything(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := os.WriteFile(kept.path, content, 0o600); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(options.Dir)
		if err != nil || report.Records != uint64(len(want)) {
			t.Fatalf("%+v, %v", report, err)
		}
		l = reopen(t, options)
		if !slices.EqualFunc(everything(t, l), want, samePosition) {
			t.Fatal("the records are others")
		}
		name := filepath.Base(kept.path)
		if names, err := (disk.OS{}).List(options.Dir); err != nil || slices.Contains(names, name) {
			t.Fatalf("%s is still there: %v", name, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// BenchmarkExpire appends records of 10,000 projects to a full log, and removes as many. An
// operation is one record.
func BenchmarkExpire(b *testing.B) {
	l := reopen(b, Options{Dir: b.TempDir()})
	defer l.Close()
	entry := uint64(0)
	var batch []Record
	write := func(count int) {
		const projects, batchRecords = 10_000, 1000
		for range count {
			entry++
			at := At(entry, 0, 0)
			batch = append(batch, recordOf(at, project(int(entry*7919%projects)), int64(entry)))
			if len(batch) == batchRecords {
				if err := l.Append(batch, entry); err != nil {
					b.Fatal(err)
				}
				batch = batch[:0]
			}
		}
	}
	expire := func() {
		if err := l.Expire(0); err != nil {
			b.Fatal(err)
		}
	}
	for range 3 * parts {
		write(l.opts.fileRecords())
		expire()
	}
	longest := time.Duration(0)
	b.ResetTimer()
	for n := 0; n < b.N; n += l.opts.fileRecords() {
		b.StopTimer()
		write(l.opts.fileRecords())
		b.StartTimer()
		began := time.Now()
		expire()
		longest = max(longest, time.Since(began))
	}
	b.ReportMetric(float64(l.Stats().Records), "records")
	b.ReportMetric(float64(longest.Milliseconds()), "ms-longest")
}

// TestNoKeptFilesWhereEarlierProgramsMayFollow removes the oldest files until there may be kept
// ones.
func TestNoKeptFilesWhereEarlierProgramsMayFollow(t *testing.T) {
	agreed := false
	options := Options{
		Dir: t.TempDir(), Events: 1024, Each: 10, MayKeep: func() bool { return agreed },
	}
	l := reopen(t, options)
	quiet := func(entry uint64) id.ID { return project(int(entry % 5)) }
	other := func(uint64) id.ID { return project(9) }
	busy(t, l, 1, 500, quiet)
	busy(t, l, 501, 5000, other)
	if s := l.snapshot(); s.kept() > 0 || len(everything(t, l)) > 0 || s.first != s.whole {
		t.Fatalf("%d kept files", s.kept())
	}
	agreed = true
	busy(t, l, 5501, 500, quiet)
	busy(t, l, 6001, 5000, other)
	if s := l.snapshot(); s.kept() == 0 || len(everything(t, l)) != 50 {
		t.Fatalf("%d kept files, %d records", s.kept(), len(everything(t, l)))
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestProjectsHaveNoGaps has projects that are busy at times, others that have few events, and many
// with one: what is kept of each has no gaps, also AFTER a crash between two files.
func TestProjectsHaveNoGaps(t *testing.T) {
	const events, phase = 4096, 1500
	d := disktest.New()
	options := Options{Dir: "/feed", Events: events, Each: 16, Disk: d}
	l := reopen(t, options)
	dice := rand.New(rand.NewPCG(1, 2))
	all := map[id.ID][]Position{}
	check := func(l *Log) {
		t.Helper()
		for of, want := range all {
			got := chain(t, l, Query{Limit: 100, Project: of})
			if len(got) > len(want) || !slices.EqualFunc(got, want[len(want)-len(got):],
				func(a Record, b Position) bool { return a.Position == b }) {
				t.Fatalf("%d records of a project are not its last", len(got))
			}
		}
	}
	entry := uint64(1)
	for range 40 {
		busiest, share := dice.IntN(300), dice.IntN(100)
		busy(t, l, entry, phase, func(entry uint64) id.ID {
			of := project(int(entry) + 1000)
			switch draw := dice.IntN(100); {
			case draw < share:
				of = project(busiest)
			case draw%2 == 0:
				of = project(dice.IntN(300))
			}
			all[of] = append(all[of], At(entry, 0, 0))
			return of
		})
		entry += phase
		check(l)
	}
	if err := l.Sync(); err != nil {
		t.Fatal(err)
	}
	// Whatever of the next steps a power loss leaves, there is no gap.
	for step := range 40 {
		crashed := d.AfterCrash(step % disktest.CrashKinds)
		crashed.FailAt = crashed.Ops + step
		again, err := Open(Options{Dir: "/feed", Events: events / 2, Each: 8, Disk: crashed})
		if err != nil {
			continue
		}
		_ = again.Expire(0)
		check(again)
		options.Disk = crashed.AfterCrash(step % disktest.CrashKinds)
		check(reopen(t, options))
	}
}

// TestExpireLeavesOutDamage damages a block of an old file: it is reported once, what is older is
// removed, and the log goes on.
func TestExpireLeavesOutDamage(t *testing.T) {
	options := Options{Dir: t.TempDir(), Events: 2048, Each: 10}
	l := reopen(t, options)
	busy(t, l, 1, 1500, func(entry uint64) id.ID { return project(int(entry / 50)) })
	file := l.snapshot().files[1]
	content, err := os.ReadFile(file.path)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)-5] ^= 1
	if err := os.WriteFile(file.path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	damaged := 0
	for entry := uint64(1501); entry <= 12_000; entry++ {
		one := recordOf(At(entry, 0, 0), project(int(900+entry%5)), int64(entry))
		if err := l.Append([]Record{one}, entry); err != nil {
			t.Fatal(err)
		}
		if err := l.Expire(0); errors.Is(err, ErrCorrupt) {
			damaged++
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if damaged != 1 {
		t.Errorf("%d reports", damaged)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if report, err := Verify(options.Dir); err != nil {
		t.Errorf("%+v, %v", report, err)
	}
}

// TestExpireGoesOnAfterFailures has each operation of a change fail. The next one works, and
// appends and syncs work in between.
func TestExpireGoesOnAfterFailures(t *testing.T) {
	for nth := 0; ; nth++ {
		failing := &failAt{Disk: disk.OS{}, left: -1}
		options := Options{Dir: t.TempDir(), Events: 4096, Each: 10, Disk: failing}
		l := reopen(t, options)
		for entry := uint64(1); entry <= 7000; entry++ {
			one := recordOf(At(entry, 0, 0), project(int(entry%5+entry/500*5)), int64(entry))
			if err := l.Append([]Record{one}, entry); err != nil {
				t.Fatal(err)
			}
		}
		failing.left = nth
		err := l.Expire(0)
		failed := failing.left < 0
		failing.left = -1
		if err == nil && failed {
			t.Fatalf("the failure of operation %d is not noticed", nth)
		}
		// What is not certain to be on the disk ends the log.
		if lasting := l.Sync(); lasting == nil {
			if err := l.Expire(0); err != nil {
				t.Fatalf("after the failure of operation %d: %v", nth, err)
			}
		} else if !errors.Is(err, errFailAt) || !errors.Is(lasting, errFailAt) {
			t.Fatalf("after the failure of operation %d: %v, %v", nth, err, lasting)
		}
		_ = l.Close()
		again := reopen(t, options)
		if err := again.Expire(0); err != nil {
			t.Fatal(err)
		}
		if s := again.snapshot(); s.kept() == 0 || s.end-s.whole < 4096 {
			t.Fatalf("%d kept files", s.kept())
		}
		if names, err := (disk.OS{}).List(options.Dir); err != nil || slices.ContainsFunc(names,
			func(name string) bool { return strings.HasSuffix(name, newSuffix) }) {
			t.Fatalf("%q, %v", names, err)
		}
		if err := again.Close(); err != nil {
			t.Fatal(err)
		}
		if !failed {
			if nth < 4 {
				t.Errorf("%d operations", nth)
			}
			return
		}
	}
}
