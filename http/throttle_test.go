package http

import (
	"bytes"
	"net"
	"testing"
	"time"
)

// TestLargeInputIsReadSlowly feeds a transfer that arrives at once.
func TestLargeInputIsReadSlowly(t *testing.T) {
	begun := time.Unix(1000, 0)
	bulk := throttle{rate: 1 << 20}
	if wait := bulk.note(begun, bulkFree); wait != 0 {
		t.Errorf("the first bytes wait for %v", wait)
	}
	if wait := bulk.note(begun, 512<<10); wait != time.Second/2 {
		t.Errorf("half a second of bytes waits for %v", wait)
	}
	now := begun.Add(time.Second / 4)
	if wait := bulk.note(now, 256<<10); wait != time.Second/2 {
		t.Errorf("bytes that come early wait for %v", wait)
	}
	if wait := bulk.note(now, 0); wait != 0 {
		t.Errorf("the end waits for %v", wait)
	}
	if wait := bulk.note(begun.Add(time.Hour), 1<<20); wait > 0 {
		t.Errorf("a slow transfer waits for %v", wait)
	}
}

// TestReadsOfLargeBodiesAreBounded reads a body that is all there.
func TestReadsOfLargeBodiesAreBounded(t *testing.T) {
	near, far := net.Pipe()
	defer far.Close()
	defer near.Close()
	const size = 3 << 20
	reader := &pacedReader{
		r: bytes.NewReader(make([]byte, size)), conn: &conn{Conn: near, owner: new(conns)},
		pace: pace{rate: leastRate, grace: paceGrace}, bulk: throttle{rate: bodyRate},
	}
	begun := time.Now()
	into := make([]byte, size)
	for read := 0; read < size; {
		n, err := reader.Read(into)
		if err != nil || n > bulkChunk {
			t.Fatalf("%d bytes at once, %v", n, err)
		}
		read += n
	}
	took, least := time.Since(begun), time.Duration(size-bulkFree)*time.Second/bodyRate
	// The last wait is a chunk shorter, because it begins with the first byte that is not free.
	if least -= bulkChunk * time.Second / bodyRate; took < least {
		t.Errorf("%d bytes took %v instead of %v", size, took, least)
	}
}
