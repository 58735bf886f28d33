package bridge

import (
	"context"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// When a request that wants notes of its progress gets them.
const (
	firstNote = 2 * time.Second
	nextNotes = 5 * time.Second
)

// noteProgress notes how many seconds a request has taken, if it wants that, until stop is called.
func (b *Bridge) noteProgress(ctx context.Context, m *message) (stop func()) {
	if len(m.progress) == 0 {
		return func() {}
	}
	ctx, cancel := context.WithCancel(ctx)
	var noting sync.WaitGroup
	noting.Go(func() { b.noteUntil(ctx, m) })
	return func() {
		cancel()
		noting.Wait()
	}
}

func (b *Bridge) noteUntil(ctx context.Context, m *message) {
	type params struct {
		Token    jsontext.Value `json:"progressToken"`
		Progress int            `json:"progress"`
		Message  string         `json:"message"`
	}
	begun := time.Now()
	timer := time.NewTimer(firstNote)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		b.write(marshal(struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  params `json:"params"`
		}{"2.0", "notifications/progress", params{
			m.progress, int(time.Since(begun).Seconds()),
			"Waiting for " + b.cfg.Service.Caller().Server + ".",
		}}))
		timer.Reset(nextNotes)
	}
}
