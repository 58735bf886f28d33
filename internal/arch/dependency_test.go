package arch

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

var (
	requirement   = regexp.MustCompile(`(?m)^\t(\S+) v\S+`)
	dependencyRow = regexp.MustCompile(`(?m)^\| ([a-z].*?) \|`)
	modulePath    = regexp.MustCompile(`[a-z0-9.]+\.[a-z]+/[^\s,|]+`)
)

// TestDependenciesAreExplained compares the modules in go.mod with those in DEPENDENCIES.md.
func TestDependenciesAreExplained(t *testing.T) {
	var required, explained []string
	for _, match := range requirement.FindAllStringSubmatch(readText(t, "go.mod"), -1) {
		required = append(required, match[1])
	}
	for _, row := range dependencyRow.FindAllStringSubmatch(readText(t, "DEPENDENCIES.md"), -1) {
		explained = append(explained, modulePath.FindAllString(row[1], -1)...)
	}
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing")
	}
	for _, module := range required {
		if !slices.Contains(explained, module) {
			t.Errorf("DEPENDENCIES.md does not say why %s is required", module)
		}
	}
	for _, module := range explained {
		if !slices.Contains(required, module) {
			t.Errorf("DEPENDENCIES.md explains %s, which go.mod does not require", module)
		}
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(root + "/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
