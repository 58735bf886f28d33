package cli

import (
	"io"
	"time"

	"github.com/schollz/progressbar/v3"
)

// progressAfter is how long a transfer takes before its progress is shown.
const progressAfter = time.Second

// progress returns a function that shows the progress of a transfer on standard error, in bytes.
// Where nobody reads that at a terminal, it shows nothing.
func (e *Env) progress() func(done, total int64) {
	if !e.TerminalErr {
		return func(int64, int64) {}
	}
	var bar *progressbar.ProgressBar
	var begun time.Time
	return func(done, total int64) {
		switch {
		case done == 0:
			begun = e.Now()
			return
		case bar == nil && (done == total || e.Now().Sub(begun) < progressAfter):
			return
		case bar == nil || bar.GetMax64() != total:
			bar = progressbar.NewOptions64(total, progressbar.OptionSetWriter(e.Err),
				progressbar.OptionShowBytes(true), progressbar.OptionFullWidth(),
				progressbar.OptionUseANSICodes(false), progressbar.OptionSetPredictTime(true),
				progressbar.OptionClearOnFinish())
		}
		// What a terminal does not take is not shown.
		_ = bar.Set64(done)
	}
}

// shown is a body whose progress is shown while it is read; its size may be unknown.
func (e *Env) shown(body io.Reader, size int64) io.Reader {
	r := &shownReader{Reader: body, size: size, show: e.progress()}
	r.show(0, size)
	return r
}

type shownReader struct {
	io.Reader
	done, size int64
	show       func(done, total int64)
}

// Read implements io.Reader.
func (r *shownReader) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	r.done += int64(n)
	if r.done > 0 {
		r.show(r.done, r.size)
	}
	return n, err
}
