#!/bin/sh
# Runs every fuzz target of the module for a few seconds each.
set -eu
seconds=$1
grep -rlE '^func Fuzz[A-Za-z]+\(' --include='*_test.go' . | sort | while read -r file; do
	folder=$(dirname "$file")
	grep -oE '^func Fuzz[A-Za-z]+' "$file" | sed 's/^func //' | while read -r target; do
		echo "fuzz $folder $target"
		go test "$folder" -run '^$' -fuzz "^$target\$" -fuzztime "${seconds}s" \
			-fuzzminimizetime 10x -parallel 2 </dev/null
	done
done
