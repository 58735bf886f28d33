package bench

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pws/bench/client"
)

// adminArguments start the listener of metrics.
var adminArguments = []string{"--admin-listen", "127.0.0.1:0"}

// noteAdmin finds the address of the metrics in the log of a server, and sends the first one.
func noteAdmin(to chan<- string) func(line string) {
	return func(line string) {
		_, address, found := strings.Cut(line, "msg=admin address=")
		if !found {
			return
		}
		select {
		case to <- strings.TrimSpace(address):
		default:
		}
	}
}

// metricsPatience bounds how long the address and the metrics may take.
const metricsPatience = 30 * time.Second

// adminPage reads a page of the listener of metrics.
func (s *server) adminPage(ctx context.Context, path string) (none client.Response, err error) {
	if s.adminHost == "" {
		select {
		case s.adminHost = <-s.admin:
		case <-time.After(metricsPatience):
			return none, errors.New("the server did not say where its metrics are")
		case <-ctx.Done():
			return none, ctx.Err()
		}
	}
	conn, err := client.Dial(s.adminHost)
	if err != nil {
		return none, err
	}
	defer conn.Close()
	if err := conn.Deadline(time.Now().Add(metricsPatience)); err != nil {
		return none, err
	}
	request := client.Request{Method: "GET", Path: path, Host: s.adminHost}
	return conn.Exchange(request.Append(nil))
}

// owners reads the memory by owner from the metrics of the server.
func (s *server) owners(ctx context.Context) ([]Owner, error) {
	response, err := s.adminPage(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	if response.Status != 200 {
		return nil, fmt.Errorf("GET /metrics: %d", response.Status)
	}
	return ownersOf(response.Body)
}

// Owner is a part of the resident memory, in bytes.
type Owner struct {
	Name  string  `json:"name"`
	Bytes float64 `json:"bytes"`
}

// ownersOf are the parts of the memory in the order of their names.
func ownersOf(text []byte) (owners []Owner, err error) {
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	family := families["pws_memory_bytes"]
	if family == nil {
		return nil, errors.New("there is no pws_memory_bytes in the metrics")
	}
	for _, one := range family.GetMetric() {
		for _, label := range one.GetLabel() {
			owners = append(owners, Owner{Name: label.GetValue(), Bytes: one.GetGauge().GetValue()})
		}
	}
	slices.SortFunc(owners, func(a, b Owner) int { return cmp.Compare(a.Name, b.Name) })
	return owners, nil
}
