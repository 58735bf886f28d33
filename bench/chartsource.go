package bench

// chartSource is the SVG of a chart, as a template.
const chartSource = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {{.Width}} {{.Height}}" ` +
	`width="{{.Width}}" height="{{.Height}}" role="img" aria-labelledby="t d">
<title id="t">{{.Title}}</title>
<desc id="d">{{.YLabel}} over {{.XLabel}}. {{.Caption}}</desc>
<style>
svg{--back:#fff;--text:#1f2328;--faint:#59636e;--grid:#d8dee4;` +
	`--c1:#0550ae;--c2:#bc4c00;--c3:#116329;--c4:#8250df;--c5:#a40e26;--c6:#57606a}
@media(prefers-color-scheme:dark){svg{--back:#0d1117;--text:#e6edf3;--faint:#9198a1;` +
	`--grid:#30363d;--c1:#79c0ff;--c2:#ffa657;--c3:#7ee787;--c4:#d2a8ff;--c5:#ff7b72;--c6:#b1bac4}}
text{font:12px system-ui,sans-serif;fill:var(--text)}
.h{font-size:15px;font-weight:600}.f{fill:var(--faint);font-size:11px}
.g{stroke:var(--grid);stroke-width:1}.e{text-anchor:end}.m{text-anchor:middle}
polyline,.k{fill:none;stroke-width:2}circle{stroke:var(--back);stroke-width:1}
.l1{stroke:var(--c1)}.l2{stroke:var(--c2);stroke-dasharray:7 3}` +
	`.l3{stroke:var(--c3);stroke-dasharray:2 3}
.l4{stroke:var(--c4);stroke-dasharray:9 3 2 3}.l5{stroke:var(--c5);stroke-dasharray:4 4}` +
	`.l6{stroke:var(--c6);stroke-dasharray:12 4}
.p1{fill:var(--c1)}.p2{fill:var(--c2)}.p3{fill:var(--c3)}` +
	`.p4{fill:var(--c4)}.p5{fill:var(--c5)}.p6{fill:var(--c6)}
</style>
<rect width="{{.Width}}" height="{{.Height}}" style="fill:var(--back)"/>
<text class="h" x="{{.Left}}" y="24">{{.Title}}</text>
{{range .YTicks}}<line class="g" x1="{{$.Left}}" x2="{{$.Right}}" y1="{{.At}}" y2="{{.At}}"/>` +
	`<text class="e" x="{{$.Left}}" y="{{.At}}" dx="-8" dy="4">{{.Text}}</text>
{{end}}{{range .XTicks}}<line class="g" x1="{{.At}}" x2="{{.At}}" y1="{{$.Top}}" y2="{{$.Bottom}}"/>` +
	`<text class="m" x="{{.At}}" y="{{$.Bottom}}" dy="18">{{.Text}}</text>
{{end}}<text class="m" x="{{.CenterX}}" y="{{.Bottom}}" dy="38">{{.XLabel}}</text>
<text class="m" transform="translate(18 {{.CenterY}}) rotate(-90)">{{.YLabel}}</text>
{{range .Series}}<line class="k l{{.Number}}" x1="{{.LegendX}}" x2="{{.LegendEnd}}" ` +
	`y1="{{.LegendLineY}}" y2="{{.LegendLineY}}"/>` +
	`<text x="{{.LegendText}}" y="{{.LegendY}}">{{.Name}}</text>
{{if .Points}}<polyline class="l{{.Number}}" points="{{.Points}}"/>
{{end}}{{$n := .Number}}{{range .Marks}}<circle class="p{{$n}}" cx="{{.X}}" cy="{{.Y}}" r="4"/>
{{end}}{{end}}<text class="f" x="{{.Left}}" y="{{.Height}}" dy="-8">{{.Caption}}</text>
</svg>
`
