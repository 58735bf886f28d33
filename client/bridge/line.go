package bridge

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

const (
	// lineMax bounds a message, in bytes. The largest body of the service is 16 MiB.
	lineMax = 17 << 20
	// roomMax bounds the messages that are in memory, in bytes.
	roomMax = 64 << 20
	// lineCost is what a message takes beside its bytes.
	lineCost = 4 << 10
	// linesMax bounds their number.
	linesMax = roomMax/lineCost + 1
)

// line is a message.
type line struct {
	// text is nil for a message that is too long. It then has its id, if it is a request with one.
	text []byte
	id   jsontext.Value
}

// lineReader reads lines ahead of those that handle them, as far as there is room.
type lineReader struct {
	from *bufio.Reader
	// lines has each line with its room taken. It is closed at the end.
	lines chan line
	room  room
	// err is what ended the lines but for their end. It is set BEFORE they are closed.
	err error
}

func newLineReader(from io.Reader) *lineReader {
	r := &lineReader{from: bufio.NewReaderSize(from, 64<<10), lines: make(chan line)}
	r.room.freed = make(chan struct{})
	return r
}

// run reads until the end of the input or of the context.
func (r *lineReader) run(ctx context.Context) {
	defer close(r.lines)
	for {
		text, long, err := r.next()
		if text = bytes.TrimSpace(text); len(text) > 0 || long != nil {
			one := line{text: text}
			if long != nil {
				one = line{id: long.request()}
			}
			if !r.room.take(ctx, len(one.text)) {
				return
			}
			select {
			case r.lines <- one:
			case <-ctx.Done():
				return
			}
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				r.err = err
			}
			return
		}
	}
}

// next reads one line. One that is too long is scanned only.
func (r *lineReader) next() (text []byte, long *scan, err error) {
	for {
		part, err := r.from.ReadSlice('\n')
		if long == nil && len(text)+len(part) > lineMax {
			long = new(scan)
			long.read(text)
			text = nil
		}
		if long != nil {
			long.read(part)
		} else {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, long, err
		}
	}
}

// room counts the bytes of messages in memory.
type room struct {
	mu    sync.Mutex
	used  int
	freed chan struct{}
}

// take waits until there is room for a message. It returns false after the end of the context.
func (r *room) take(ctx context.Context, size int) bool {
	size += lineCost
	for {
		r.mu.Lock()
		free := r.used == 0 || r.used+size <= roomMax
		if free {
			r.used += size
		}
		freed := r.freed
		r.mu.Unlock()
		if free {
			return true
		}
		select {
		case <-freed:
		case <-ctx.Done():
			return false
		}
	}
}

// give returns the room of a message.
func (r *room) give(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used -= size + lineCost
	close(r.freed)
	r.freed = make(chan struct{})
}

// oneLine is a message without line ends, which JSON has between its tokens only.
func oneLine(message []byte) []byte {
	if bytes.IndexByte(message, '\n') < 0 {
		return message
	}
	value := jsontext.Value(bytes.Clone(message))
	if value.Compact(lenient) != nil {
		// Not JSON, so never a message; the host may see it in one line.
		return bytes.ReplaceAll(message, []byte("\n"), []byte(" "))
	}
	return value
}
