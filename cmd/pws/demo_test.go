package main

import (
	"strings"
	"testing"
	"time"

	"pws/bench/replay"
)

func TestPrintDemo(t *testing.T) {
	result := replay.Result{
		Commits: 9, EmptyCommits: 2, Changesets: 8, Operations: 30, Published: 2 * time.Second,
		LeftOut: map[string]int{"submodule": 3, "holds a NUL byte": 1},
		Kills: []replay.Kill{
			{Commit: 3, Unanswered: true, Applied: true, Restart: 12 * time.Millisecond},
			{Commit: 5, Unanswered: true}, {Commit: 8},
		},
		Compared: replay.Comparison{Trees: 4, Files: 40},
	}
	var out strings.Builder
	printDemo(&out, result)
	for _, want := range []string{
		"9 commits as 8 changesets", "4 changesets a second", "3 file versions: submodule",
		"at commit 4, serving again after 12 ms: the open request had taken effect",
		"the open request was lost", "the last request had been answered", "4 trees with 40 files",
		"result     equal\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	result.Compared.Differences, result.Compared.Words = 1, []string{"a file is missing"}
	out.Reset()
	printDemo(&out, result)
	if !strings.HasSuffix(out.String(), "DIFFERS    a file is missing\nresult     1 differences\n") {
		t.Errorf("a difference is not reported:\n%s", out.String())
	}
}
