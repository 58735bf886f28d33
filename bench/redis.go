package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"pws/bench/child"
)

// redis is a redis-server that syncs its append-only file before each answer.
type redis struct {
	process *child.Process
	dataDir string
	address string
}

// errAbsent says that a program to compare with is not on the machine.
var errAbsent = errors.New("is not on this machine")

// servePatience bounds how long another program may take to serve.
const servePatience = 30 * time.Second

func startRedis(ctx context.Context, config *Config) (*redis, error) {
	path, err := exec.LookPath("redis-server")
	if err != nil {
		return nil, fmt.Errorf("redis-server %w", errAbsent)
	}
	ports, err := freePorts(1)
	if err != nil {
		return nil, err
	}
	r := &redis{address: "127.0.0.1:" + ports[0]}
	if r.dataDir, err = os.MkdirTemp(config.Dir, "redis-bench-"); err != nil {
		return nil, err
	}
	r.process, err = child.StartQuiet(ctx, child.Program{Path: path, Args: []string{
		"--bind", "127.0.0.1", "--port", ports[0], "--dir", r.dataDir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
	}})
	if err == nil {
		err = awaitPort(ctx, r.process, r.address)
	}
	if err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *redis) close() {
	if r.process != nil {
		r.process.Kill()
	}
	// What cannot be removed stays in the temporary folder of the system.
	_ = os.RemoveAll(r.dataDir)
}

func (r *redis) dial(n int) (connections, error) {
	exchanges := make([]exchange, n)
	for at := range exchanges {
		exchanges[at] = &redisExchange{
			filler: newFiller(at, contentBytes), prefix: fmt.Sprintf("key:%d:", at),
		}
	}
	return dialAll(r.address, exchanges)
}

// redisExchange speaks the part of RESP that SET needs: an array of bulk strings there, +OK back.
type redisExchange struct {
	filler  *filler
	prefix  string
	turn    int
	key     []byte
	request []byte
}

// keysPerWorker is as many as the files that a writer of the service writes in turn.
const keysPerWorker = 128

// replyBytesMax bounds a reply of one line.
const replyBytesMax = 512

func (e *redisExchange) next() []byte {
	e.key = strconv.AppendInt(append(e.key[:0], e.prefix...), int64(e.turn%keysPerWorker), 10)
	e.turn++
	e.request = appendCommand(e.request[:0], []byte("SET"), e.key, e.filler.next())
	return e.request
}

func (e *redisExchange) complete(have []byte) (bool, string, error) {
	switch {
	case string(have) == "+OK\r\n":
		return true, "", nil
	case len(have) > replyBytesMax:
		return false, "", errors.New("the reply does not end")
	case bytes.HasSuffix(have, []byte("\r\n")):
		return true, strings.TrimSpace(string(have)), nil
	}
	return false, "", nil
}

func appendCommand(dst []byte, parts ...[]byte) []byte {
	dst = append(dst, '*')
	dst = strconv.AppendInt(dst, int64(len(parts)), 10)
	dst = append(dst, "\r\n"...)
	for _, part := range parts {
		dst = append(dst, '$')
		dst = strconv.AppendInt(dst, int64(len(part)), 10)
		dst = append(dst, "\r\n"...)
		dst = append(dst, part...)
		dst = append(dst, "\r\n"...)
	}
	return dst
}

// redisBenchmark runs redis-benchmark against the server for about the given time and returns its
// rate; the expected rate decides how many requests that are.
func (r *redis) redisBenchmark(
	ctx context.Context, connections int, expected float64, d time.Duration,
) (float64, error) {
	path, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark %w", errAbsent)
	}
	host, port, err := net.SplitHostPort(r.address)
	if err != nil {
		return 0, err
	}
	ctx, cancel := context.WithTimeout(ctx, 10*d+servePatience)
	defer cancel()
	requests := max(int(expected*d.Seconds()), connections)
	out, err := exec.CommandContext(ctx, path, "-h", host, "-p", port, "-t", "set", "--csv",
		"-c", strconv.Itoa(connections), "-d", strconv.Itoa(contentBytes),
		"-r", strconv.Itoa(connections*keysPerWorker), "-n", strconv.Itoa(requests)).Output()
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark: %w", err)
	}
	return parseRedisBenchmark(string(out))
}

// parseRedisBenchmark reads the rate from lines such as "SET","12345.67","0.1",….
func parseRedisBenchmark(out string) (float64, error) {
	for line := range strings.SplitSeq(out, "\n") {
		fields := strings.Split(line, ",")
		if len(fields) >= 2 && fields[0] == `"SET"` {
			return strconv.ParseFloat(strings.Trim(fields[1], "\"\r"), 64)
		}
	}
	return 0, fmt.Errorf("redis-benchmark: no SET in %q", out)
}

// freePorts finds ports of the loopback that nobody uses now.
func freePorts(n int) ([]string, error) {
	var ports []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		// All stay open until all are found, so that they differ.
		defer listener.Close()
		_, port, err := net.SplitHostPort(listener.Addr().String())
		if err != nil {
			return nil, err
		}
		ports = append(ports, port)
	}
	return ports, nil
}

// awaitPort returns once somebody listens there or the process has ended.
func awaitPort(ctx context.Context, process *child.Process, address string) error {
	ctx, cancel := context.WithTimeout(ctx, servePatience)
	defer cancel()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ticker.C:
		case <-process.Done():
			return fmt.Errorf("the server for %s ended before it served", address)
		case <-ctx.Done():
			return fmt.Errorf("nobody serves %s: %w", address, ctx.Err())
		}
	}
}
