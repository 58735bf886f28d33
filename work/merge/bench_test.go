package merge

import (
	"fmt"
	"strings"
	"testing"
)

func BenchmarkMerge(b *testing.B) {
	// The smaller texts have 20,000 lines where a line has seven bytes.
	for _, size := range []int{140000, 1 << 20} {
		for name, c := range hostile(size) {
			name = fmt.Sprintf("%d-%s", size, strings.ReplaceAll(name, " ", "-"))
			b.Run(name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					Merge(c.base, c.ours, c.theirs)
				}
			})
		}
	}
	var base, ours, theirs []byte
	for i := range 300 {
		block := fmt.Sprintf("func f%d() {\n\treturn nil\n}\n\n", i)
		base, ours, theirs = append(base, block...), append(ours, block...), append(theirs, block...)
		if i%30 == 10 {
			ours = append(ours, "// more\n"...)
		}
		if i%30 == 20 {
			theirs = append(theirs, "func more() {\n}\n\n"...)
		}
	}
	b.Run("typical", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			Merge(base, ours, theirs)
		}
	})
}
