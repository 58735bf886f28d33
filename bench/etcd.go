package bench

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"

	"pws/bench/client"
)

// startEtcd starts a single etcd member. Clients write through its JSON gateway, which is slower
// than its gRPC interface; the report says so.
func startEtcd(ctx context.Context, config *Config) (*baseline, error) {
	return startBaseline(ctx, config, "etcd", func(dir string, ports []string) []string {
		clients, peers := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
		return []string{
			"--name", "bench", "--data-dir", dir, "--log-level", "error",
			"--listen-client-urls", clients, "--advertise-client-urls", clients,
			"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
			"--initial-cluster", "bench=" + peers,
		}
	})
}

// etcdClients returns clients that write to the server; without one the subject is skipped.
func etcdClients(server *baseline, config *Config) *subject {
	what := fmt.Sprintf("put of %d B through the JSON gateway, which is slower than its gRPC",
		contentBytes)
	return server.subject("etcd", what, func() connect {
		return httpClients(server.address, config.Connections, func(at int) func() []byte {
			w := &etcdWriter{
				host: server.address, prefix: fmt.Sprintf("key:%d:", at),
				filler: newFiller(at, contentBytes),
			}
			return w.next
		})
	})
}

type etcdWriter struct {
	host   string
	prefix string
	filler *filler
	turn   int
	body   []byte
	out    []byte
}

func (w *etcdWriter) next() []byte {
	key := strconv.AppendInt([]byte(w.prefix), int64(w.turn%keysPerWorker), 10)
	w.turn++
	w.body = append(w.body[:0], `{"key":"`...)
	w.body = base64.StdEncoding.AppendEncode(w.body, key)
	w.body = append(w.body, `","value":"`...)
	w.body = base64.StdEncoding.AppendEncode(w.body, w.filler.next())
	w.body = append(w.body, `"}`...)
	request := client.Request{Method: "POST", Path: "/v3/kv/put", Host: w.host, Body: w.body}
	w.out = request.Append(w.out[:0])
	return w.out
}
