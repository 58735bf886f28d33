#!/bin/sh
# Runs every fuzz target of the module on so many inputs each. The bound is a count because one in time
# makes the fuzzing engine of Go 1.26 report "context deadline exceeded" now and then, with nothing found.
set -eu
inputs=$1
grep -rlE '^func Fuzz[A-Za-z]+\(' --include='*_test.go' . | sort | while read -r file; do
	folder=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z]+' "$file" | sed 's/^func //' | while read -r target; do
		echo "fuzz $folder $target"
		go test "$folder" -run '^$' -fuzz "^$target\$" -fuzztime "${inputs}x" \
			-fuzzminimizetime 10x -parallel 2 </dev/null
	done
done
