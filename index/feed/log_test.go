package feed

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"pws/internal/disk"
	"pws/internal/disk/disktest"
	"pws/internal/id"
	"pws/work"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// failing is the common interface of tests and property checks.
type failing interface {
	Helper()
	Fatal(args ...any)
}

func project(nth int) id.ID { return id.New(int64(nth), [10]byte{1}) }

// recordOf makes a record with all possible fields, derived from its position.
func recordOf(at Position, of id.ID, millis int64) Record {
	activity := work.Activity{
		Type: work.ActivityTaskCreated, Actor: project(7),
		Subject: work.Subject{Type: work.SubjectTask, ID: id.New(millis, [10]byte{byte(at.Nth)})},
	}
	switch at.Entry % 3 {
	case 1:
		activity.Facts = []work.Fact{
			{Name: work.FactVisibility, Text: strings.Repeat("x", int(at.Entry%40))},
			{Name: work.FactOperations, Number: int64(at.Entry)},
		}
	case 2:
		activity.Other = project(9)
		activity.Facts = []work.Fact{{Name: work.FactClaim, ID: project(int(at.Entry))}}
	}
	return Record{Position: at, Project: of, At: millis, Activity: activity}
}

// model is the expected content: all records ever appended, and the minimum number kept.
type model struct {
	all     []Record
	covered uint64
	now     int64
}

// entries makes the records of the next entries; some entries have none.
func (m *model) entries(t *rapid.T) []Record {
	first := len(m.all)
	busiest, share := rapid.IntRange(0, 5).Draw(t, "busiest"), rapid.Uint64Range(0, 9).Draw(t, "share")
	for range rapid.IntRange(1, 400).Draw(t, "entries") {
		m.covered++
		m.now += int64(m.covered % 5)
		for nth := range m.covered * 7 % 4 {
			of := project(int(m.covered*5+nth) % 6)
			if m.covered*7%10 < share {
				of = project(busiest)
			}
			m.all = append(m.all, recordOf(At(m.covered, int(nth), 0), of, m.now))
		}
	}
	return m.all[first:]
}

// behind returns the records after an entry.
func (m *model) behind(entry uint64) []Record {
	at, _ := slices.BinarySearchFunc(m.all, entry+1, func(r Record, entry uint64) int {
		return r.Compare(Position{Entry: entry})
	})
	return m.all[at:]
}

// chain reads all records after a position, in pages.
func chain(t failing, l *Log, q Query) (all []Record) {
	t.Helper()
	for {
		page, err := l.Read(q)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, page.Records...); !page.More {
			return all
		}
		q.After = page.Next
	}
}

// check compares all queries of a log with the model. each is the number of records that every
// project keeps.
func (m *model) check(t *rapid.T, l *Log, each int, age int64) {
	whole := chain(t, l, Query{Limit: rapid.IntRange(1, 300).Draw(t, "limit")})
	if len(whole) > len(m.all) || !reflect.DeepEqual(
		append([]Record{}, whole...), append([]Record{}, m.all[len(m.all)-len(whole):]...)) {
		t.Fatalf("%d records are not the last of %d", len(whole), len(m.all))
	}
	gone := m.all[:len(m.all)-len(whole)]
	if len(gone) > 1 {
		checkGone(t, l, Query{After: gone[0].Position}, gone[len(gone)-1].Position, whole)
	}
	var kept []Record
	for nth := range 7 {
		kept = append(kept, m.checkProject(t, l, project(nth), whole, each, age)...)
	}
	if uint64(len(kept)) != l.Stats().Records || l.Covered() != m.covered {
		t.Fatalf("%d records, covered %d: %+v", len(kept), m.covered, l.Stats())
	}
	slices.SortFunc(kept, func(a, b Record) int { return a.Compare(b.Position) })
	if len(whole) > 0 {
		at := rapid.IntRange(0, len(whole)-1).Draw(t, "at")
		checkBehind(t, l, Query{After: whole[at].Position}, whole[at+1:])
	}
	m.checkSince(t, l, whole)
	checkNewest(t, l, kept)
}

// checkProject reads the records of a project, which are its newest ones, and returns them.
func (m *model) checkProject(
	t *rapid.T, l *Log, one id.ID, whole []Record, each int, age int64,
) (kept []Record) {
	var all, young []Record
	for _, record := range m.all {
		if record.Project == one {
			all = append(all, record)
		}
	}
	for _, record := range m.behindTime(age) {
		if record.Project == one {
			young = append(young, record)
		}
	}
	kept = chain(t, l, Query{Limit: 50, Project: one})
	if len(kept) > len(all) || !slices.EqualFunc(kept, all[len(all)-len(kept):], samePosition) {
		t.Fatalf("%d records of a project are not the last of %d", len(kept), len(all))
	}
	if len(kept) < min(each, len(young)) {
		t.Fatalf("%d records of a project, and %d are young", len(kept), len(young))
	}
	gone := all[:len(all)-len(kept)]
	if len(kept) > 0 {
		at := rapid.IntRange(0, len(kept)-1).Draw(t, "at")
		checkBehind(t, l, Query{Project: one, After: kept[at].Position}, kept[at+1:])
		if oldest := kept[0]; len(gone) > 0 && len(whole) > 0 &&
			oldest.Compare(whole[0].Position) < 0 {
			q := Query{Project: one, After: gone[len(gone)-1].Position}
			if before := oldest.before(); q.After != before {
				checkGone(t, l, q, before, kept)
			}
		}
	}
	return kept
}

func samePosition(a, b Record) bool { return a.Position == b.Position }

// checkBehind compares all records that a query finds.
func checkBehind(t *rapid.T, l *Log, q Query, want []Record) {
	q.Limit = 70
	if got := chain(t, l, q); !slices.EqualFunc(got, want, samePosition) {
		t.Fatalf("%d records behind %v, not %d", len(got), q.After, len(want))
	}
}

// checkGone reads behind a removed record, and from the oldest position on.
func checkGone(t *rapid.T, l *Log, q Query, oldest Position, kept []Record) {
	_, err := l.Read(q)
	var expired Expired
	if !errors.As(err, &expired) || expired.Oldest != oldest {
		t.Fatalf("after a removed record: %v, not %v", err, oldest)
	}
	q.After = oldest
	checkBehind(t, l, q, kept)
}

// checkSince reads the records since a time.
func (m *model) checkSince(t *rapid.T, l *Log, kept []Record) {
	since := rapid.Int64Range(1, m.now+SinceSlackMillis+1).Draw(t, "since")
	var want []Position
	for _, record := range kept {
		if record.At >= since-SinceSlackMillis {
			want = append(want, record.Position)
		}
	}
	var got []Position
	for _, record := range chain(t, l, Query{Limit: 60, Since: since}) {
		got = append(got, record.Position)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("since %d: %d records, not %d", since, len(got), len(want))
	}
}

// TestFeedMatchesItsModel runs random appends, syncs, crashes, restarts and expiry. After each step
// the log must match the model.
func TestFeedMatchesItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := disktest.New()
		options := Options{
			Dir: "/feed", Events: rapid.IntRange(100, 9000).Draw(t, "events"), Disk: d,
			AgeMillis: rapid.Int64Range(500, 100_000).Draw(t, "age"),
			Newest:    rapid.IntRange(1, 500).Draw(t, "newest"),
		}
		const projects = 6
		options.Each = rapid.IntRange(1, options.Events/2/projects).Draw(t, "each")
		var m model
		l, err := Open(options)
		if err != nil {
			t.Fatal(err)
		}
		durable := uint64(0)
		for range rapid.IntRange(1, 25).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1, 2:
				records := m.entries(t)
				if err := l.Append(records, m.covered); err != nil {
					t.Fatal(err)
				}
			case 3:
				if err := l.Sync(); err != nil {
					t.Fatal(err)
				}
				durable = m.covered
			case 4:
				m.now += rapid.Int64Range(0, options.AgeMillis).Draw(t, "passes")
				if err := l.Expire(m.now); err != nil {
					t.Fatal(err)
				}
				m.checkAge(t, l, options.AgeMillis)
			case 5:
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
				l = reopen(t, options)
			case 6:
				d = d.AfterCrash(rapid.IntRange(0, disktest.CrashKinds-1).Draw(t, "crash"))
				options.Disk = d
				l = reopen(t, options)
				if l.Covered() < durable || l.Covered() > m.covered {
					t.Fatalf("covered is %d, durable was %d", l.Covered(), durable)
				}
				// Records after the covered entry are appended again, as after a restart; some are
				// already stored.
				if err := l.Append(m.behind(l.Covered()), m.covered); err != nil {
					t.Fatal(err)
				}
			}
			m.check(t, l, options.Each, options.AgeMillis)
		}
		whole := chain(t, l, Query{Limit: 500})
		if len(whole) < min(options.Events, len(m.behindTime(options.AgeMillis))) {
			t.Fatalf("%d records are kept", len(whole))
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	})
}

// checkAge checks that records of kept files are removed when they are too old.
func (m *model) checkAge(t *rapid.T, l *Log, age int64) {
	s := l.snapshot()
	if s.kept() > 0 && s.files[0].firstAt < m.now-age-age/parts {
		t.Fatalf("a record of %d is kept at %d", s.files[0].firstAt, m.now)
	}
}

// behindTime returns the records that are not too old.
func (m *model) behindTime(age int64) []Record {
	at, _ := slices.BinarySearchFunc(m.all, m.now-age, func(r Record, at int64) int {
		if r.At < at {
			return -1
		}
		return 1
	})
	return m.all[at:]
}

func reopen(t failing, options Options) *Log {
	t.Helper()
	l, err := Open(options)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// fill appends entries of three records each, and syncs from time to time.
func fill(l *Log, from, to uint64) error {
	for entry := from; entry <= to; entry++ {
		var records []Record
		for nth := range 3 {
			of := project(int(entry) % 5)
			records = append(records, recordOf(At(entry, nth, 0), of, int64(entry)))
		}
		if err := l.Append(records, entry); err != nil {
			return err
		}
		if entry%100 == 0 {
			if err := l.Sync(); err != nil {
				return err
			}
		}
	}
	return l.Sync()
}

// TestEveryFailure fails each disk operation once and then simulates a power loss. Everything
// reported as durable must be there, and the rest can be appended again.
func TestEveryFailure(t *testing.T) {
	for fail := 1; ; fail++ {
		d := disktest.New()
		options := Options{Dir: "/feed", Events: 600, Each: 55, Disk: d}
		l := reopen(t, options)
		d.FailAt = d.Ops + fail
		durable := uint64(0)
		for entry := uint64(0); entry < 1000; entry += 100 {
			if fill(l, entry+1, entry+100) == nil {
				durable = l.Covered()
			}
			_ = l.Expire(int64(entry))
			checkEach(t, l, min(options.Each, int(l.Covered()/10)), fail)
		}
		if d.Ops < d.FailAt {
			return
		}
		covered := l.Covered()
		options.Disk = d.AfterCrash(fail % disktest.CrashKinds)
		l = reopen(t, options)
		if l.Covered() < durable {
			t.Fatalf("failure %d: covered is %d and was %d", fail, l.Covered(), durable)
		}
		for entry := l.Covered() + 1; entry <= covered; entry++ {
			if err := fill(l, entry, entry); err != nil {
				t.Fatal(err)
			}
		}
		checkEach(t, l, options.Each, fail)
		all := chain(t, l, Query{Limit: 500})
		if len(all) < 600 {
			t.Fatalf("failure %d: %d records", fail, len(all))
		}
		for i := range all[1:] {
			if before, next := all[i], all[i+1]; next.Entry != before.Entry+1 &&
				(next.Entry != before.Entry || next.Nth != before.Nth+work.ActivitiesMax) {
				t.Fatalf("failure %d: %v follows %v", fail, next.Position, before.Position)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkEach checks that the newest records of each project of fill are there, without gaps.
func checkEach(t *testing.T, l *Log, each, fail int) {
	t.Helper()
	for nth := range 5 {
		all := chain(t, l, Query{Limit: 500, Project: project(nth)})
		if len(all) < each {
			t.Fatalf("failure %d: %d records of a project", fail, len(all))
		}
		for i := range all[1:] {
			before, next := all[i], all[i+1]
			if next.Entry != before.Entry+5 &&
				(next.Entry != before.Entry || next.Nth != before.Nth+work.ActivitiesMax) {
				t.Fatalf("failure %d: %v follows %v", fail, next.Position, before.Position)
			}
		}
	}
}

// TestSyncAfterKill simulates a process that writes without a sync and is killed. Records that the
// next process reads and syncs must survive a power loss, because the log of the service is cut
// after that sync.
func TestSyncAfterKill(t *testing.T) {
	d := disktest.New()
	l := reopen(t, Options{Dir: "/feed", Disk: d})
	var records []Record
	for entry := uint64(1); entry <= blockRecords; entry++ {
		records = append(records, recordOf(At(entry, 0, 0), project(1), int64(entry)))
	}
	if err := l.Append(records, blockRecords); err != nil {
		t.Fatal(err)
	}
	d = d.AfterKill()
	l = reopen(t, Options{Dir: "/feed", Disk: d})
	if err := l.Sync(); err != nil || l.Covered() != blockRecords {
		t.Fatalf("covered is %d after a kill: %v", l.Covered(), err)
	}
	l = reopen(t, Options{Dir: "/feed", Disk: d.AfterCrash(disktest.CrashKeepsNothing)})
	if got := chain(t, l, Query{Limit: blockRecords}); !reflect.DeepEqual(got, records) {
		t.Fatalf("%d records of %d are left, covered is %d", len(got), len(records), l.Covered())
	}
}

// TestDamagedRecordsAreNeverReturned flips each byte and truncates at each offset: no wrong record
// is ever returned, and undetected loss is possible only at the end.
func TestDamagedRecordsAreNeverReturned(t *testing.T) {
	for name, options := range map[string]Options{
		"whole files": {Events: 100_000},
		"kept files":  {Events: 40, Each: 15},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := disktest.New()
			options.Dir, options.AgeMillis, options.Disk = "/feed", 16*9, d
			l := reopen(t, options)
			for entry := uint64(0); entry < 30; entry += 10 {
				if err := fill(l, entry+1, entry+10); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Expire(0); err != nil {
				t.Fatal(err)
			}
			want := everything(t, l)
			s := l.snapshot()
			if len(s.files) < 2 || (s.kept() > 0) != (options.Each > 0) {
				t.Fatalf("%d files, %d kept", len(s.files), s.kept())
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			testDamage(t, d, options, s.files[len(s.files)-1].path, want)
		})
	}
}

// everything reads the records of all projects of fill, in order.
func everything(t failing, l *Log) (all []Record) {
	t.Helper()
	for nth := range 5 {
		all = append(all, chain(t, l, Query{Limit: 500, Project: project(nth)})...)
	}
	slices.SortFunc(all, func(a, b Record) int { return a.Compare(b.Position) })
	return all
}

func testDamage(t *testing.T, d *disktest.Disk, options Options, last string, want []Record) {
	for name, sound := range d.Files() {
		for i := range sound.Data {
			for _, cut := range []bool{false, true} {
				next := d.AfterCrash(disktest.CrashKeepsAll)
				data := next.Files()[name]
				if data.Data[i] ^= 0x10; cut {
					data.Data = data.Data[:i]
				}
				options.Disk = next
				l, err := Open(options)
				place := fmt.Sprintf("%s at %d, cut %v", name, i, cut)
				var damage *disk.CorruptError
				switch {
				case errors.As(err, &damage):
					if damage.File == "" || !errors.Is(err, ErrCorrupt) {
						t.Fatalf("%s: %v", place, err)
					}
					continue
				case err != nil:
					t.Fatalf("%s: %v", place, err)
				case name != last:
					t.Fatalf("%s: the damage is not detected", place)
				}
				got := everything(t, l)
				if !reflect.DeepEqual(got, want[:len(got)]) || len(got) == len(want) && !cut {
					t.Fatalf("%s: %d records of %d", place, len(got), len(want))
				}
				if err := l.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// TestFloorOfEmptyLog expires all records: the log is then empty and keeps its floor.
func TestFloorOfEmptyLog(t *testing.T) {
	options := Options{Dir: "/feed", AgeMillis: 1000, Disk: disktest.New()}
	l := reopen(t, options)
	l.Begin(50)
	if page, err := l.Read(Query{After: Start, Limit: 1}); !errors.As(err, new(Expired)) {
		t.Fatalf("before the first record: %v, %v", page, err)
	}
	if err := fill(l, 51, 60); err != nil {
		t.Fatal(err)
	}
	if err := l.Expire(5000); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if s := l.Stats(); s.Records != 0 || s.Files != 1 || s.Covered != 60 {
			t.Fatalf("%+v", s)
		}
		if _, err := l.Read(Query{After: At(60, 1, 0), Limit: 1}); !errors.As(err, new(Expired)) {
			t.Fatalf("after a removed record: %v", err)
		}
		page, err := l.Read(Query{After: At(60, 2, 0), Limit: 1})
		if err != nil || page.More || len(page.Records) > 0 || page.Next != At(60, 2, 0) {
			t.Fatalf("after the last record: %v, %v", page, err)
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		l = reopen(t, options)
	}
	if l.Empty() {
		t.Fatal("Empty is true")
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestReadDuringExpire reads while records are appended, removed and redacted.
func TestReadDuringExpire(t *testing.T) {
	l := reopen(t, Options{Dir: "/feed", Events: 2000, Newest: 64, Disk: disktest.New()})
	done := make(chan error)
	ended := make(chan struct{})
	go func() {
		var failed error
		for failed == nil {
			failed = errors.Join(l.Expire(0), l.Redact(map[id.ID]bool{project(4): true}))
			select {
			case <-ended:
				done <- failed
				return
			default:
			}
		}
		done <- failed
	}()
	for reader := range 3 {
		go func() { done <- walk(l, reader) }()
	}
	var failed error
	for entry := uint64(0); entry < 8000 && failed == nil; entry += 100 {
		failed = fill(l, entry+1, entry+100)
	}
	close(ended)
	for range 4 {
		failed = errors.Join(failed, <-done)
	}
	if err := errors.Join(failed, l.Close()); err != nil {
		t.Fatal(err)
	}
}

// walk reads all records of one project. They must be consecutive, except after an Expired error.
func walk(l *Log, nth int) error {
	random := rand.New(rand.NewPCG(1, uint64(nth)))
	q := Query{Project: project(nth)}
	var last Record
	for last.Entry+5 <= 8000 {
		q.Limit = 1 + random.IntN(200)
		page, err := l.Read(q)
		var expired Expired
		if errors.As(err, &expired) {
			q.After, last = expired.Oldest, Record{}
			continue
		}
		if err != nil {
			return err
		}
		for _, one := range page.Records {
			if last.Entry > 0 && one.Entry != last.Entry+5 &&
				(one.Entry != last.Entry || one.Nth != last.Nth+work.ActivitiesMax) {
				return fmt.Errorf("%v follows %v", one.Position, last.Position)
			}
			last = one
		}
		q.After = page.Next
	}
	return nil
}
