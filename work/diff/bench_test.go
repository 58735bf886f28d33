package diff

import (
	"strings"
	"testing"
)

// BenchmarkUnifiedOfMany diffs ten files of the maximum size.
func BenchmarkUnifiedOfMany(b *testing.B) {
	for name, pair := range hostilePairs() {
		files := make([]File, 10)
		for i := range files {
			files[i] = File{Path: string(rune('a' + i)), Action: Modify, Old: pair[0], New: pair[1]}
		}
		b.Run(strings.ReplaceAll(name, " ", "-"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				Unified(files, 200_000)
			}
		})
	}
}
