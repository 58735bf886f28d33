package webtest

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "make the pictures of README.md again")

// pictures has the pictures that README.md shows, each of at most so many bytes.
const (
	pictures         = "pictures"
	pictureBytesMax  = 60 << 10
	pictureColorsMax = 256
)

// framed are the pictures with their pages and windows.
var framed = []struct {
	name, path string
	window     [2]int64
}{
	{"today", "/ui/", [2]int64{1000, 760}},
	{"contribution", "/ui/c/{contribution}", [2]int64{1000, 1080}},
}

// TestPicturesOfReadme checks that README.md shows two pages, in files that load fast. With -update
// they are made from the world.
func TestPicturesOfReadme(t *testing.T) {
	w := theWorld(t)
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var b *tab
	for _, one := range framed {
		file := filepath.Join(pictures, one.name+".png")
		if *update {
			if b == nil {
				b = w.signedIn(t, "ada")
			}
			b.size(one.window)
			b.opens(shown{path: w.address(t, one.path), status: 200})
			b.keepPicture(file)
		}
		if !strings.Contains(string(readme), "](test/web/"+filepath.ToSlash(file)+")") {
			t.Errorf("README.md does not show %s", file)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kept, err := png.DecodeConfig(bytes.NewReader(data))
		if err != nil || len(data) > pictureBytesMax || int64(kept.Width) != one.window[0] ||
			int64(kept.Height) != one.window[1] {
			t.Errorf("%s: %d bytes, %d × %d, %v", file, len(data), kept.Width, kept.Height, err)
		}
		if colors, ok := kept.ColorModel.(color.Palette); !ok {
			t.Errorf("%s has no palette: %T", file, colors)
		}
	}
}

// keepPicture writes what the window shows with its most frequent colors.
func (b *tab) keepPicture(file string) {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	whole, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		b.t.Fatal(err)
	}
	var out bytes.Buffer
	encoder := png.Encoder{CompressionLevel: png.BestCompression}
	if err := encoder.Encode(&out, fewColors(whole)); err != nil {
		b.t.Fatal(err)
	}
	err = os.MkdirAll(pictures, 0o755)
	if err == nil {
		err = os.WriteFile(file, out.Bytes(), 0o644)
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

// fewColors is an image with a palette of its most frequent colors; others become the nearest one.
func fewColors(whole image.Image) *image.Paletted {
	bounds := whole.Bounds()
	count := map[color.Color]int{}
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			count[whole.At(x, y)]++
		}
	}
	colors := slices.SortedFunc(maps.Keys(count), func(a, b color.Color) int {
		return cmp.Compare(count[b], count[a])
	})
	made := image.NewPaletted(bounds, colors[:min(len(colors), pictureColorsMax)])
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			made.Set(x, y, whole.At(x, y))
		}
	}
	return made
}
