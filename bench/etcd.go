package bench

import (
	"context"
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"strconv"

	"pws/bench/child"
	"pws/bench/client"
)

// etcd is a single etcd member. It is written to through its JSON gateway, which costs etcd more
// than its gRPC interface does; the report says so.
type etcd struct {
	process *child.Process
	dataDir string
	address string
}

func startEtcd(ctx context.Context, config *Config) (*etcd, error) {
	path, err := exec.LookPath("etcd")
	if err != nil {
		return nil, fmt.Errorf("etcd %w", errAbsent)
	}
	ports, err := freePorts(2)
	if err != nil {
		return nil, err
	}
	e := &etcd{address: "127.0.0.1:" + ports[0]}
	if e.dataDir, err = os.MkdirTemp(config.Dir, "etcd-bench-"); err != nil {
		return nil, err
	}
	clients, peers := "http://"+e.address, "http://127.0.0.1:"+ports[1]
	e.process, err = child.StartQuiet(ctx, child.Program{Path: path, Args: []string{
		"--name", "bench", "--data-dir", e.dataDir, "--log-level", "error",
		"--listen-client-urls", clients, "--advertise-client-urls", clients,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
		"--initial-cluster", "bench=" + peers,
	}})
	if err == nil {
		err = awaitPort(ctx, e.process, e.address)
	}
	if err != nil {
		e.close()
		return nil, err
	}
	return e, nil
}

func (e *etcd) close() {
	if e.process != nil {
		e.process.Kill()
	}
	// What cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(e.dataDir)
}

func (e *etcd) dial(n int) (connections, error) {
	return dialHTTP(e.address, n, func(at int) func() []byte {
		w := &etcdWriter{host: e.address, prefix: fmt.Sprintf("key:%d:", at),
			filler: newFiller(at, contentBytes)}
		return w.next
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
