package web

import (
	"fmt"
	"html"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestDividedPages divides random pages, and checks that their parts have all of it once, that each
// is complete, and that none is large.
func TestDividedPages(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 300 {
		content := randomContent(random, 6)
		most := 300 + random.IntN(3000)
		parts := piecesOf(content, most)
		var got strings.Builder
		for i, part := range parts {
			if problem := unbalanced(part); problem != "" {
				t.Fatalf("part %d: %s: %s\nof %s", i, problem, part, content)
			}
			if len(part) > most+largest {
				t.Fatalf("part %d has %d bytes, not %d: %s", i, len(part), most, part)
			}
			got.WriteString(textsOf(part))
		}
		if got.String() != textsOf(content) {
			t.Fatalf("%d parts have\n%s\nand not\n%s", len(parts), got.String(), textsOf(content))
		}
	}
}

// largest is what cannot be divided, and what elements that are open take.
const largest = 400

var tags = regexp.MustCompile(`<[^>]*>`)

// textsOf is the text of some HTML.
func textsOf(content string) string {
	return html.UnescapeString(tags.ReplaceAllString(content, ""))
}

// unbalanced returns which element is not where it should be, empty if all are.
func unbalanced(content string) string {
	var open []string
	for _, tag := range tags.FindAllString(content, -1) {
		name := strings.Trim(strings.Fields(tag)[0], "</>")
		switch {
		case voids[name] || strings.HasSuffix(tag, "/>"):
		case name == "td" || name == "tr":
			// Their ends may be left out.
		case !strings.HasPrefix(tag, "</"):
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return tag + " within " + fmt.Sprint(open)
		default:
			open = open[:len(open)-1]
		}
	}
	return strings.Join(open, ", ")
}

func randomContent(random *rand.Rand, depth int) string {
	word := func() string {
		words := []string{"word ", "ä&lt;b&gt; ", "&#34;&#39;", "日本語", "averyverylongword", "\n"}
		return strings.Repeat(words[random.IntN(len(words))], 1+random.IntN(60))
	}
	if depth == 0 {
		return word()
	}
	var text strings.Builder
	for range 1 + random.IntN(4) {
		inner := randomContent(random, depth-1-random.IntN(depth))
		switch random.IntN(9) {
		case 0:
			text.WriteString(`<section aria-labelledby="a"><h2 id="a">` + word() + `</h2>` + inner +
				`</section>`)
		case 1:
			text.WriteString(`<ul class="rows"><li>` + inner + `</li><li>` + word() + `</li></ul>`)
		case 2:
			text.WriteString(`<table class="diff"><tbody><tr class=added><td>1<td>` + word() +
				`<tr><td><td>` + word() + `</tbody></table>`)
		case 3:
			text.WriteString(`<form method="post"><input name="a" value="1"><button>B</button></form>`)
		case 4:
			text.WriteString(`<details open id="f1"><summary>S</summary>` + inner + `</details>`)
		case 5:
			text.WriteString(`<p class="text">` + word() + `<br>` + word() + `<a href="/x">link</a></p>`)
		case 6:
			text.WriteString(`<svg class="x"><rect x="1"/><path d="M1"/></svg>`)
		default:
			text.WriteString(`<article>` + inner + word() + `</article>`)
		}
	}
	return text.String()
}

// TestDividedPagesHaveTheirHead checks what is around the content of a part, and its links.
func TestDividedPagesHaveTheirHead(t *testing.T) {
	text := strings.Repeat("<p>"+strings.Repeat("word ", 100)+"</p>\n", 400)
	for _, head := range []string{
		"<p>Above</p><h1>Head</h1>",
		`<h1>Head</h1><p>by</p><nav class="tabs" aria-label="x"><a href="/y">Y</a></nav>`,
	} {
		const before, after = "<html><body><header></header>" + contentBegin, "<footer></footer>"
		page := before + head + text + contentEnd + after
		link := func(part int) string { return fmt.Sprint("?a=1&part=", part) }
		var bytes, last int
		for number := 1; ; number++ {
			part := divided(page, number, link)
			if !strings.HasPrefix(part, before+head+"\n") ||
				!strings.HasSuffix(part, contentEnd+after) || len(part) > pageBytesMax {
				t.Fatalf("part %d of %d bytes: %s", number, len(part), part)
			}
			bytes += strings.Count(part, "word ")
			earlier := strings.Count(part, fmt.Sprintf("?a=1&amp;part=%d\"", number-1))
			later := strings.Count(part, fmt.Sprintf("?a=1&amp;part=%d\"", number+1))
			if number > 1 && earlier != 2 || number == 1 && earlier != 0 {
				t.Errorf("part %d has %d links to the one before", number, earlier)
			}
			if later == 0 {
				last = number
				break
			}
		}
		if bytes != 40_000 || last != 4 {
			t.Errorf("%d words in %d parts", bytes, last)
		}
		if got := divided(page, 99, link); got != divided(page, last, link) {
			t.Error("what is behind the last part is not the last part")
		}
	}
	if small := "<main id=\"main\"><h1>x</h1></main>"; divided(small, 7, nil) != small {
		t.Error("a small page is divided")
	}
	if !slices.Equal(piecesOf("<p>a</p>", 100), []string{"<p>a</p>"}) {
		t.Error("a small content is divided")
	}
}
