package bench

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"
)

// Report is the result of all runs.
type Report struct {
	Machine Machine   `json:"machine"`
	Began   time.Time `json:"began"`
	// Program is the commit that was measured. Server is where a running server was, empty if each
	// group of runs started one.
	Program string `json:"program"`
	Server  string `json:"server,omitempty"`
	// Order has the subjects of each group in the order of a round.
	Order         [][]string    `json:"order,omitempty"`
	SecondsPerRun float64       `json:"seconds_per_run"`
	Connections   int           `json:"connections"`
	Rounds        int           `json:"rounds"`
	Measurements  []Measurement `json:"measurements,omitempty"`
	Ratios        []Ratio       `json:"ratios,omitempty"`
	// Acknowledged is what a kill -9 left of the writes of all runs that check it.
	Acknowledged *AcknowledgedResult `json:"acknowledged,omitempty"`
	Claims       *ClaimsResult       `json:"claims,omitempty"`
	Restart      *RestartResult      `json:"restart,omitempty"`
	Memory       *MemoryResult       `json:"memory,omitempty"`
	// Watchers is the memory of waiting clients.
	Watchers *WatchersResult `json:"watchers,omitempty"`
	// Search is what search costs besides time.
	Search *SearchResult `json:"search,omitempty"`
	// Absent names the baselines and runs that were left out.
	Absent []string `json:"absent,omitempty"`
}

// Measurement is the result of one subject over all rounds.
type Measurement struct {
	Name string `json:"name"`
	What string `json:"what"`
	// PerSecond is the median rate of the rounds.
	PerSecond float64   `json:"per_second"`
	Rounds    []float64 `json:"per_second_by_round"`
	Count     int64     `json:"count"`
	Latency   Latency   `json:"latency"`
	// ServerCPUMicros is the server's processor time for each success, zero if it is unknown.
	ServerCPUMicros float64 `json:"server_cpu_us"`
	// SettledCPUMicros is the same with what the server does AFTER the run, until it is idle; the
	// requests of the warm-up count in it. It is zero if nobody waited for that.
	SettledCPUMicros float64 `json:"settled_cpu_us,omitempty"`
	// OtherCPUMicros is ServerCPUMicros of each other server that takes part.
	OtherCPUMicros []float64 `json:"other_cpu_us,omitempty"`
	// Unsent counts the requests of a paced run that were due in it and were not sent. The latency
	// has a lower bound of theirs: the time from when they were due until the end of the run.
	Unsent int64            `json:"unsent,omitempty"`
	Errors map[string]int64 `json:"errors,omitempty"`
}

// Ratio compares two results of the same rounds.
type Ratio struct {
	Name   string    `json:"name"`
	Median float64   `json:"median"`
	Rounds []float64 `json:"by_round"`
	// Target is zero where there is none; AtMost makes it an upper bound instead of a lower one.
	Target float64 `json:"target,omitempty"`
	AtMost bool    `json:"at_most,omitempty"`
	Met    bool    `json:"met,omitempty"`
}

// Failed names the runs that had errors. Their results are not valid.
func (r *Report) Failed() []string {
	var out []string
	for _, m := range r.Measurements {
		for _, outcome := range slices.Sorted(maps.Keys(m.Errors)) {
			out = append(out, fmt.Sprintf("%s: %d times %s", m.Name, m.Errors[outcome], outcome))
		}
	}
	if r.Acknowledged != nil && r.Acknowledged.Lost > 0 {
		out = append(out, fmt.Sprintf("%d acknowledged writes are lost after kill -9",
			r.Acknowledged.Lost))
	}
	if r.Claims != nil {
		out = append(out, r.Claims.failed()...)
	}
	if r.Restart != nil && r.Restart.Lost > 0 {
		out = append(out, fmt.Sprintf("restart: %d changesets are lost", r.Restart.Lost))
	}
	return out
}

// table is a heading and rows of equal length, printed as text or as Markdown.
type table struct {
	heading []string
	rows    [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

func (t *table) text(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(t.heading, "\t"))
	for _, row := range t.rows {
		fmt.Fprintln(w, strings.Join(row, "\t"))
	}
	return w.Flush()
}

func (t *table) markdown(out io.Writer) error {
	fmt.Fprintf(out, "| %s |\n|%s\n", strings.Join(t.heading, " | "),
		strings.Repeat(" --- |", len(t.heading)))
	for _, row := range t.rows {
		if _, err := fmt.Fprintf(out, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) rates() *table {
	t := &table{heading: []string{
		"run", "a second", "p50 ms", "p90 ms", "p99 ms", "p99.9 ms", "max ms", "server µs",
		"settled µs", "unsent", "errors", "what",
	}}
	for _, m := range r.Measurements {
		count := int64(0)
		for _, n := range m.Errors {
			count += n
		}
		row := []string{m.Name, number(m.PerSecond)}
		for _, micros := range []int64{
			m.Latency.P50, m.Latency.P90, m.Latency.P99, m.Latency.P999, m.Latency.Max,
		} {
			row = append(row, optional(m.Count > 0, "%.2f", float64(micros)/1000))
		}
		t.add(append(row, optional(m.ServerCPUMicros > 0, "%.1f", m.ServerCPUMicros),
			optional(m.SettledCPUMicros > 0, "%.1f", m.SettledCPUMicros),
			fmt.Sprint(m.Unsent), fmt.Sprint(count), m.What)...)
	}
	return t
}

func (r *Report) ratios() *table {
	t := &table{heading: []string{"ratio", "median", "lowest", "highest", "target", "met"}}
	for _, one := range r.Ratios {
		low, high, sign, met := 0.0, 0.0, "≥", "no"
		if len(one.Rounds) > 0 {
			low, high = slices.Min(one.Rounds), slices.Max(one.Rounds)
		}
		if one.AtMost {
			sign = "≤"
		}
		if one.Met {
			met = "yes"
		}
		if one.Target == 0 {
			met = "-"
		}
		t.add(one.Name, fmt.Sprintf("%.2f", one.Median), fmt.Sprintf("%.2f", low),
			fmt.Sprintf("%.2f", high), optional(one.Target > 0, sign+" %g", one.Target), met)
	}
	return t
}

func (r *Report) facts() *table {
	t := &table{heading: []string{"figure", "measured", "target"}}
	if one := r.Acknowledged; one != nil {
		t.add("acknowledged writes read after kill -9, lost", fmt.Sprintf("%s, %d",
			number(float64(one.Checked)), one.Lost), "none lost")
	}
	if one := r.Claims; one != nil {
		t.add(fmt.Sprintf("tasks given to %d agents, in %s projects", one.Agents,
			number(float64(one.Projects))), number(float64(one.Answers)), "")
		t.add("tasks that read as claimed, given out twice, token other than 1",
			fmt.Sprintf("%s, %d, %d", number(float64(one.Claimed)), one.Twice, one.Tokens),
			"as many as were given, 0, 0")
	}
	if one := r.Restart; one != nil {
		t.add(fmt.Sprintf("restart after kill -9, %s changesets in %s projects",
			number(float64(one.Changesets)), number(float64(one.Projects))),
			fmt.Sprintf("%.2f s", one.Seconds), "≤ 3 s at 1,000,000 in 10,000")
		t.add("the same until the first file was read", fmt.Sprintf("%.2f s", one.FirstRead), "")
		t.add("a second restart, nothing written between", fmt.Sprintf("%.2f s", one.Again), "")
		t.add("changesets a second of the restart", number(one.ChangesetsPerSecond), "")
		t.add("fill, changesets a second", number(one.FillPerSecond), "")
		t.add("disk for one changeset", fmt.Sprintf("%.0f B", one.DiskBytesPerChangeset), "")
		t.add("projects checked, changesets lost",
			fmt.Sprintf("%d, %d", one.Checked, one.Lost), "none lost")
	}
	if one := r.Memory; one != nil {
		t.add("memory of the empty server", number(float64(one.EmptyBytes))+" B", "")
		t.add(fmt.Sprintf("memory of a passive project (%s of them)",
			number(float64(one.Projects))), fmt.Sprintf("%.0f B", one.PassiveProjectBytes), "≤ 600 B")
		t.add("memory of a small active project",
			fmt.Sprintf("%.0f B", one.ActiveProjectBytes), "≤ 6144 B")
		t.add(fmt.Sprintf("memory of a changeset operation (%s of them)",
			number(float64(one.Operations))), fmt.Sprintf("%.0f B", one.OperationBytes), "≤ 250 B")
	}
	if one := r.Watchers; one != nil {
		t.add(fmt.Sprintf("memory of a waiting poller, of a stream (%d of each)", one.Watchers),
			fmt.Sprintf("%.0f B, %.0f B", one.PollerBytes, one.StreamBytes), "")
	}
	if one := r.Search; one != nil {
		what := fmt.Sprintf("%s documents", number(float64(one.Documents)))
		t.add(what+" indexed, from their last write on", fmt.Sprintf("%.1f s", one.IndexSeconds), "")
		t.add("memory of a server with "+what+", the same without search", fmt.Sprintf("%s B, %s B",
			number(float64(one.MemoryBytes)), number(float64(one.MemoryOffBytes))), "")
	}
	return t
}

// Text writes the report as tables for a terminal.
func (r *Report) Text(out io.Writer) error {
	return r.write(out, (*table).text, r.Failed(), r.rates(), r.ratios(), r.facts())
}

// Markdown writes the report as Markdown tables.
func (r *Report) Markdown(out io.Writer) error {
	return r.write(out, (*table).markdown, r.Failed(), r.rates(), r.ratios(), r.facts())
}

// write shows tables, in which a report that has this one may show more, and what did not hold.
func (r *Report) write(
	out io.Writer, show func(*table, io.Writer) error, failed []string, tables ...*table,
) error {
	fmt.Fprintf(out, "%s: %s.\n", r.Began.Format(time.RFC3339), r.Machine)
	fmt.Fprintf(out, "%d connections, %d rounds of %g s each, taken in turn; clients and servers "+
		"share the cores.\n", r.Connections, r.Rounds, r.SecondsPerRun)
	r.conditions(out)
	for _, one := range tables {
		if len(one.rows) == 0 {
			continue
		}
		fmt.Fprintln(out)
		if err := show(one, out); err != nil {
			return err
		}
	}
	if len(r.Absent) > 0 {
		fmt.Fprintf(out, "\nNot compared with: %s.\n", strings.Join(r.Absent, "; "))
	}
	for i, one := range failed {
		if i == 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "FAILED %s\n", one)
	}
	return nil
}

// number formats a number with separators between thousands.
func number(value float64) string {
	digits := fmt.Sprintf("%.0f", value)
	var out strings.Builder
	for i, digit := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 && digits[i-1] != '-' {
			out.WriteByte(',')
		}
		out.WriteRune(digit)
	}
	return out.String()
}

// optional formats a number if the condition holds.
func optional(there bool, format string, value float64) string {
	if !there {
		return "-"
	}
	return fmt.Sprintf(format, value)
}
