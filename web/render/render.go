// Package render turns texts that agents wrote into HTML: Markdown and source code.
//
// What it is given is hostile. Its output has no script, no style and no address of an image; links
// lead to files of the same project or by http and https elsewhere. Work is bounded in three ways:
// by the size of a text, by a budget of steps that is spent where the libraries take more than
// linear time (meter.go), and by whoever gives a text its place. A text beyond a bound is not
// rendered, and its page shows it as it is.
package render

import (
	"crypto/sha256"
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
	// smallMax is the largest text in Markdown, in bytes, that takes at most some milliseconds,
	// whatever it says.
	smallMax = 2 << 10
	// version is part of the key of a result. It changes with the output for the same input.
	version = 1
)

// Renderer renders texts. It remembers results, and makes each one once for many who ask.
type Renderer struct {
	results *memo.Memo[key, Result]
	now     func() time.Time
}

// Place runs what makes a text, on account of whoever asks for it. Small says that it takes little
// time. It returns false if it has run nothing, because no place is free for that account.
type Place func(small bool, make func()) bool

// AtOnce is the place of a text that is on nobody's account.
func AtOnce(_ bool, make func()) bool {
	make()
	return true
}

// key is a hash of all that a result depends on.
type key [sha256.Size]byte

// Result is a rendered text. If OK is false, the text has to be shown as it is.
type Result struct {
	OK bool
	// HTML is the text, and for code its lines, each ended by a newline.
	HTML template.HTML
}

// New returns a renderer that remembers nothing yet.
func New() *Renderer {
	return &Renderer{results: memo.New[key, Result](cacheMax), now: time.Now}
}

// get returns the result of a text: the remembered one, or that of make, which runs in the place.
// Equal texts that have places at one time are made once. Parts are what the result depends on, the
// kind first.
func (r *Renderer) get(
	in Place, small bool, make func() (string, bool), parts ...string,
) (result Result) {
	key := keyOf(parts)
	if known, ok := r.results.Known(key); ok {
		return known
	}
	in(small, func() {
		// It makes no errors.
		result, _ = r.results.Get(0, key, func() (Result, int, error) {
			text, ok := guarded(make)
			return Result{OK: ok, HTML: template.HTML(text)}, resultBytes + len(text), nil
		})
	})
	return result
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
