#!/bin/sh
# Runs every fuzz target of the module on so many inputs each. The bound is a count because one in time
# makes the fuzzing engine of Go 1.26 report "context deadline exceeded" now and then, with nothing found.
# The program of a package is built once for all of its targets, for that takes longer than the inputs.
set -eu
inputs=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
grep -rlE '^func Fuzz[A-Za-z]+\(' --include='*_test.go' . | xargs -n 1 dirname | sort -u |
	while read -r folder; do
		go test -c -fuzz . -o "$work/fuzz.test" "$folder"
		grep -hoE '^func Fuzz[A-Za-z]+' "$folder"/*_test.go | sed 's/^func //' |
			while read -r target; do
				echo "fuzz $folder $target"
				(cd "$folder" && "$work/fuzz.test" -test.run '^$' -test.fuzz "^$target\$" \
					-test.fuzztime "${inputs}x" -test.fuzzminimizetime 10x -test.parallel 2 \
					-test.fuzzcachedir "$work/cache" </dev/null)
			done
	done
