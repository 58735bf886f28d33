package bench

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func sampleChart() *chart {
	return &chart{
		name: "sample", title: "Writes < reads", caption: "A machine & a day",
		x: axis{label: "connections", logarithmic: true}, y: axis{label: "a second"},
		series: []series{
			{name: "reads", points: []point{{1, 20_000}, {64, 70_000}, {1000, 64_000}}},
			{name: "writes", points: []point{{1, 900}, {64, 20_000}, {1000, 21_500}}},
		},
	}
}

// TestChartIsWellFormed checks that a chart is XML, that texts are escaped, and that all points are
// within its plot.
func TestChartIsWellFormed(t *testing.T) {
	drawn, err := sampleChart().svg()
	if err != nil {
		t.Fatal(err)
	}
	again, err := sampleChart().svg()
	if err != nil || !bytes.Equal(drawn, again) {
		t.Error("the same values made other bytes")
	}
	lines, marks := 0, 0
	for decoder := xml.NewDecoder(bytes.NewReader(drawn)); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v\n%s", err, drawn)
		}
		if element, ok := token.(xml.StartElement); ok {
			switch element.Name.Local {
			case "polyline":
				lines++
			case "circle":
				marks++
			}
		}
	}
	if lines != 2 || marks != 6 {
		t.Errorf("%d lines and %d marks\n%s", lines, marks, drawn)
	}
	for _, want := range []string{"Writes &lt; reads", ">100<", ">80 k<", "points=\"74,"} {
		if !strings.Contains(string(drawn), want) {
			t.Errorf("no %q in\n%s", want, drawn)
		}
	}
}

func TestChartRefuses(t *testing.T) {
	for name, spoil := range map[string]func(*chart){
		"no points":       func(c *chart) { c.series = nil },
		"zero, as power":  func(c *chart) { c.series[0].points[0].x = 0 },
		"not a number":    func(c *chart) { c.series[0].points[0].y = math.NaN() },
		"infinite":        func(c *chart) { c.series[0].points[0].y = math.Inf(1) },
		"too many series": func(c *chart) { c.series = slices.Repeat(c.series, seriesMax) },
	} {
		c := sampleChart()
		spoil(c)
		if _, err := c.svg(); !errors.Is(err, errChart) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChartsWithoutPointsAreNotWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "charts")
	if err := writeCharts(dir, []*chart{{name: "empty"}, sampleChart()}); err != nil {
		t.Fatal(err)
	}
	found, err := os.ReadDir(dir)
	if err != nil || len(found) != 1 || found[0].Name() != "sample.svg" {
		t.Errorf("%v %v", found, err)
	}
}

func TestTicks(t *testing.T) {
	for _, c := range []struct {
		axis   axis
		values []float64
		want   string
	}{
		{axis{}, []float64{0, 23_000}, "0 5 k 10 k 15 k 20 k 25 k"},
		{axis{}, []float64{0.2, 0.97}, "0 0.2 0.4 0.6 0.8 1"},
		{axis{logarithmic: true}, []float64{3, 2e6}, "1 10 100 1 k 10 k 100 k 1 M 10 M"},
		{axis{}, []float64{0, 0}, "0 0.2 0.4 0.6 0.8 1"},
	} {
		s, err := scaleOf(c.axis, c.values, 0, 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, one := range s.ticks() {
			got = append(got, one.Text)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: %v, want %s", c.values, got, c.want)
		}
	}
}
