package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// Text writes the report as tables for a terminal.
func (r *AbuseReport) Text(out io.Writer) error { return r.write(out, (*table).text) }

// Markdown writes the report as Markdown tables.
func (r *AbuseReport) Markdown(out io.Writer) error { return r.write(out, (*table).markdown) }

func (r *AbuseReport) write(out io.Writer, show func(*table, io.Writer) error) error {
	fmt.Fprintf(out, "%s: %s; memory limit %d MiB.\n\n", r.Began.Format(time.RFC3339), r.Machine,
		r.MemoryLimit>>20)
	if err := show(r.users(), out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	if err := show(r.effects(), out); err != nil {
		return err
	}
	for _, one := range r.Failed() {
		fmt.Fprintf(out, "\nFAILED %s\n", one)
	}
	return nil
}

// users is what ordinary users saw.
func (r *AbuseReport) users() *table {
	t := &table{heading: []string{
		"attack", "p50 ms before", "during", "after", "p99 ms before", "during", "after",
		fmt.Sprintf("ratio (target ≤ %d)", ratioTarget), "429 and 503", "errors",
	}}
	for _, one := range r.Attacks {
		phases := []UserPhase{one.Before, one.During, one.After}
		row := []string{one.Name}
		var refused, errors int64
		for _, phase := range phases {
			row = append(row, millis(phase.P50))
			refused += sum(phase.Refused)
			errors += sum(phase.Errors)
		}
		for _, phase := range phases {
			row = append(row, millis(phase.P99))
		}
		t.add(append(row, fmt.Sprintf("%.1f", one.P99Ratio), fmt.Sprint(refused),
			fmt.Sprint(errors))...)
	}
	return t
}

// effects is what the server did, and what the attackers received.
func (r *AbuseReport) effects() *table {
	t := &table{heading: []string{
		"attack", "peak MiB", "processor before", "during", "after", "quiet after s",
		"answers to attackers", "what",
	}}
	for _, one := range r.Attacks {
		var answers []string
		for _, outcome := range slices.Sorted(maps.Keys(one.Answers)) {
			answers = append(answers, fmt.Sprintf("%s: %d", outcome, one.Answers[outcome]))
		}
		for _, name := range slices.Sorted(maps.Keys(one.Figures)) {
			answers = append(answers, fmt.Sprintf("%s: %.3g", name, one.Figures[name]))
		}
		row := []string{one.Name, fmt.Sprint(one.PeakBytes >> 20)}
		for _, phase := range []UserPhase{one.Before, one.During, one.After} {
			row = append(row, fmt.Sprintf("%.0f %%", 100*phase.CPUShare))
		}
		t.add(append(row, fmt.Sprintf("%.1f", one.QuietAfterSeconds), strings.Join(answers, ", "),
			one.What)...)
	}
	return t
}

func millis(micros int64) string { return fmt.Sprintf("%.2f", float64(micros)/1000) }

func sum(counts map[string]int64) (total int64) {
	for _, count := range counts {
		total += count
	}
	return total
}

// String is the machine in one line.
func (m Machine) String() string {
	return fmt.Sprintf("%s, %d cores, %.0f GiB, Linux %s, %s, %s; fdatasync of 4 KiB: p50 %.2f ms, "+
		"p99 %.2f ms", m.Processor, m.Cores, float64(m.MemoryBytes)/(1<<30), m.Kernel, m.FileSystem,
		m.Go, float64(m.SyncP50)/1000, float64(m.SyncP99)/1000)
}
