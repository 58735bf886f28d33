package offline

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"pws/blobs"
	"pws/index/feed"
	"pws/index/search"
	"pws/internal/datadir"
	"pws/journal"
	"pws/journal/replica"
	"pws/snapshot"
	"pws/uploads"
)

// Report is what Verify has counted.
type Report struct {
	// Listed is the list of a backup, which the files are compared with; nil where there is none, and
	// nothing says whether they are complete.
	Listed *Listed
	Log    journal.Report
	// Raft is the log of a member of a group; a single server has none.
	Raft *journal.Report
	// Accepted is what that log has; nil where it is not understood, as NotAccepted says.
	Accepted    *replica.Accepted
	NotAccepted error
	Snapshot    snapshot.Report
	Blobs       blobs.Report
	Feed        feed.Report
	Uploads     uploads.Report
	// Tail is how many entries of the log are not yet in the snapshot.
	Tail       uint64
	Agents     int
	Projects   int
	Changesets uint64
	Operations uint64
	// Contents is how many times an operation names a content; each of them was found.
	Contents uint64
	// Tasks are all that there ever were, Unfinished those that are open work.
	Tasks      int
	Unfinished int
	// Search is what there is to say of the search index, which is no data and never damage.
	Search string
}

// Print writes the counts for people.
func (r *Report) Print(out io.Writer) error {
	var text strings.Builder
	line := func(name, format string, values ...any) {
		fmt.Fprintf(&text, "%-11s", name)
		fmt.Fprintf(&text, format+"\n", values...)
	}
	if r.Listed != nil {
		line("backup", "complete: %s, up to entry %d", counted(r.Listed.Files, "file", "files"),
			r.Listed.Last)
	}
	line("log", "%s (%d to %d, %d not yet in the snapshot) in %s, %s",
		counted(r.Log.Entries, "entry", "entries"), r.Log.First, r.Log.Last, r.Tail,
		counted(r.Log.Segments, "segment", "segments"), counted(r.Log.Bytes, "byte", "bytes"))
	torn := func(bytes int64, file string, offset int64, next string) {
		if bytes > 0 {
			line("", "torn tail: %s of %s at offset %d; the next %s cuts them off",
				counted(bytes, "byte", "bytes"), file, offset, next)
		}
	}
	torn(r.Log.TornBytes, r.Log.TornFile, r.Log.TornOffset, "start")
	if r.Raft != nil {
		line("raft", "%s (%d to %d) in %s, %s", counted(r.Raft.Entries, "record", "records"),
			r.Raft.First, r.Raft.Last, counted(r.Raft.Segments, "segment", "segments"),
			counted(r.Raft.Bytes, "byte", "bytes"))
		torn(r.Raft.TornBytes, r.Raft.TornFile, r.Raft.TornOffset, "start")
		r.printAccepted(line)
	}
	line("snapshot", "generation %d of position %d: %s in %s, %s", r.Snapshot.Generation,
		r.Snapshot.Position, counted(r.Snapshot.Sections, "section", "sections"),
		counted(r.Snapshot.Files, "file", "files"), counted(r.Snapshot.Bytes, "byte", "bytes"))
	line("blobs", "%d in %s, %s", r.Blobs.Blobs, counted(r.Blobs.Packs, "pack", "packs"),
		counted(r.Blobs.Bytes, "byte", "bytes"))
	for i := range r.Blobs.Repaired {
		line("", "repaired: all that was here is in another pack, too: %v", &r.Blobs.Repaired[i])
	}
	line("feed", "%s in %s, %s, up to entry %d", counted(r.Feed.Records, "event", "events"),
		counted(r.Feed.Files, "file", "files"), counted(r.Feed.Bytes, "byte", "bytes"), r.Feed.Last)
	torn(r.Feed.TornBytes, r.Feed.TornFile, r.Feed.TornOffset, "event")
	line("uploads", "%d with %s, %s", r.Uploads.Uploads, counted(r.Uploads.Parts, "part", "parts"),
		counted(r.Uploads.Bytes, "byte", "bytes"))
	line("agents", "%d", r.Agents)
	line("projects", "%d", r.Projects)
	line("changesets", "%d with %s", r.Changesets,
		counted(r.Operations, "operation", "operations"))
	line("tasks", "%d, %d of them unfinished", r.Tasks, r.Unfinished)
	line("contents", "%s, all valid", counted(r.Contents, "reference", "references"))
	line("search", "%s", r.Search)
	_, err := io.WriteString(out, text.String())
	return err
}

// counted is a number with what it counts: 1 entry, 2 entries.
func counted[Number int | int64 | uint64](n Number, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// printAccepted says what a member has accepted, by which members can be compared.
func (r *Report) printAccepted(line func(name, format string, values ...any)) {
	switch accepted := r.Accepted; {
	case accepted != nil:
		line("accepted", "%d of term %d is the newest entry of raft; %s after the log, which ends "+
			"with %d with them", accepted.Index, accepted.Term,
			counted(accepted.Entries(), "entry", "entries"), r.Log.Last+accepted.Entries())
	case r.NotAccepted != nil:
		line("accepted", "not known: %v", r.NotAccepted)
	}
}

// faultsMax bounds the faults that a Damage lists.
const faultsMax = 100

// Damage is what is wrong with a data directory. Faults of the stores name file and offset and
// answer to the ErrCorrupt of wal, snapshot or blobs; the others name what refers to what.
type Damage struct {
	Faults []error
	// Unlisted is how many more there were.
	Unlisted int
}

// Error has a line for each fault.
func (d *Damage) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "damage found, %s:",
		counted(len(d.Faults)+d.Unlisted, "fault", "faults"))
	for _, fault := range d.Faults {
		text.WriteString("\n  " + fault.Error())
	}
	if d.Unlisted > 0 {
		fmt.Fprintf(&text, "\n  and %d more", d.Unlisted)
	}
	return text.String()
}

// Unwrap gives the faults to errors.Is and errors.As.
func (d *Damage) Unwrap() []error { return d.Faults }

func (d *Damage) add(fault error) {
	if len(d.Faults) >= faultsMax {
		d.Unlisted++
		return
	}
	d.Faults = append(d.Faults, fault)
}

func (d *Damage) addf(format string, values ...any) { d.add(fmt.Errorf(format, values...)) }

// Verify checks a data directory that no server uses: every checksum and hash of the stores, that
// they join without a gap, and that all that a state names is there. It changes nothing, and a
// server cannot start meanwhile.
//
// The error is a *Damage, with a report of what could be counted, or datadir.ErrInUse, or what kept
// Verify from reading.
func Verify(dir string, rebuilder NewRebuilder) (*Report, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := datadir.Check(dir); err != nil {
		return nil, err
	}
	lock, err := datadir.LockOffline(dir)
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	v := &verifier{dir: dir, rebuilder: rebuilder}
	v.report.Search = checkSearch(dir)
	if err := v.run(); err != nil {
		return nil, err
	}
	if len(v.damage.Faults) > 0 {
		return &v.report, &v.damage
	}
	return &v.report, nil
}

// checkSearch is what can be said of the search index.
func checkSearch(dir string) string {
	dir = filepath.Join(dir, datadir.SearchName)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return "no index; the next start builds it"
	}
	documents, position, err := search.Check(dir)
	if err != nil {
		return fmt.Sprintf("damaged; the next start rebuilds it: %v", err)
	}
	return fmt.Sprintf("%d documents, of entries up to %d", documents, position)
}

type verifier struct {
	dir       string
	rebuilder NewRebuilder
	report    Report
	damage    Damage
	contents  contentSet
	// listed is nil where there is no list, or the folder differs from it.
	listed *backupList
}

// run returns an error only where the check could not go on; damage is collected.
func (v *verifier) run() error {
	if err := v.checkList(); err != nil {
		return err
	}
	if err := v.checkSecret(); err != nil {
		return err
	}
	logSound, err := v.checkLog()
	if err != nil {
		return err
	}
	if err := v.checkRaft(logSound); err != nil {
		return err
	}
	snapshotSound, err := v.checkSnapshot()
	if err != nil {
		return err
	}
	if err := v.checkBlobs(); err != nil {
		return err
	}
	joined := !logSound || !snapshotSound || v.checkJoin()
	// Without a part of the log nothing is known of the feed.
	if err := v.checkFeed(logSound && joined); err != nil {
		return err
	}
	if err := v.checkUploads(); err != nil {
		return err
	}
	if !logSound || !snapshotSound || !joined {
		// States that are rebuilt from a part would name faults that are none.
		v.damage.addf("references were not checked, because states cannot be rebuilt")
		return nil
	}
	return v.checkStates()
}

// checkList compares the folder of a backup with its list.
func (v *verifier) checkList() error {
	listed, err := checkBackup(v.dir)
	if damage := new(Damage); errors.As(err, &damage) {
		for _, fault := range damage.Faults {
			v.damage.add(fault)
		}
		v.damage.Unlisted += damage.Unlisted
		return nil
	}
	v.listed, v.report.Listed = listed, listed.report()
	return err
}

func (v *verifier) checkSecret() error {
	_, err := os.Stat(filepath.Join(v.dir, datadir.SecretName))
	if err == nil {
		_, err = datadir.ReadSecret(v.dir)
		if errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	if err != nil {
		v.damage.addf("secret: %w", err)
	}
	return nil
}

// missing notes a directory that is not there.
func (v *verifier) missing(err error) bool {
	if !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	v.damage.add(err)
	return true
}

func (v *verifier) checkLog() (sound bool, err error) {
	v.report.Log, err = journal.Verify(filepath.Join(v.dir, datadir.LogName))
	if v.missing(err) {
		return false, nil
	}
	if errors.Is(err, journal.ErrCorrupt) {
		v.damage.add(err)
		return false, nil
	}
	if fault := v.listed.checkLast(v.report.Log.Last); err == nil && fault != nil {
		v.damage.add(fault)
	}
	return err == nil, err
}

// checkRaft checks the records of the log of a member, and what they say of its log of entries.
func (v *verifier) checkRaft(logSound bool) error {
	dir := filepath.Join(v.dir, datadir.RaftName)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	report, err := journal.Verify(dir)
	if errors.Is(err, journal.ErrCorrupt) {
		v.damage.add(err)
		return nil
	}
	v.report.Raft = &report
	if err != nil || !logSound {
		return err
	}
	// Without the file that names the member nobody uses this log.
	if note, err := datadir.ReadMember(v.dir); note == nil {
		return err
	}
	v.report.Accepted, err = replica.ReadAccepted(dir, filepath.Join(v.dir, datadir.LogName),
		v.report.Log.Last)
	switch {
	case errors.Is(err, replica.ErrInconsistent):
		v.damage.add(fmt.Errorf("%s: %w", dir, err))
	case err != nil:
		v.report.NotAccepted = err
	}
	return nil
}

// checkSnapshot counts as sound what has a readable index: a damaged section spoils one project.
func (v *verifier) checkSnapshot() (sound bool, err error) {
	v.report.Snapshot, err = snapshot.Verify(filepath.Join(v.dir, datadir.SnapshotName))
	for i := range v.report.Snapshot.Damage {
		v.damage.add(&v.report.Snapshot.Damage[i])
	}
	if errors.Is(err, snapshot.ErrCorrupt) {
		return true, nil
	}
	return v.check(err, snapshot.ErrLocked)
}

func (v *verifier) checkBlobs() error {
	var err error
	v.report.Blobs, err = blobs.Verify(filepath.Join(v.dir, datadir.BlobsName), v.contents.add)
	for i := range v.report.Blobs.Damage {
		v.damage.add(&v.report.Blobs.Damage[i])
	}
	if v.report.Blobs.NoManifest && v.report.Snapshot.Generation > 0 {
		v.damage.add(blobs.ManifestLost(filepath.Join(v.dir, datadir.BlobsName)))
	}
	if errors.Is(err, blobs.ErrCorrupt) {
		return nil
	}
	_, err = v.check(err, blobs.ErrLocked)
	return err
}

// checkFeed also finds entries missing between the feed and the log. Data of an earlier program has
// no feed; the next start makes one of the log.
func (v *verifier) checkFeed(logSound bool) error {
	dir := filepath.Join(v.dir, datadir.FeedName)
	var err error
	v.report.Feed, err = feed.Verify(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, feed.ErrCorrupt):
		v.damage.add(err)
		return nil
	case errors.Is(err, feed.ErrLocked):
		return fmt.Errorf("%s: %w", v.dir, datadir.ErrInUse)
	case err == nil && logSound && v.report.Feed.Files > 0:
		log := &v.report.Log
		if err := feed.CheckJoin(dir, v.report.Feed.Last, log.First, log.Last); err != nil {
			v.damage.add(err)
		}
	}
	return err
}

// checkUploads checks the parts of uploads. Data of an earlier program have none, and a backup
// only notes.
func (v *verifier) checkUploads() error {
	var err error
	v.report.Uploads, err = uploads.Verify(filepath.Join(v.dir, datadir.UploadsName))
	for i := range v.report.Uploads.Damage {
		v.damage.add(&v.report.Uploads.Damage[i])
	}
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, uploads.ErrCorrupt):
		return nil
	case errors.Is(err, uploads.ErrLocked):
		return fmt.Errorf("%s: %w", v.dir, datadir.ErrInUse)
	}
	return err
}

func (v *verifier) check(err, locked error) (sound bool, _ error) {
	if v.missing(err) {
		return false, nil
	}
	if errors.Is(err, locked) {
		err = fmt.Errorf("%s: %w", v.dir, datadir.ErrInUse)
	}
	return err == nil, err
}

func (v *verifier) checkJoin() bool {
	log := &v.report.Log
	err := CheckJoin(v.dir, v.report.Snapshot.Position, log.First, log.Last)
	if err != nil {
		v.damage.add(err)
	}
	return err == nil
}

// CheckJoin returns journal.ErrCorrupt if entries are missing between a snapshot, which covers
// entries up to covered, and a log with the entries from first to last.
func CheckJoin(dir string, covered, first, last uint64) error {
	dir = filepath.Join(dir, datadir.LogName)
	switch {
	case first > covered+1:
		return fmt.Errorf("%w: %s: the log begins with entry %d and the snapshot covers entries up to "+
			"%d: those between are lost; %s", journal.ErrCorrupt, dir, first, covered, feed.LostLogAdvice)
	case last < covered:
		return fmt.Errorf("%w: %s: the log ends with entry %d and the snapshot covers entries up to "+
			"%d: the end of the log is lost; %s", journal.ErrCorrupt, dir, last, covered, feed.LostLogAdvice)
	}
	return nil
}
