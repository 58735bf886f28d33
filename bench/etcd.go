package bench

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"pws/bench/client"
)

// startEtcd starts a single etcd member. Clients write through its JSON gateway, which is slower
// than its gRPC interface; the report says so.
func startEtcd(ctx context.Context, config *Config) (*baseline, error) {
	all, err := startEtcds(ctx, config, 1)
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// etcds are the members of one cluster.
type etcds []*baseline

// startEtcds starts the members of a new cluster.
func startEtcds(ctx context.Context, config *Config, n int) (etcds, error) {
	ports, err := freePorts(loopbackHost, 2*n)
	if err != nil {
		return nil, err
	}
	var cluster []string
	for i := range n {
		cluster = append(cluster, fmt.Sprintf("bench-%d=http://127.0.0.1:%s", i, ports[2*i+1]))
	}
	var all etcds
	for i := range n {
		one, err := startBaselineAt(ctx, config, "etcd", ports[2*i:2*i+2], func(
			dir string, ports []string,
		) []string {
			clients, peers := "http://127.0.0.1:"+ports[0], "http://127.0.0.1:"+ports[1]
			return []string{
				"--name", fmt.Sprintf("bench-%d", i), "--data-dir", dir, "--log-level", "error",
				"--listen-client-urls", clients, "--advertise-client-urls", clients,
				"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
				"--initial-cluster", strings.Join(cluster, ","),
			}
		})
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func (e etcds) close() {
	for _, one := range e {
		one.close()
	}
}

// leaderFirst waits until the members have a leader, and puts it BEFORE the others.
func (e etcds) leaderFirst(ctx context.Context) error {
	return awaiting(ctx, "etcd has no leader", func() error {
		for i, one := range e {
			var status struct {
				Header struct {
					Member string `json:"member_id"`
				} `json:"header"`
				Leader string `json:"leader"`
			}
			text, err := record(client.Request{
				Method: "POST", Path: "/v3/maintenance/status", Host: one.address, Body: []byte("{}"),
			})
			if err != nil {
				return err
			}
			_, body, _ := bytes.Cut(text, []byte("\r\n\r\n"))
			if err := json.Unmarshal(body, &status); err != nil {
				return err
			}
			if status.Leader != "" && status.Leader == status.Header.Member {
				e[0], e[i] = e[i], e[0]
				return nil
			}
		}
		return errors.New("no member says that it leads")
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
