package bench

import (
	"bytes"
	"context"
	"fmt"

	"pws/bench/client"
)

// acknowledgedKept is the number of writes of each connection that are checked AFTER kill -9.
const acknowledgedKept = 16

// acknowledged are the last writes of one connection that were answered with success. Connections
// write different files, so each file has the content of the last write to it.
type acknowledged struct {
	kept [acknowledgedKept]acknowledgedWrite
	// count is the number of all of them, and the place of the one that is in flight.
	count int
}

type acknowledgedWrite struct {
	path    string
	content []byte
}

// sent notes a write that is being sent.
func (a *acknowledged) sent(path string, content []byte) {
	one := &a.kept[a.count%acknowledgedKept]
	one.path, one.content = path, append(one.content[:0], content...)
}

// last returns the writes that are still in the files, of each file the last one.
func (a *acknowledged) last() (writes []acknowledgedWrite) {
	seen := map[string]bool{}
	// The place of the write in flight has lost the oldest one.
	for i := a.count - 1; i >= 0 && i > a.count-acknowledgedKept; i-- {
		one := a.kept[i%acknowledgedKept]
		if !seen[one.path] {
			seen[one.path] = true
			writes = append(writes, one)
		}
	}
	return writes
}

// keepingExchange keeps the writes that were answered with success.
type keepingExchange struct {
	httpExchange
	kept *acknowledged
}

func (k keepingExchange) complete(have []byte) (bool, string, error) {
	whole, outcome, err := k.httpExchange.complete(have)
	if whole && outcome == "" && err == nil {
		k.kept.count++
	}
	return whole, outcome, err
}

// writeClients connects n clients that write, and keeps what is acknowledged to each.
func (s *server) writeClients(
	n int, requests func(at int, kept *acknowledged) func() []byte,
) connect {
	for len(s.acknowledged) < n {
		s.acknowledged = append(s.acknowledged, &acknowledged{})
	}
	return clients(s.host, n, func(at int) exchange {
		kept := s.acknowledged[at]
		return keepingExchange{httpExchange{requests(at, kept)}, kept}
	})
}

// AcknowledgedResult is how many of the last writes of each connection are there AFTER a kill -9
// that followed the last answer, and a restart.
type AcknowledgedResult struct {
	Checked int `json:"checked"`
	Lost    int `json:"lost"`
}

// checkAcknowledged kills the server, starts it again, and reads the last writes. A server that was
// started elsewhere is left alone.
func (s *server) checkAcknowledged(ctx context.Context, report *Report) error {
	writes := s.lastWrites()
	if s.process == nil || len(writes) == 0 {
		return nil
	}
	s.process.Kill()
	if err := s.start(ctx); err != nil {
		return err
	}
	return s.readBack(ctx, writes, report)
}

// lastWrites are the last writes of all connections to this server.
func (s *server) lastWrites() (writes []acknowledgedWrite) {
	for _, one := range s.acknowledged {
		writes = append(writes, one.last()...)
	}
	return writes
}

// readBack reads writes from the server, and counts those that are not there.
func (s *server) readBack(ctx context.Context, writes []acknowledgedWrite, report *Report) error {
	lost := make([]bool, len(writes))
	err := s.each(ctx, len(writes), func(api *client.API, at int) error {
		var data struct {
			File struct {
				Content string `json:"content"`
			} `json:"file"`
		}
		err := api.Get(writes[at].path, &data)
		lost[at] = !bytes.Equal([]byte(data.File.Content), writes[at].content)
		return err
	})
	if err != nil {
		return fmt.Errorf("read acknowledged writes: %w", err)
	}
	if report.Acknowledged == nil {
		report.Acknowledged = &AcknowledgedResult{}
	}
	report.Acknowledged.Checked += len(writes)
	for _, one := range lost {
		if one {
			report.Acknowledged.Lost++
		}
	}
	return nil
}
