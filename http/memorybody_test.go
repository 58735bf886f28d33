package http

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"pws/api"
)

// TestBodiesInMemoryArriveWhole asks for answers of all sizes by many clients at one time. Each
// arrives as it was made, with and without its body, and beside requests that wait behind it.
func TestBodiesInMemoryArriveWhole(t *testing.T) {
	declared := op(read, "text.read", "/v1/text/{size}", api.Anonymous)
	declared.Params = []api.Param{{Name: "size"}}
	texts := api.Declare[api.None, api.Raw](declared, func(
		c *api.Call, _ *api.None,
	) (api.Reply, error) {
		var size, mark int
		if _, err := fmt.Sscanf(c.Params[0], "%d-%d", &size, &mark); err != nil {
			return api.Reply{}, err
		}
		return api.Reply{
			Data: api.Raw(`"` + strings.Repeat(string(rune('a'+mark)), size) + `"`),
		}, nil
	})
	f := start(t, Config{Table: []*api.Operation{texts}}, nil)
	sizes := []int{
		0, 1, 3500, 4000, 4096, 8000, 8192, 9000, 20_000, bodyKept - 100, bodyKept + 1, 40_000,
		smallBody - 200, smallBody - 20, smallBody, 100_000,
	}
	var all sync.WaitGroup
	for mark := range 8 {
		all.Go(func() {
			w := f.dial(t)
			for nth := range 3 * len(sizes) {
				size := sizes[(nth*7+mark)%len(sizes)]
				method := "GET"
				if nth%5 == 4 {
					method = "HEAD"
				}
				line := fmt.Sprintf(" /v1/text/%d-%d HTTP/1.1\r\nHost: h\r\n\r\n", size, mark)
				w.send(method + line + "GET" + line)
				first, second := w.receive(method), w.receive("GET")
				want := `"` + strings.Repeat(string(rune('a'+mark)), size) + `"`
				if method == "GET" && string(first.envelope(t).Data) != want ||
					method == "HEAD" && (first.status != 200 || len(first.body) > 0) ||
					string(second.envelope(t).Data) != want {
					t.Errorf("%s of %d: %d and %d bytes", method, size, len(first.body),
						len(second.body))
				}
			}
		})
	}
	all.Wait()
}

// TestJointHoldsTheFirstWrite has writes of several sizes through a joint.
func TestJointHoldsTheFirstWrite(t *testing.T) {
	for _, sizes := range [][]int{
		{}, {1}, {writeBuffer}, {writeBuffer, 5000}, {10, 20, 30}, {writeBuffer + 1, 7}, {0, 9000, 1},
	} {
		ours, theirs := net.Pipe()
		got := make(chan []byte, 1)
		go func() {
			data, _ := io.ReadAll(theirs)
			got <- data
		}()
		c := &conn{Conn: ours}
		c.joined, _ = joints.Get().(*joint)
		var want []byte
		for nth, size := range sizes {
			data := bytes.Repeat([]byte{byte('a' + nth)}, size)
			want = append(want, data...)
			if n, err := c.Write(data); n != size || err != nil {
				t.Errorf("%v: %d, %v", sizes, n, err)
			}
			clear(data)
		}
		if err := c.endJoint(); err != nil {
			t.Error(err)
		}
		if err := ours.Close(); err != nil {
			t.Error(err)
		}
		if data := <-got; !bytes.Equal(data, want) {
			t.Errorf("%v: %d bytes instead of %d", sizes, len(data), len(want))
		}
	}
}
