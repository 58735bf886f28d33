package webtest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

// patience bounds every wait. A test that reaches it has failed.
const patience = 60 * time.Second

// screens is where the tests keep pictures of what they saw.
const screens = "screens"

// chromium has the browser of all tests in its context; pws is the program; scratch is a folder
// that is removed at the end.
var (
	chromium context.Context
	pws      string
	scratch  string
)

func TestMain(m *testing.M) {
	flag.Parse()
	if testing.Short() {
		os.Exit(0)
	}
	os.Exit(run(m))
}

// run starts the browser for the tests. It returns the exit code.
func run(m *testing.M) int {
	path := browserPath()
	if path == "" {
		fmt.Fprintln(os.Stderr, "SKIPPED: the web page is not tested, because there is no "+
			"Chromium here. make test-web installs it.")
		if required() {
			return 1
		}
		return 0
	}
	folder, err := os.MkdirTemp("", "pws-web-")
	if err == nil {
		defer os.RemoveAll(folder)
		scratch = folder
		pws, err = program(folder)
	}
	if err == nil {
		err = os.MkdirAll(screens, 0o755)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path),
		// Nothing but this machine exists for the browser.
		chromedp.Flag("host-resolver-rules", "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"),
		chromedp.Flag("font-render-hinting", "none"),
		chromedp.UserDataDir(filepath.Join(folder, "profile")))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox)
	}
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	begun, end := chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(begun); err != nil {
		fmt.Fprintln(os.Stderr, "the browser does not start:", err)
		return 1
	}
	chromium = begun
	code := m.Run()
	stopServers()
	return code
}

func required() bool { return os.Getenv("PWS_BROWSER") == "required" }

// browserPath finds the browser, empty if there is none.
func browserPath() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// program is the path of the program that PWS names, or of one that it builds.
func program(folder string) (string, error) {
	if path := os.Getenv("PWS"); path != "" {
		return path, nil
	}
	path := filepath.Join(folder, "pws")
	build := exec.Command("go", "build", "-o", path, "pws/cmd/pws")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return path, nil
}
