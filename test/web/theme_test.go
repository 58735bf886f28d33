package webtest

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// brightness is the background of the page, as its share of red: 255 is white.
func (b *tab) brightness() int {
	b.t.Helper()
	return eval[int](b, `+getComputedStyle(document.body).backgroundColor.match(/\d+/)[0]`)
}

// TestTheme chooses each theme with the keyboard, with and without scripts.
func TestTheme(t *testing.T) {
	t.Parallel()
	w := theWorld(t)
	for _, scripts := range []bool{true, false} {
		b := newTab(t, w.server)
		b.scripts(scripts)
		b.open("/ui/search?q=a")
		check := func(chosen string, light, dark bool) {
			t.Helper()
			for scheme, want := range map[string]bool{"light": light, "dark": dark} {
				b.colors(scheme)
				if bright := b.brightness(); (bright > 128) != want {
					t.Errorf("%s where the system is %s: %d", chosen, scheme, bright)
				}
				if scripts {
					b.wrong(b.barriers(chosen + " on " + scheme))
				}
			}
			b.colors("light")
			pressed := eval[[]string](b, `[...document.querySelectorAll("[aria-pressed=true]")]
				.map((one) => one.innerText)`)
			if len(pressed) != 1 || pressed[0] != chosen {
				t.Errorf("%s: pressed is %q", chosen, pressed)
			}
		}
		check("System", true, false)
		for _, chosen := range []string{"Dark", "Light", "System", "Dark"} {
			b.tabTo(".theme button", chosen)
			b.enter()
			if got := b.address(); got != "/ui/search?q=a#theme" {
				t.Errorf("%s leads to %s", chosen, got)
			}
			// Who works with the keyboard goes on from there.
			b.tabTo(".theme button", "System")
			check(chosen, chosen != "Dark", chosen == "Light")
			b.picture("theme-" + chosen)
		}
		cookies := call(b, network.GetCookies, network.GetCookiesParams{}).Cookies
		year := time.Now().Add(364 * 24 * time.Hour)
		if len(cookies) != 1 || cookies[0].Value != "dark" || cookies[0].Path != "/ui/" ||
			cookies[0].SameSite != "Lax" || !cookies[0].HTTPOnly ||
			cookies[0].Expires < float64(year.Unix()) {
			t.Errorf("cookies %+v", cookies[0])
		}
		b.do(chromedp.Navigate(b.server.url + "/ui/"))
		if bright := b.brightness(); bright > 128 {
			t.Errorf("another page has %d", bright)
		}
		call(b, network.SetCookie, network.SetCookieParams{
			Name: cookies[0].Name, Value: "blue", URL: b.server.url, Path: "/ui/",
		})
		b.open("/ui/")
		check("System", true, false)
		b.quiet(200)
	}
}
