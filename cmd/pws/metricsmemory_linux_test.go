package main

import (
	"bytes"
	"fmt"
	"io"
	nethttp "net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"pws/actors"
	"pws/bench/child"
	rest "pws/bench/client"
)

// TestMemoryTableIsWhatTheSystemSays compares the sum of all owners with the resident memory.
func TestMemoryTableIsWhatTheSystemSays(t *testing.T) {
	held := make([]byte, 512*mib)
	for i := range held {
		held[i] = byte(i)
	}
	table := newMemoryTable(func() []actors.MemoryOwner {
		return []actors.MemoryOwner{{Name: "held", Bytes: int64(len(held))}}
	})
	table.begin(nil)
	sum := int64(0)
	for _, one := range table.owners() {
		t.Logf("%-8s %d", one.Name, one.Bytes)
		sum += one.Bytes
	}
	if resident := residentOf("VmRSS:"); sum < resident*9/10 || sum > resident*11/10 {
		t.Errorf("the owners have %d bytes, and %d are resident", sum, resident)
	}
}

// memoryWorld is a server whose memory is compared with what it says of it.
type memoryWorld struct {
	t       *testing.T
	process *child.Process
	admin   string
	owner   *rest.API
	mu      sync.Mutex
	// sums are the sums of all owners, as parts of what was resident.
	sums []float64
}

// The load of TestMemoryTableOfServer: writes of so many bytes into so many PUBLIC projects.
const (
	memoryTableProjects = 2000
	memoryTableRounds   = 12
	memoryTableBytes    = 900
	memoryTableWriters  = 8
)

// TestMemoryTableOfServer writes into 2,000 PUBLIC projects, with search on. Under load and AFTER
// it the owners have what is resident: within a tenth in the median, and always within a fifth.
func TestMemoryTableOfServer(t *testing.T) {
	if os.Getenv("PWS_CUT_ALL") == "" || raced() {
		t.Skip("what is resident depends on what else the machine does: nightly compares it, without " +
			"the race detector")
	}
	w := startMemoryWorld(t)
	projects := make([]string, memoryTableProjects)
	w.each(len(projects), func(api *rest.API, nth int) error {
		made, err := api.CreatePublicProject(fmt.Sprint("project ", nth))
		projects[nth] = made.ID
		return err
	})
	writes := memoryTableProjects * memoryTableRounds
	w.each(writes, func(api *rest.API, nth int) error {
		if nth%(writes/4) == writes/8 {
			w.compare("under load")
		}
		path := fmt.Sprintf("/api/v1/projects/%s/files/src/%d.txt", projects[nth%len(projects)],
			nth/len(projects)%3)
		body, err := rest.EncodeJSON(map[string]string{"content": memoryText(nth, memoryTableBytes)})
		if err != nil {
			return err
		}
		_, err = api.Call(rest.Request{
			Method: "PUT", Path: path, Body: body, IdempotencyKey: fmt.Sprint("key-", nth),
		}, nil)
		return err
	})
	w.compare("after")
	slices.Sort(w.sums)
	if middle := w.sums[len(w.sums)/2]; middle < 0.9 || middle > 1.1 {
		t.Errorf("the owners have %.3f of what is resident", middle)
	}
}

func startMemoryWorld(t *testing.T) *memoryWorld {
	t.Helper()
	w := &memoryWorld{t: t}
	admin := make(chan string, 1)
	process, err := child.Start(t.Context(), patience, child.Program{
		Path: "pws", Args: []string{
			"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
			"--data", filepath.Join(t.TempDir(), "data"), "--rate-limits", "off", "--search", "on",
		},
		Line: func(text string) {
			if _, address, is := strings.Cut(text, "msg=admin address="); is {
				admin <- address
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	w.process, w.admin = process, <-admin
	if w.owner, err = rest.New(process.URL); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.owner.Close)
	if err := w.owner.Register("owner"); err != nil {
		t.Fatal(err)
	}
	return w
}

// each calls do for all numbers below n, by some workers.
func (w *memoryWorld) each(n int, do func(api *rest.API, nth int) error) {
	numbers := make(chan int)
	var workers sync.WaitGroup
	for range memoryTableWriters {
		workers.Go(func() {
			api := &rest.API{Host: w.owner.Host, Credential: w.owner.Credential}
			defer api.Close()
			for nth := range numbers {
				if err := do(api, nth); err != nil {
					w.t.Errorf("request %d: %v", nth, err)
				}
			}
		})
	}
	for nth := range n {
		numbers <- nth
	}
	close(numbers)
	workers.Wait()
}

// compare notes the sum, and fails unless it is within a fifth of what is resident, which changes
// while the metrics are read.
func (w *memoryWorld) compare(when string) {
	client := nethttp.Client{Timeout: 20 * time.Second}
	before, err := child.ReadUsage(w.process.PID())
	if err != nil {
		w.t.Error(err)
		return
	}
	response, err := client.Get("http://" + w.admin + "/metrics")
	if err != nil {
		w.t.Error(err)
		return
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	after, fault := child.ReadUsage(w.process.PID())
	if err != nil || fault != nil {
		w.t.Error(err, fault)
		return
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		w.t.Error(err)
		return
	}
	sum, table := 0.0, ""
	for _, one := range families["pws_memory_bytes"].GetMetric() {
		value := one.GetGauge().GetValue()
		if sum += value; value > 0 {
			table += fmt.Sprintf("\n%-16s %11.0f", one.GetLabel()[0].GetValue(), value)
		}
	}
	low := float64(min(before.RSSBytes, after.RSSBytes))
	high := float64(max(before.RSSBytes, after.RSSBytes))
	w.t.Logf("%s: the sum is %.0f, resident %.0f to %.0f (%.3f)%s", when, sum, low, high, sum/high,
		table)
	w.mu.Lock()
	w.sums = append(w.sums, 2*sum/(low+high))
	w.mu.Unlock()
	if sum < low*0.8 || sum > high*1.2 {
		w.t.Errorf("%s: the owners have %.0f bytes, and %.0f to %.0f are resident", when, sum, low,
			high)
	}
}
