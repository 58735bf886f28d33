package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// startRedis starts a redis-server that syncs its append-only file before each reply.
func startRedis(ctx context.Context, config *Config) (*baseline, error) {
	return startBaseline(ctx, config, "redis-server", func(dir string, ports []string) []string {
		return []string{
			"--bind", "127.0.0.1", "--port", ports[0], "--dir", dir, "--save", "",
			"--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no",
		}
	})
}

// redisClients returns clients that write to the server; without one the subject is skipped.
func redisClients(server *baseline, config *Config) *subject {
	what := fmt.Sprintf("SET of %d B, appendfsync always", contentBytes)
	return server.subject("redis", what, func() connect {
		return clients(server.address, config.Connections, func(at int) exchange {
			return &redisExchange{
				filler: newFiller(at, contentBytes), prefix: fmt.Sprintf("key:%d:", at),
			}
		})
	})
}

// redisExchange implements the part of RESP that SET needs: a request is an array of bulk strings,
// the reply is +OK.
type redisExchange struct {
	filler  *filler
	prefix  string
	turn    int
	key     []byte
	request []byte
}

// keysPerWorker equals the number of files that a writer of the service writes in turn.
const keysPerWorker = 128

// replyBytesMax bounds the line of a reply.
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

// redisBenchmark adds the result of redis-benchmark for the server of a subject.
func (r *Report) redisBenchmark(
	ctx context.Context, config *Config, server *baseline, redis *subject,
) error {
	if redis.skip {
		return nil
	}
	rate, err := redisBenchmark(
		ctx, server.address, config.Connections, redis.rate(0), config.Duration)
	if err != nil {
		return r.absent(err)
	}
	r.Measurements = append(r.Measurements, Measurement{
		Name: "redis-benchmark", PerSecond: rate, Rounds: []float64{rate},
		What: "the same redis-server, driven by redis-benchmark, outside of the rounds",
	})
	return nil
}

// redisBenchmark runs redis-benchmark against a server for about the given time and returns its
// rate. The number of requests follows from the expected rate.
func redisBenchmark(
	ctx context.Context, address string, connections int, expected float64, d time.Duration,
) (float64, error) {
	path, err := exec.LookPath("redis-benchmark")
	if err != nil {
		return 0, fmt.Errorf("redis-benchmark %w", errAbsent)
	}
	host, port, err := net.SplitHostPort(address)
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
