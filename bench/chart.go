package bench

import (
	"bytes"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
)

// chart is a line chart. The same values make the same bytes.
type chart struct {
	// name is the name of the file, without its extension.
	name  string
	title string
	// caption is the machine and the date.
	caption string
	x, y    axis
	series  []series
}

// axis is one axis of a chart. A logarithmic one shows positive values alone.
type axis struct {
	// label names the quantity and its unit.
	label       string
	logarithmic bool
	// marks are the values with a tick; without any, an axis chooses round ones.
	marks []float64
	// least and most are values that the axis reaches, unless both are zero.
	least, most float64
}

// series is a line with its name.
type series struct {
	name   string
	points []point
}

type point struct{ x, y float64 }

// The sizes of a chart and of the margins around its plot, in pixels.
const (
	chartWidth, chartHeight   = 720, 420
	marginLeft, marginRight   = 74, 20
	marginTop, marginBottom   = 74, 66
	plotWidth                 = chartWidth - marginLeft - marginRight
	plotHeight                = chartHeight - marginTop - marginBottom
	plotRight, plotBottom     = marginLeft + plotWidth, marginTop + plotHeight
	legendAdvance, legendLine = 26, 18
	// characterWidth is about the width of a character of the legend.
	characterWidth = 6.6
	// ticksWanted is how many ticks an axis without marks has, about.
	ticksWanted = 5
)

// seriesMax is the number of lines that a chart can distinguish: by color, dashes and marks.
const seriesMax = 6

var errChart = errors.New("a chart needs one to six lines with points, positive where an axis " +
	"is logarithmic")

// scale maps values of an axis to pixels.
type scale struct {
	axis
	low, high  float64 // of the axis, as logarithms if it is logarithmic
	from, over float64 // pixels: the place of low, and the length
}

func (a axis) value(v float64) float64 {
	if a.logarithmic {
		return math.Log10(v)
	}
	return v
}

func (s *scale) at(v float64) float64 {
	return s.from + (s.value(v)-s.low)/(s.high-s.low)*s.over
}

// scaleOf makes an axis long enough for values.
func scaleOf(a axis, values []float64, from, over float64) (scale, error) {
	s := scale{axis: a, low: math.Inf(1), high: math.Inf(-1), from: from, over: over}
	if a.least != 0 || a.most != 0 {
		values = append(values[:len(values):len(values)], a.least, a.most)
	}
	for _, v := range append(values[:len(values):len(values)], a.marks...) {
		if a.logarithmic && v <= 0 || math.IsNaN(v) || math.IsInf(v, 0) {
			return s, errChart
		}
		s.low, s.high = min(s.low, a.value(v)), max(s.high, a.value(v))
	}
	switch {
	case a.logarithmic && len(a.marks) > 0:
		// The first and the last value do not touch the frame.
		s.low, s.high = s.low-0.05*(s.high-s.low+0.1), s.high+0.05*(s.high-s.low+0.1)
	case a.logarithmic:
		s.low, s.high = math.Floor(s.low), math.Ceil(s.high)
		if s.low == s.high {
			s.high++
		}
	default:
		s.low = min(s.low, 0)
		step := tickStep(s.high - s.low)
		s.high = math.Ceil(s.high/step) * step
		if s.low < 0 {
			s.low = math.Floor(s.low/step) * step
		}
		if s.high == s.low {
			s.high = s.low + 1
		}
	}
	return s, nil
}

// tickStep is a round step for a range of values: 1, 2 or 5 times a power of ten.
func tickStep(over float64) float64 {
	if over <= 0 {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(over/ticksWanted)))
	for _, times := range []float64{1, 2, 5} {
		if over/(times*power) <= ticksWanted+1 {
			return times * power
		}
	}
	return 10 * power
}

// tick is a line of the grid with its text.
type tick struct {
	At   string
	Text string
}

// ticks are those of an axis.
func (s *scale) ticks() (all []tick) {
	add := func(v float64) {
		all = append(all, tick{At: pixel(s.at(v)), Text: shortNumber(v)})
	}
	switch {
	case len(s.marks) > 0:
		for _, v := range s.marks {
			add(v)
		}
	case s.logarithmic:
		for power := s.low; power <= s.high+1e-9; power++ {
			add(math.Pow(10, math.Round(power)))
		}
	default:
		step := tickStep(s.high - s.low)
		for nth := math.Round(s.low / step); nth*step <= s.high+step*1e-9; nth++ {
			add(nth * step)
		}
	}
	return all
}

// pixel formats a length with a tenth of a pixel.
func pixel(v float64) string {
	text := strconv.FormatFloat(v, 'f', 1, 64)
	return strings.TrimSuffix(strings.TrimSuffix(text, "0"), ".")
}

// shortNumber formats a value of an axis: 1,000 is 1 k, a million is 1 M.
func shortNumber(v float64) string {
	unit := ""
	switch size := math.Abs(v); {
	case size >= 1e6:
		v, unit = v/1e6, " M"
	case size >= 1e3:
		v, unit = v/1e3, " k"
	}
	return strconv.FormatFloat(math.Round(v*1e4)/1e4, 'f', -1, 64) + unit
}

// drawnSeries is a line as the template draws it.
type drawnSeries struct {
	Number       int
	Name         string
	Points       string
	Marks        []drawnMark
	LegendX      string
	LegendY      string
	LegendEnd    string
	LegendMiddle string
	LegendText   string
	LegendLineY  string
}

type drawnMark struct{ X, Y string }

type drawnChart struct {
	Title, Caption, XLabel, YLabel string
	Width, Height                  int
	Left, Right, Top, Bottom       int
	Middle, CenterX, CenterY       int
	XTicks, YTicks                 []tick
	Series                         []drawnSeries
}

// svg draws the chart.
func (c *chart) svg() ([]byte, error) {
	var xs, ys []float64
	for _, one := range c.series {
		for _, p := range one.points {
			xs, ys = append(xs, p.x), append(ys, p.y)
		}
	}
	if len(xs) == 0 || len(c.series) > seriesMax {
		return nil, errChart
	}
	x, err := scaleOf(c.x, xs, marginLeft, plotWidth)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.name, err)
	}
	y, err := scaleOf(c.y, ys, plotBottom, -plotHeight)
	if err != nil {
		return nil, fmt.Errorf("chart %s: %w", c.name, err)
	}
	drawn := drawnChart{
		Title: c.title, Caption: c.caption, XLabel: c.x.label, YLabel: c.y.label,
		Width: chartWidth, Height: chartHeight, Left: marginLeft, Right: plotRight,
		Top: marginTop, Bottom: plotBottom, CenterX: marginLeft + plotWidth/2,
		CenterY: marginTop + plotHeight/2, XTicks: x.ticks(), YTicks: y.ticks(),
	}
	legendX, legendY := float64(marginLeft), 46.0
	for i, one := range c.series {
		width := legendAdvance + characterWidth*float64(len([]rune(one.name))) + 18
		if legendX+width > chartWidth && legendX > marginLeft {
			legendX, legendY = marginLeft, legendY+legendLine
		}
		drawn.Series = append(drawn.Series, one.drawn(i, &x, &y, legendX, legendY))
		legendX += width
	}
	var out bytes.Buffer
	if err := chartTemplate().Execute(&out, drawn); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func (s *series) drawn(nth int, x, y *scale, legendX, legendY float64) drawnSeries {
	d := drawnSeries{
		Number: nth + 1, Name: s.name, LegendX: pixel(legendX), LegendEnd: pixel(legendX + 20),
		LegendMiddle: pixel(legendX + 10), LegendText: pixel(legendX + legendAdvance),
		LegendY: pixel(legendY), LegendLineY: pixel(legendY - 4),
	}
	var line strings.Builder
	for i, p := range s.points {
		mark := drawnMark{X: pixel(x.at(p.x)), Y: pixel(y.at(p.y))}
		if i > 0 {
			line.WriteByte(' ')
		}
		line.WriteString(mark.X + "," + mark.Y)
		if len(s.points) <= marksMax {
			d.Marks = append(d.Marks, mark)
		}
	}
	d.Points = line.String()
	return d
}

// marksMax is the number of points above which a line has no marks.
const marksMax = 24

// chartTemplate draws with the colors of the reader's theme. Lines differ by dashes too, so that
// they can be told apart without colors.
var chartTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("chart").Parse(chartSource))
})

// write writes the chart into a folder.
func (c *chart) write(dir string) error {
	content, err := c.svg()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, c.name+".svg"), content, 0o644)
}

// writeCharts writes all charts that have points. The folder is made if it is missing.
func writeCharts(dir string, charts []*chart) error {
	if dir == "" {
		return nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, one := range charts {
		if one.empty() {
			continue
		}
		if err := one.write(dir); err != nil {
			return err
		}
	}
	return nil
}

// line adds a line with the points of which in says so, unless there are none.
func (c *chart) line(name string, all []GrowthPoint, in func(*GrowthPoint) (point, bool)) {
	one := series{name: name}
	for i := range all {
		if p, ok := in(&all[i]); ok {
			one.points = append(one.points, p)
		}
	}
	if len(one.points) > 0 {
		c.series = append(c.series, one)
	}
}

func (c *chart) empty() bool {
	for _, one := range c.series {
		if len(one.points) > 0 {
			return false
		}
	}
	return true
}
