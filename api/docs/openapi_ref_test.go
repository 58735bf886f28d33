package docs_test

import (
	"maps"
	"regexp"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"
)

var anyReference = regexp.MustCompile(`"\$ref": *"#/components/([A-Za-z]+)/([A-Za-z0-9_.-]+)"`)

// unusedComponents returns the components of an OpenAPI document that nothing in it refers to, and
// the references to components that it does not have. Security schemes are named, not referred to.
func unusedComponents(t *testing.T, text []byte) (unused, missing []string) {
	t.Helper()
	var document struct {
		Components map[string]map[string]any `json:"components"`
	}
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, found := range anyReference.FindAllSubmatch(text, -1) {
		used[string(found[1])+"/"+string(found[2])] = true
	}
	for kind, components := range document.Components {
		if kind == "securitySchemes" {
			continue
		}
		for name := range components {
			if key := kind + "/" + name; !used[key] {
				unused = append(unused, key)
			} else {
				delete(used, key)
			}
		}
	}
	return unused, slices.Sorted(maps.Keys(used))
}

// TestOpenAPIComponentsAreUsed counts the references of extensions too, as public linters do not.
func TestOpenAPIComponentsAreUsed(t *testing.T) {
	text, _ := publish().OpenAPI()
	unused, missing := unusedComponents(t, text)
	if len(unused) > 0 || len(missing) > 0 {
		t.Errorf("nothing refers to %v; there is no %v", unused, missing)
	}
	const faulty = `{"components":{"schemas":{"A":{},"B":{"$ref":"#/components/schemas/C"}}},
		"x-of":{"$ref":"#/components/schemas/B"}}`
	unused, missing = unusedComponents(t, []byte(faulty))
	if !slices.Equal(unused, []string{"schemas/A"}) ||
		!slices.Equal(missing, []string{"schemas/C"}) {
		t.Errorf("unused %v, missing %v", unused, missing)
	}
}
