package bench

import (
	"fmt"
	"io"
	"slices"
)

// Failed names what did not hold.
func (r *GroupReport) Failed() []string {
	failed := r.Report.Failed()
	if one := r.Failover; one != nil {
		if one.Lost > 0 {
			failed = append(failed, fmt.Sprintf("failover: %d of %d acknowledged writes are lost",
				one.Lost, one.Acknowledged))
		}
		if one.Surplus > 0 {
			failed = append(failed, fmt.Sprintf("failover: %d writes are there and were not "+
				"acknowledged, or are there twice", one.Surplus))
		}
	}
	for _, one := range r.Joins {
		if one.Lost != 0 {
			failed = append(failed, fmt.Sprintf("join: the new member differs by %d changesets",
				one.Lost))
		}
	}
	return failed
}

// Text writes the report as tables for a terminal.
func (r *GroupReport) Text(out io.Writer) error { return r.writeAll(out, (*table).text) }

// Markdown writes the report as Markdown tables.
func (r *GroupReport) Markdown(out io.Writer) error { return r.writeAll(out, (*table).markdown) }

func (r *GroupReport) writeAll(out io.Writer, show func(*table, io.Writer) error) error {
	return r.write(out, show, r.Failed(), r.rates(), r.processors(), r.ratios(),
		r.Failover.losses(), r.figures())
}

// processors is the processor time of each member.
func (r *GroupReport) processors() *table {
	t := &table{heading: []string{"processor µs of one answer", "leader", "a follower",
		"the other follower", "all members"}}
	for _, m := range r.Measurements {
		if len(m.OtherCPUMicros) != groupMembers-1 {
			continue
		}
		row, sum := []string{m.Name}, 0.0
		for _, micros := range slices.Concat([]float64{m.ServerCPUMicros}, m.OtherCPUMicros) {
			row, sum = append(row, fmt.Sprintf("%.1f", micros)), sum+micros
		}
		t.add(append(row, fmt.Sprintf("%.1f", sum))...)
	}
	return t
}

// figures are the facts of all reports, and those of groups.
func (r *GroupReport) figures() *table {
	t := r.facts()
	if len(r.Measurements) > 0 {
		t.add("elections during the rounds", fmt.Sprint(r.Elections), "0")
	}
	if one := r.Failover; one != nil {
		t.add(fmt.Sprintf("writes acknowledged to %d clients, %s a second, while leaders were lost; "+
			"lost, unknown", one.Writers, number(one.PerSecond)), fmt.Sprintf("%s, %d, %d",
			number(float64(one.Acknowledged)), one.Lost, one.Surplus), "0, 0")
	}
	for _, one := range r.Joins {
		load := "nobody writes"
		if one.PerSecond > 0 {
			load = number(one.PerSecond) + " writes a second"
		}
		t.add(fmt.Sprintf("a new member votes and has everything: %s changesets in %s projects, "+
			"%.0f MB, %s", number(float64(one.Changesets)), number(float64(one.Projects)),
			float64(one.FolderBytes)/1e6, load), fmt.Sprintf("%.1f s", one.Seconds), "")
		t.add("of that until its data was copied and checked, until it served",
			fmt.Sprintf("%.1f s, %.1f s", one.CopySeconds, one.ServeSeconds), "")
		t.add("projects and writes checked on it, changesets lost",
			fmt.Sprintf("%s, %d", number(float64(one.Checked)), one.Lost), "0")
	}
	return t
}
