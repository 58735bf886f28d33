package web

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pws/api"
)

// TestChartsAreClear draws random days: bars stay within the drawing and apart, a higher number has
// no lower bar, and each day with a number has a bar and a word.
func TestChartsAreClear(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		days, drawn, total := make([]api.DayCount, 14), 0, 0
		for i := range days {
			days[i].Date = fmt.Sprintf("2026-11-%02d", i+1)
			if random.IntN(3) > 0 {
				days[i].Changesets = random.IntN(1 << random.IntN(20))
			}
			total += days[i].Changesets
			if days[i].Changesets > 0 {
				drawn++
			}
		}
		c := newChart(days)
		if len(c.Bars) != drawn || c.Total != total || (c.Words == "") != (drawn == 0) {
			t.Fatalf("%d bars of %d, total %d of %d: %q", len(c.Bars), drawn, c.Total, total, c.Words)
		}
		last := -barGap
		for _, one := range c.Bars {
			if one.X < last+barGap || one.X+one.Width > c.Width || one.Height < 1 || one.Y < 0 ||
				one.Y+one.Height != c.Height {
				t.Fatalf("bar %+v in %d × %d after %d", one, c.Width, c.Height, last)
			}
			last = one.X + one.Width
			of := days[one.X/(barWidth+barGap)].Changesets
			for _, other := range c.Bars {
				if days[other.X/(barWidth+barGap)].Changesets > of && other.Height < one.Height {
					t.Fatalf("%+v is higher than %+v", one, other)
				}
			}
		}
	}
	if c := newChart(nil); c.Width != 0 || len(c.Bars) != 0 {
		t.Errorf("no days: %+v", c)
	}
}
