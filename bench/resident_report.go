package bench

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"
)

// The targets of the resident command.
const (
	changesetTarget      = 1000 // bytes
	passiveTarget        = 700  // bytes
	passiveRestartTarget = 3    // seconds
	steadyTarget         = 0.10
	ownersTarget         = 0.10
	diskTarget           = 4 // bytes written for each byte of content
)

// Sum is what all owners have.
func (t *OwnersTable) Sum() (sum float64) {
	for _, one := range t.Owners {
		sum += one.Bytes
	}
	return sum
}

// off is by how much of the resident memory the sum differs from it.
func (t *OwnersTable) off() float64 {
	return math.Abs(t.Sum()-float64(t.Resident)) / float64(max(1, t.Resident))
}

// Failed names what did not hold.
func (r *ResidentReport) Failed() (failed []string) {
	if r.Steady == nil {
		return nil
	}
	for outcome, count := range r.Steady.Errors {
		failed = append(failed, fmt.Sprintf("steady: %d times %s", count, outcome))
	}
	slices.Sort(failed)
	return failed
}

// charts are the resident memory over the time of steady writes.
func (r *ResidentReport) charts() []*chart {
	if r.Steady == nil {
		return nil
	}
	c := &chart{
		name: "memory", title: "Resident memory under steady writes",
		caption: captionOf(r.Machine, r.Began), x: axis{label: "time, minutes"},
		y: axis{label: "resident memory, MiB"}, series: []series{{name: fmt.Sprintf(
			"%.0f writes a second", r.Steady.PerSecond)}},
	}
	for i, bytes := range r.Steady.Samples {
		c.series[0].points = append(c.series[0].points, point{
			x: float64(i+1) * r.Steady.EverySeconds / 60, y: float64(bytes) / (1 << 20),
		})
	}
	return []*chart{c}
}

// captionOf names a machine and a day.
func captionOf(machine Machine, began time.Time) string {
	return fmt.Sprintf("%s, %d cores, %s", machine.Processor, machine.Cores,
		began.Format(time.DateOnly))
}

// Text writes the report as tables for a terminal.
func (r *ResidentReport) Text(out io.Writer) error { return r.write(out, (*table).text) }

// Markdown writes the report as Markdown tables.
func (r *ResidentReport) Markdown(out io.Writer) error { return r.write(out, (*table).markdown) }

func (r *ResidentReport) write(out io.Writer, show func(*table, io.Writer) error) error {
	fmt.Fprintf(out, "%s: %s.\n", r.Began.Format(time.RFC3339), r.Machine)
	for _, one := range []*table{r.figures(), r.owners()} {
		if len(one.rows) == 0 {
			continue
		}
		fmt.Fprintln(out)
		if err := show(one, out); err != nil {
			return err
		}
	}
	for _, one := range r.Failed() {
		fmt.Fprintf(out, "\nFAILED %s\n", one)
	}
	return nil
}

// figures are what has targets.
func (r *ResidentReport) figures() *table {
	t := &table{heading: []string{"figure", "measured", "target"}}
	if one := r.Changesets; one != nil {
		of := fmt.Sprintf("resident for a changeset of %d B (%s in %s projects)", contentBytes,
			number(float64(one.Changesets)), number(float64(one.Projects)))
		t.add(of+", all written", fmt.Sprintf("%.0f B", one.BytesPerChangeset), "")
		t.add("the same after a restart, all projects read",
			fmt.Sprintf("%.0f B", one.PackedPer), fmt.Sprintf("≤ %d B", changesetTarget))
	}
	if one := r.Passive; one != nil {
		t.add(fmt.Sprintf("resident for a passive project (%s)", number(float64(one.Projects))),
			fmt.Sprintf("%.0f B", one.BytesPerProject), fmt.Sprintf("≤ %d B", passiveTarget))
		t.add("restart with them", fmt.Sprintf("%.2f s", one.RestartSeconds),
			fmt.Sprintf("≤ %d s", passiveRestartTarget))
		t.add("projects created a second", number(one.FillPerSecond), "")
	}
	if one := r.Steady; one != nil {
		t.add(fmt.Sprintf("%s durable writes of %d B in %.0f s", number(float64(one.Writes)),
			contentBytes, one.Seconds), number(one.PerSecond)+" a second", "")
		t.add("resident in the second half: mean, most, most above the mean", fmt.Sprintf(
			"%.0f MiB, %d MiB, %.0f %%", one.Mean/(1<<20), one.Max>>20, 100*one.Above),
			fmt.Sprintf("≤ %.0f %%", 100*steadyTarget))
		t.add("written to the disk for a byte of content",
			fmt.Sprintf("%.1f B", float64(one.DiskBytes)/one.contents()),
			fmt.Sprintf("≤ %d B", diskTarget))
		t.add("size of the data for a byte of content, after a snapshot",
			fmt.Sprintf("%.2f B", float64(one.FolderBytes)/one.contents()), "")
	}
	return t
}

// owners shows the memory by owner, a column for each moment.
func (r *ResidentReport) owners() *table {
	t := &table{heading: []string{"owner, MiB"}}
	var names []string
	for _, moment := range r.Tables {
		t.heading = append(t.heading, moment.When)
		for _, one := range moment.Owners {
			if !slices.Contains(names, one.Name) {
				names = append(names, one.Name)
			}
		}
	}
	row := func(name string, value func(moment *OwnersTable) string) {
		cells := []string{name}
		for i := range r.Tables {
			cells = append(cells, value(&r.Tables[i]))
		}
		t.add(cells...)
	}
	slices.Sort(names)
	for _, name := range names {
		row(name, func(moment *OwnersTable) string { return mebibytes(moment.of(name)) })
	}
	if len(r.Tables) > 0 {
		row("sum", func(moment *OwnersTable) string { return mebibytes(moment.Sum()) })
		row("resident (VmRSS)", func(moment *OwnersTable) string {
			return mebibytes(float64(moment.Resident))
		})
		row(fmt.Sprintf("sum and resident differ by (target ≤ %.0f %%)", 100*ownersTarget),
			func(moment *OwnersTable) string { return fmt.Sprintf("%.0f %%", 100*moment.off()) })
	}
	return t
}

func mebibytes(bytes float64) string { return fmt.Sprintf("%.1f", bytes/(1<<20)) }

// of is what one owner has.
func (t *OwnersTable) of(name string) float64 {
	for _, one := range t.Owners {
		if one.Name == name {
			return one.Bytes
		}
	}
	return 0
}
