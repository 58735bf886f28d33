package work_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"sync"
	"testing"

	"pws/internal/id"
	"pws/work"
)

// testNow is where the clocks of the tests start.
const testNow = int64(1_763_600_000_000)

// agent is the agent of a name.
func agent(name string) id.ID {
	var entropy [10]byte
	copy(entropy[:], name)
	return id.New(testNow, entropy)
}

func blob(content string) work.Blob {
	return work.Blob{Hash: sha256.Sum256([]byte(content)), Content: []byte(content)}
}

// stored is what one command left in the log.
type stored struct {
	kinds  []work.Kind
	events [][]byte
	moment work.Moment
	result *work.StoredResult
}

// world is the owner of one project as the tests need it: it decides, keeps the log, and applies
// to a clone.
type world struct {
	project *work.Project
	now     int64
	steps   uint64
	log     []stored
	// blobs are the contents that commands have brought.
	blobs map[work.Hash][]byte
	// spill takes histories out of the heap; nil leaves them there.
	spill work.Spill
}

func newWorld() *world { return &world{now: testNow, blobs: map[work.Hash][]byte{}} }

func (w *world) stamp(who id.ID) work.Stamp {
	w.steps++
	stamp := work.Stamp{Now: w.now, Agent: who}
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(nil, w.steps))
	copy(stamp.Entropy[:], sum[:])
	return stamp
}

// do gives a command, and keeps its result under a key where one is given.
func (w *world) do(who id.ID, command work.Command, key ...byte) (work.Decision, error) {
	if err := work.Authorize(command, w.project, who); err != nil {
		return work.Decision{}, err
	}
	stamp := w.stamp(who)
	decision, err := work.Decide(command, w.project, stamp)
	if err != nil {
		return decision, err
	}
	if decision.Refusal != nil {
		key = nil
	}
	if len(decision.Events) == 0 && len(key) == 0 {
		return decision, decision.Refusal
	}
	for _, brought := range decision.Blobs {
		w.blobs[brought.Hash] = brought.Content
		if work.IsManifest(brought.Content) {
			manifests.Store(brought.Hash, brought.Content)
		} else if len(brought.Content) > 0 && brought.Content[0] == 0xff {
			awayTexts.Store(brought.Hash, brought.Content)
		}
	}
	next, before := work.NewProject(), w.project
	var records any
	if before != nil {
		next, records = before.Clone(), work.CoordinationOf(before)
	}
	entry := stored{moment: work.Moment{Now: stamp.Now, Agent: who}}
	for _, event := range decision.Events {
		data, err := work.EncodeEvent(nil, event)
		if err != nil {
			return decision, err
		}
		entry.kinds = append(entry.kinds, work.KindOf(event))
		entry.events = append(entry.events, data)
		next.Apply(event, entry.moment)
	}
	if len(key) > 0 {
		entry.result = &work.StoredResult{
			Key: [16]byte{key[0]}, Fingerprint: [16]byte{1}, Result: decision.Result,
			ExpiresAt: stamp.Now + work.IdempotencySeconds*1000,
		}
		if key[0]%3 == 0 {
			entry.result.Status, entry.result.Body = 201, []byte("body")
			made, ok := next.Task(decision.Result.Subject, stamp.Now)
			if ok && !made.Texts().None() {
				entry.result.Tasks = []work.TaskTexts{made.Texts()}
			}
			talk, ok := next.Discussion(decision.Result.Subject)
			entry.result.LeftOut = ok && talk.Away != nil
		}
		next.Remember(*entry.result, stamp.Now)
	}
	if w.spill != nil {
		next.SpillHistory(w.spill)
	}
	if before != nil && !work.HasCoordination(before, records) {
		panic(fmt.Sprintf("%T changed records of an older state", command))
	}
	w.project = next
	w.log = append(w.log, entry)
	return decision, decision.Refusal
}

// must gives a command that the test relies on, as its owner.
func (w *world) must(t testing.TB, command work.Command) work.Decision {
	t.Helper()
	decision, err := w.do(agent("ann"), command)
	if err != nil {
		t.Fatalf("%T: %v", command, err)
	}
	return decision
}

// awayTexts are the contents with long texts of records that the tests have stored.
var awayTexts sync.Map

// whole is a handoff with its texts.
func whole(h *work.Handoff) (*work.Handoff, error) {
	if h.Away == nil {
		return h, nil
	}
	content, ok := awayTexts.Load(h.Away.Hash)
	if !ok {
		return nil, errors.New("its texts are not stored")
	}
	return h.WithTexts(content.([]byte))
}

// manifests are the parts of those that the tests have stored.
var manifests sync.Map

func readTree(root work.Hash) (*work.Tree, error) {
	return work.ReadTree(root, func(hash work.Hash) ([]byte, error) {
		content, ok := manifests.Load(hash)
		if !ok {
			return nil, errors.New("it is not stored")
		}
		return content.([]byte), nil
	})
}

// giveTree gives an event the tree that it names.
func giveTree(event work.Event) error {
	needs, ok := event.(work.NeedsTree)
	if !ok {
		return nil
	}
	tree, err := readTree(needs.TreeRoot())
	needs.GiveTree(tree)
	return err
}

// replayOn applies entries of a log to a state; nil is the empty state.
func replayOn(p *work.Project, log []stored) (*work.Project, error) {
	if p == nil {
		p = work.NewProject()
	}
	for _, entry := range log {
		for i, data := range entry.events {
			event, err := work.DecodeEvent(entry.kinds[i], data)
			if err == nil {
				err = giveTree(event)
			}
			if err != nil {
				return nil, err
			}
			p.Apply(event, entry.moment)
		}
		if entry.result != nil {
			p.Remember(*entry.result, entry.moment.Now)
		}
	}
	return p, nil
}

// saved is a project as a snapshot holds it.
type saved struct {
	head   []byte
	chunks map[work.Chunk][]byte
}

// history names a chunk of changesets.
func history(n int) work.Chunk { return work.Chunk{Kind: work.HistoryChunk, Number: n} }

// chunk is a saved history of one chunk.
func chunk(data ...byte) map[work.Chunk][]byte {
	return map[work.Chunk][]byte{history(0): data}
}

func save(p *work.Project) (saved, error) {
	head, err := p.EncodeHead()
	if err != nil {
		return saved{}, err
	}
	s := saved{head: head, chunks: map[work.Chunk][]byte{}}
	for _, kind := range work.ChunkKinds {
		first, end := p.Chunks(kind)
		for n := first; n < end; n++ {
			name := work.Chunk{Kind: kind, Number: n}
			if s.chunks[name], err = p.EncodeChunk(name); err != nil {
				return saved{}, err
			}
		}
	}
	return s, nil
}

func mustSave(t testing.TB, p *work.Project) saved {
	t.Helper()
	s, err := save(p)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func (s saved) restore() (*work.Project, error) {
	return work.Restore(s.head, func(name work.Chunk) ([]byte, error) {
		chunk, there := s.chunks[name]
		if !there {
			return nil, fmt.Errorf("no chunk %v", name)
		}
		return chunk, nil
	}, readTree)
}

func (s saved) equal(other saved) bool {
	if !bytes.Equal(s.head, other.head) {
		return false
	}
	return maps.EqualFunc(s.chunks, other.chunks, bytes.Equal)
}

// create makes the project that most tests start from.
func (w *world) create(t testing.TB) {
	t.Helper()
	w.must(t, &work.CreateProject{
		ID: agent("project"), Kind: work.Standard,
		About: work.About{
			Name: "sample", Visibility: work.Public, Reuse: work.AllowReuse, License: "MIT",
		},
	})
}

// put writes a text file as the owner.
func (w *world) put(t testing.TB, path, content string) work.Decision {
	t.Helper()
	return w.must(t, &work.PutFile{Path: path, Blob: blob(content), ContentType: "text/plain"})
}

// publish changes files on the head as the owner.
func (w *world) publish(t testing.TB, operations ...work.Operation) work.Decision {
	t.Helper()
	return w.must(t, &work.PublishChangeset{Base: w.project.Head().ID, Operations: operations})
}

func createOp(path, content string) work.Operation {
	b := blob(content)
	return work.Operation{
		Action: work.Create, Path: path, Content: &b, ContentType: "text/plain",
	}
}

func renameOp(from, to string) work.Operation {
	return work.Operation{Action: work.Rename, Path: from, NewPath: to}
}
