package license

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestCanonical(t *testing.T) {
	deep := strings.Repeat("(", DepthMax) + "MIT" + strings.Repeat(")", DepthMax)
	for _, c := range []struct{ expr, want string }{
		{"NOASSERTION", "NOASSERTION"},
		{"NONE", "NONE"},
		{" none ", "NONE"},
		{"MIT", "MIT"},
		{"mit", "MIT"},
		{"apache-2.0", "Apache-2.0"},
		{"0BSD", "0BSD"},
		{"(MIT)", "(MIT)"},
		{"MIT OR Apache-2.0", "MIT OR Apache-2.0"},
		{"mit or apache-2.0 and bsd-3-clause", "MIT OR Apache-2.0 AND BSD-3-Clause"},
		{"  ( MIT   OR(ISC)AND Zlib )  ", "(MIT OR (ISC) AND Zlib)"},
		{"MIT AND (LGPL-2.1-or-later OR BSD-3-Clause)", "MIT AND (LGPL-2.1-or-later OR BSD-3-Clause)"},
		{"GPL-2.0-only WITH Classpath-exception-2.0", "GPL-2.0-only WITH Classpath-exception-2.0"},
		{"gpl-2.0-or-later with bison-exception-2.2", "GPL-2.0-or-later WITH Bison-exception-2.2"},
		{"GPL-2.0", "GPL-2.0"},
		{"gpl-2.0+", "GPL-2.0+"},
		{"Apache-2.0+", "Apache-2.0+"},
		{"apache-1.1+ WITH LLVM-exception", "Apache-1.1+ WITH LLVM-exception"},
		{"LicenseRef-My.Own-1", "LicenseRef-My.Own-1"},
		{"licenseref-x", "LicenseRef-x"},
		{"DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2",
			"DocumentRef-spdx-tool-1.2:LicenseRef-MIT-Style-2"},
		{"LicenseRef-a WITH AdditionRef-b", "LicenseRef-a WITH AdditionRef-b"},
		{"MIT WITH documentref-d:additionref-b", "MIT WITH DocumentRef-d:AdditionRef-b"},
		{"LicenseRef-or", "LicenseRef-or"},
		{deep, deep},
		{"LicenseRef-" + strings.Repeat("a", LengthBytesMax-11),
			"LicenseRef-" + strings.Repeat("a", LengthBytesMax-11)},
	} {
		got, problem := Canonical(c.expr)
		if problem != "" || got != c.want {
			t.Errorf("Canonical(%q) = %q, %q, want %q", c.expr, got, problem, c.want)
		}
	}
}

func TestProblem(t *testing.T) {
	tight := strings.Repeat("(MIT)AND", 49) + "(MIT)"
	for _, c := range []struct{ expr, want string }{
		{"", "empty"},
		{"   ", "empty"},
		{"NONE OR MIT", "NONE must be used alone"},
		{"MIT AND NOASSERTION", "NOASSERTION must be used alone"},
		{"NONE (", "NONE must be used alone"},
		{"MIT WITH NONE", "NONE must be used alone"},
		{"(NONE)", "NONE must be used alone"},
		{"MITT", "\"MITT\" is not an SPDX license identifier"},
		{"MIT ISC", "\"ISC\" where AND, OR or the end"},
		{"MIT,ISC", "character that is not allowed"},
		{"MIT/ISC", "character that is not allowed"},
		{"MIT\tOR\tISC", "character that is not allowed"},
		{"MIT\n", "character that is not allowed"},
		{"MIT\x00", "character that is not allowed"},
		{"MİT", "character that is not allowed"},
		{"LicenseRef-\u212a", "character that is not allowed"},
		{"MIT And ISC", "\"And\" where AND"},
		{"AND", "\"AND\" where a license was"},
		{"or MIT", "\"or\" where a license was"},
		{"MIT OR", "ends where a license was"},
		{"MIT AND OR ISC", "\"OR\" where a license was"},
		{"MIT WITH", "ends where a license exception"},
		{"MIT WITH AND", "\"AND\" where a license exception"},
		{"MIT WITH (LLVM-exception)", "\"(\" where a license exception"},
		{"MIT WITH ISC", "not an SPDX exception identifier"},
		{"MIT WITH LLVM-exception+", "not an SPDX exception identifier"},
		{"MIT WITH LicenseRef-x", "not an SPDX exception identifier"},
		{"MIT WITH LLVM-exception WITH LLVM-exception", "\"WITH\" where AND, OR or the end"},
		{"(MIT) WITH LLVM-exception", "WITH follows a license identifier"},
		{"LLVM-exception", "not an SPDX license identifier"},
		{"(MIT", "without a closing one"},
		{"((MIT)", "without a closing one"},
		{"(MIT ISC)", "\"ISC\" where AND, OR or \")\""},
		{"MIT)", "\")\" where AND, OR or the end"},
		{")", "\")\" where a license was"},
		{"()", "\")\" where a license was"},
		{"(", "ends where a license was"},
		{"MIT (ISC)", "\"(\" where AND, OR or the end"},
		{"MIT +", "\"+\" where AND, OR or the end"},
		{"+", "not an SPDX license identifier"},
		{"MIT++", "not an SPDX license identifier"},
		{"GPL-2.0++", "not an SPDX license identifier"},
		{"LicenseRef-a+", "not an SPDX license identifier"},
		{"LicenseRef-", "not an SPDX license identifier"},
		{"LicenseRef-a_b", "character that is not allowed"},
		{"LicenseRef-a:LicenseRef-b", "not an SPDX license identifier"},
		{"DocumentRef-a", "not an SPDX license identifier"},
		{"DocumentRef-a:MIT", "not an SPDX license identifier"},
		{"DocumentRef-:LicenseRef-b", "not an SPDX license identifier"},
		{"DocumentRef-a:LicenseRef-", "not an SPDX license identifier"},
		{"DocumentRef-a:DocumentRef-b:LicenseRef-c", "not an SPDX license identifier"},
		{"AdditionRef-a", "not an SPDX license identifier"},
		{strings.Repeat("(", DepthMax+1) + "MIT" + strings.Repeat(")", DepthMax+1), "deeper than 32"},
		{strings.Repeat("(", LengthBytesMax), "deeper than 32"},
		{"LicenseRef-" + strings.Repeat("a", LengthBytesMax), "longer than 400"},
		{tight, "longer than 400"},
	} {
		got, problem := Canonical(c.expr)
		if got != "" || !strings.Contains(problem, c.want) {
			t.Errorf("Canonical(%q) = %q, %q, want a problem with %q", c.expr, got, problem, c.want)
		}
	}
}

// TestLists: the files are sorted without twins, and each identifier is found in any case.
func TestLists(t *testing.T) {
	for name, c := range map[string]struct {
		lines, before string
		least         int
	}{
		"ids":        {idLines, "", 700},
		"exceptions": {exceptionLines, "MIT WITH ", 60},
	} {
		lines := strings.Split(strings.TrimSuffix(c.lines, "\n"), "\n")
		if len(lines) < c.least {
			t.Errorf("%s: %d lines", name, len(lines))
		}
		ordered := func(a, b string) int {
			return strings.Compare(strings.ToLower(a), strings.ToLower(b))
		}
		if !slices.IsSortedFunc(lines, ordered) {
			t.Errorf("%s are not sorted", name)
		}
		if unique := slices.CompactFunc(slices.Clone(lines), strings.EqualFold); len(unique) !=
			len(lines) {
			t.Errorf("%s have twins", name)
		}
		for _, line := range lines {
			for _, form := range []string{line, strings.ToLower(line), strings.ToUpper(line)} {
				want := c.before + line
				if got, problem := Canonical(c.before + form); got != want {
					t.Errorf("Canonical(%q) = %q, %q", c.before+form, got, problem)
				}
			}
		}
	}
}

// TestGenerated: what the grammar makes is accepted, and its canonical form is stable.
func TestGenerated(t *testing.T) {
	word := rapid.SampledFrom([]string{"MIT", "isc", "GPL-2.0+", "Apache-2.0+", "LicenseRef-a.b",
		"DocumentRef-d:LicenseRef-x", "GPL-3.0-only WITH GCC-exception-3.1"})
	var expression func(t *rapid.T, depth int) string
	expression = func(t *rapid.T, depth int) string {
		if depth == 0 {
			return word.Draw(t, "word")
		}
		left, right := expression(t, depth-1), expression(t, depth-1)
		form := rapid.SampledFrom([]string{"1 AND 2", "1 or 2", "(1)", "( 1 )OR(2)", "1"})
		given := []byte(nil)
		for _, c := range []byte(form.Draw(t, "form")) {
			switch c {
			case '1':
				given = append(given, left...)
			case '2':
				given = append(given, right...)
			default:
				given = append(given, c)
			}
		}
		return string(given)
	}
	rapid.Check(t, func(t *rapid.T) {
		given := expression(t, rapid.IntRange(0, 3).Draw(t, "depth"))
		canonical, problem := Canonical(given)
		if problem == problemLength {
			t.Skip("too long")
		}
		if problem != "" || !strings.EqualFold(squeeze(canonical), squeeze(given)) {
			t.Fatalf("Canonical(%q) = %q, %q", given, canonical, problem)
		}
		if again, problem := Canonical(canonical); again != canonical {
			t.Fatalf("Canonical(%q) = %q, %q", canonical, again, problem)
		}
	})
}

func squeeze(s string) string { return strings.ReplaceAll(s, " ", "") }

func FuzzCanonical(f *testing.F) {
	for _, seed := range []string{"MIT", "(MIT OR isc) AND GPL-2.0+", "none", "a WITH b",
		"DocumentRef-a:LicenseRef-b"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		canonical, problem := Canonical(given)
		if (canonical == "") == (problem == "") {
			t.Fatalf("Canonical(%q) = %q, %q: one of the two must be empty", given, canonical, problem)
		}
		if problem != "" {
			return
		}
		if again, problem := Canonical(canonical); again != canonical {
			t.Fatalf("Canonical(%q) = %q, %q", canonical, again, problem)
		}
	})
}

func BenchmarkCanonical(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		Canonical("MIT OR (apache-2.0 AND GPL-2.0-only WITH Classpath-exception-2.0)")
	}
}
