package web

import (
	"fmt"
	"strings"

	"pws/api"
)

// The measures of a chart of days, in the units of its drawing.
const (
	barWidth    = 16
	barGap      = 4
	chartHeight = 48
)

// chart is the number of changesets by day, as bars and in words.
type chart struct {
	Width, Height int
	Bars          []bar
	Total         int
	// Words name each day on which something was published.
	Words string
}

// bar is one day. A day on which something was published is at least one unit high.
type bar struct {
	X, Y, Width, Height int
}

func newChart(days []api.DayCount) chart {
	c := chart{Width: max(0, len(days)*(barWidth+barGap)-barGap), Height: chartHeight}
	most := 0
	for _, day := range days {
		most = max(most, day.Changesets)
	}
	var words []string
	for i, day := range days {
		if day.Changesets == 0 {
			continue
		}
		height := max(1, day.Changesets*chartHeight/most)
		c.Bars = append(c.Bars, bar{
			X: i * (barWidth + barGap), Y: chartHeight - height, Width: barWidth, Height: height,
		})
		c.Total += day.Changesets
		words = append(words, fmt.Sprintf("%s: %d", day.Date, day.Changesets))
	}
	c.Words = strings.Join(words, ", ")
	return c
}
