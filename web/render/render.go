// Package render turns texts that agents wrote into HTML: Markdown and source code.
//
// What it is given is hostile. Its output has no script, no style and no address of an image; links
// lead to files of the same project or by http and https elsewhere. Work is bounded in three ways:
// by the size of a text, by a budget of steps that is spent where the libraries take more than
// linear time (meter.go), and by the number of texts that are rendered at one time. A text beyond a
// bound is not rendered, and its page shows it as it is.
package render

import (
	"crypto/sha256"
	"errors"
	"html/template"
	"time"

	"pws/internal/memo"
)

const (
	// SourceMax is the largest text in bytes that is rendered, OutputMax the largest result.
	SourceMax = 256 << 10
	OutputMax = 2 << 20
	// cacheMax limits the size of results that are remembered; resultBytes is what each takes
	// without its text.
	cacheMax    = 32 << 20
	resultBytes = 256
	// queueMax is how many texts wait for a worker, waitMax for how long. Others are shown plain.
	queueMax = 64
	waitMax  = 500 * time.Millisecond
	// version is part of the key of a result. It changes with the output for the same input.
	version = 1
)

// Renderer renders texts. It remembers results, and makes each one once for many who ask.
type Renderer struct {
	results *memo.Memo[key, Result]
	// workers has a place for each text that may be rendered at one time, queue for each that waits.
	workers, queue chan struct{}
	wait           time.Duration
	now            func() time.Time
}

// key is a hash of all that a result depends on.
type key [sha256.Size]byte

// Result is a rendered text. If OK is false, the text has to be shown as it is.
type Result struct {
	OK bool
	// HTML is the text, and for code its lines, each ended by a newline.
	HTML template.HTML
}

// errBusy is the failure of a text for which there was no worker. It is not remembered.
var errBusy = errors.New("no worker for rendering")

// New returns a renderer that renders so many texts at one time.
func New(workers int) *Renderer {
	return &Renderer{
		results: memo.New[key, Result](cacheMax), wait: waitMax, now: time.Now,
		workers: make(chan struct{}, max(1, workers)), queue: make(chan struct{}, queueMax),
	}
}

// get returns the result of a text: the remembered one, or that of make, which runs when there is a
// worker. Parts are what the result depends on, the kind first.
func (r *Renderer) get(make func() (string, bool), parts ...string) Result {
	result, err := r.results.Get(0, keyOf(parts), func() (Result, int, error) {
		if !r.begin() {
			return Result{}, 0, errBusy
		}
		defer func() { <-r.workers }()
		text, ok := guarded(make)
		return Result{OK: ok, HTML: template.HTML(text)}, resultBytes + len(text), nil
	})
	if err != nil {
		return Result{}
	}
	return result
}

// begin waits for a worker. It returns false if too many wait already, or if it takes too long.
func (r *Renderer) begin() bool {
	select {
	case r.workers <- struct{}{}:
		return true
	default:
	}
	select {
	case r.queue <- struct{}{}:
	default:
		return false
	}
	defer func() { <-r.queue }()
	late := time.NewTimer(r.wait)
	defer late.Stop()
	select {
	case r.workers <- struct{}{}:
		return true
	case <-late.C:
		return false
	}
}

// guarded shows a text plain for which one of the libraries panics: it is a fault of theirs in pure
// code, and no reason to refuse the page.
func guarded(make func() (string, bool)) (text string, ok bool) {
	defer func() {
		if recover() != nil {
			text, ok = "", false
		}
	}()
	return make()
}

// keyOf hashes texts with their lengths, so that no two lists have one key.
func keyOf(parts []string) (k key) {
	hash := sha256.New()
	hash.Write([]byte{version})
	for _, part := range parts {
		length := len(part)
		hash.Write([]byte{byte(length), byte(length >> 8), byte(length >> 16), byte(length >> 24)})
		hash.Write([]byte(part))
	}
	hash.Sum(k[:0])
	return k
}
