package cli

import (
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
		case bar == nil && (done >= total || e.Now().Sub(begun) < progressAfter):
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
