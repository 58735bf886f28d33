package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"pws/client"
	"pws/client/checkout"
)

// TestReadmeHasTheExitCodes compares the table of the README with that of the program.
func TestReadmeHasTheExitCodes(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	readme := strings.ReplaceAll(string(text), "`", "")
	for _, one := range exitCodes {
		if row := fmt.Sprintf("| %d | %s |", one.code, one.what); !strings.Contains(readme, row) {
			t.Errorf("the README has no row %q", row)
		}
	}
}

// TestAnswersOfOthersAreNone: what a proxy answers says nothing about the service, whatever its
// status is.
func TestAnswersOfOthersAreNone(t *testing.T) {
	for _, status := range []int{200, 302, 403, 404, 407, 409, 429, 502} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>No.</html>")
		}))
		c := client.New(server.URL, nil)
		c.RetryFor = 0
		err := c.Call(t.Context(), http.MethodGet, "/api/v1/x", nil, new(struct{}))
		c.Close()
		server.Close()
		want := ExitUnreachable
		if status == http.StatusTooManyRequests {
			want = ExitRateLimited
		}
		if code := ExitCode(err); code != want || client.Undone(err) && status < 400 {
			t.Errorf("status %d: exit code %d, %v", status, code, err)
		}
	}
}

// TestReportOfAnInterrupt says it in a word.
func TestReportOfAnInterrupt(t *testing.T) {
	var out strings.Builder
	Report(context.Canceled, false, &Env{Err: &out})
	if out.String() != "pws: interrupted\n" {
		t.Errorf("reported as %q", out.String())
	}
}

// TestControlCharactersAreCleaned has texts that would do something to a terminal.
func TestControlCharactersAreCleaned(t *testing.T) {
	for text, want := range map[string]string{
		"plain ü\ttext\n":          "plain ü\ttext\n",
		"\x1b[2Jgone":              `\x1b[2Jgone`,
		"bell\x07 back\b del\x7f":  `bell\a back\b del\x7f`,
		"c1 \u009b31m":             `c1 \u009b31m`,
		"\u202eesrever\u2066":      `\u202eesrever\u2066`,
		"line\rover":               `line\rover`,
		"a\U000E0041\u200b\u00ad":  `a\U000e0041\u200b\u00ad`,
		"👩\u200d👩 ❤\ufe0f a\ufe0f": "👩\u200d👩 ❤\ufe0f a\\ufe0f",
		"bad\xff":                  `bad\ufffd`,
	} {
		if got := Clean(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
	if got := line("a\nb\tc"); got != "a b c" {
		t.Errorf("a line is %q", got)
	}
}

// TestReportOfAnyBytes reports an error that has the name of a file, as JSON.
func TestReportOfAnyBytes(t *testing.T) {
	var out strings.Builder
	Report(errors.New("open bad\xff: permission denied"), true, &Env{Err: &out})
	const want = `"message":"open bad�: permission denied"`
	if !strings.Contains(out.String(), want) {
		t.Errorf("reported as %s", out.String())
	}
}

// TestReportOfABusyDirectory says to wait, for programs too.
func TestReportOfABusyDirectory(t *testing.T) {
	for _, err := range []error{treeError(checkout.ErrBusy), storeError(checkout.ErrBusy)} {
		for asJSON, want := range map[bool]string{
			false: "\ntry: wait until the other command has ended, then repeat\n",
			true: `"details":{"next_step":"wait until the other command has ended, then repeat"},` +
				`"retryable":true`,
		} {
			var out strings.Builder
			Report(err, asJSON, &Env{Err: &out})
			if !strings.Contains(out.String(), want) || ExitCode(err) != ExitConflict {
				t.Errorf("exit code %d, reported as %s", ExitCode(err), out.String())
			}
		}
	}
}

// TestStepsOfTheDisk has errors of the machine that a person can mend.
func TestStepsOfTheDisk(t *testing.T) {
	room := &fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	broken := &checkout.BrokenError{Path: "/d/.pws/local/journal.json", Err: errors.New("no JSON")}
	for err, want := range map[error]string{
		treeError(room):   "make room on the disk, then repeat",
		treeError(broken): "remove /d/.pws/local/journal.json, then pws pull",
	} {
		if got := nextStep(err, &Env{}); got != want {
			t.Errorf("%v: try %q", err, got)
		}
	}
}
