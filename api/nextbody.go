package api

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"pws/internal/fault"
)

// defaults are values for members that are missing or not valid where one value is safe: it shows
// nothing to others and permits nothing.
var defaults = map[string]any{
	"visibility": "PRIVATE", "reuse_policy": "REFERENCE_ONLY", "license_spdx": "NOASSERTION",
}

// bodyCorrections returns possible corrections of a fault in the body, the likeliest first.
func (o *Operation) bodyCorrections(g *given, one fault.Field) []func(g *given) {
	place := locationOf(one.Field)
	if len(place) == 0 {
		return nil
	}
	value, set := g.at(place)
	if !set || value == nil {
		if safe := defaults[one.Field]; safe != nil {
			return []func(g *given){func(g *given) { g.put(o, one.Field, safe) }}
		}
		if !set {
			return nil
		}
	}
	if name, unknown := o.meant(place, one.Problem, g); unknown {
		if name == "" {
			return nil
		}
		return []func(g *given){func(g *given) {
			g.change(place, nil)
			if len(place) == 1 {
				g.put(o, name, value)
				return
			}
			g.change(append(place[:len(place)-1:len(place)-1], name), value)
		}}
	}
	var changes []func(g *given)
	for _, other := range likelyValues(value, one.Problem) {
		changes = append(changes, func(g *given) { g.change(place, other) })
	}
	if safe := defaults[one.Field]; safe != nil {
		changes = append(changes, func(g *given) { g.change(place, safe) })
	}
	if last, _ := place[len(place)-1].(string); last == "content_type" || value == nil {
		changes = append(changes, func(g *given) { g.change(place, nil) })
	}
	return changes
}

// meant returns the name that an unknown member should have, empty if it cannot be guessed.
func (o *Operation) meant(place []any, problem string, g *given) (name string, unknown bool) {
	if !strings.HasPrefix(problem, "unknown member") {
		return "", false
	}
	if _, said, found := strings.Cut(problem, `did you mean "`); found {
		return strings.TrimSuffix(said, `"?`), true
	}
	last, _ := place[len(place)-1].(string)
	if len(place) > 1 {
		return "", true
	}
	return o.likely(last, g), true
}

// likelyValues returns values that may have been meant by one of another type or form.
func likelyValues(value any, problem string) (tries []any) {
	switch value := value.(type) {
	case string:
		if strings.HasPrefix(problem, "must be one of") {
			upper := strings.NewReplacer("-", "_", " ", "_").Replace(strings.ToUpper(value))
			return append(tries, upper)
		}
		if clean := cleanPath(value); clean != "" {
			tries = append(tries, clean)
		}
		var inner any
		if json.Unmarshal([]byte(value), &inner) == nil && inner != nil {
			tries = append(tries, inner)
		}
		if trimmed := strings.TrimSpace(value); trimmed != value {
			tries = append(tries, trimmed)
		}
		return append(tries, []any{value})
	case []any:
		if lines, all := linesOf(value); all {
			tries = append(tries, strings.Join(lines, "\n"))
		}
		if len(value) == 1 {
			tries = append(tries, value[0])
		}
		return append(tries, string(jsonOf(value)))
	case map[string]any:
		return []any{string(jsonOf(value)), []any{value}}
	case float64:
		return []any{strconv.FormatFloat(value, 'f', -1, 64), value == 1}
	case bool:
		return []any{strconv.FormatBool(value)}
	}
	return nil
}

// linesOf returns the elements of a list if all of them are texts.
func linesOf(list []any) (texts []string, all bool) {
	for _, one := range list {
		text, ok := one.(string)
		if !ok {
			return nil, false
		}
		texts = append(texts, text)
	}
	return texts, len(list) > 0
}

// locationOf reads the location of a fault, such as operations[3].path: names and indexes.
func locationOf(field string) (place []any) {
	for name := range strings.SplitSeq(field, ".") {
		name, indexes, _ := strings.Cut(name, "[")
		place = append(place, name)
		for index := range strings.SplitSeq(strings.TrimSuffix(indexes, "]"), "][") {
			if number, err := strconv.Atoi(index); err == nil {
				place = append(place, number)
			}
		}
	}
	if len(place) == 1 && place[0] == "" {
		return nil
	}
	return place
}

// at returns the value at a place of the body.
func (g *given) at(place []any) (value any, set bool) {
	value, set = any(g.body), g.body != nil
	for _, step := range place {
		switch holder := value.(type) {
		case map[string]any:
			name, _ := step.(string)
			value, set = holder[name]
		case []any:
			index, isIndex := step.(int)
			if set = isIndex && index >= 0 && index < len(holder); set {
				value = holder[index]
			}
		default:
			set = false
		}
		if !set {
			return nil, false
		}
	}
	return value, set
}

// change sets the value at a place of the body, or removes the member for nil.
func (g *given) change(place []any, to any) {
	holder, set := g.at(place[:len(place)-1])
	if !set {
		return
	}
	switch holder := holder.(type) {
	case map[string]any:
		if name, _ := place[len(place)-1].(string); to == nil {
			delete(holder, name)
		} else {
			holder[name] = to
		}
	case []any:
		if index, isIndex := place[len(place)-1].(int); isIndex {
			holder[index] = to
		}
	}
}

// likeliest returns the name that is most like an unknown one, empty if none is like it: equal but
// for case and separators, or with other words around it, or at most two letters away.
func likeliest(unknown string, names []string) string {
	const lengthMax, awayMax = 60, 2
	if len(unknown) > lengthMax {
		return ""
	}
	bare := func(name string) string {
		name = strings.ToLower(name)
		name = strings.NewReplacer("_", "", "-", "", ".", "").Replace(name)
		return strings.TrimSuffix(strings.TrimSuffix(name, "id"), "s")
	}
	best, away := "", awayMax+1
	for _, name := range names {
		if bare(name) == bare(unknown) {
			return name
		}
		if d := EditDistance(bare(unknown), bare(name)); d < away && d < len(name)-1 {
			best, away = name, d
		}
	}
	return best
}

// EditDistance is the Levenshtein distance of two texts: how many bytes have to be inserted,
// removed or replaced to make one of the other.
func EditDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for i := range row {
		row[i] = i
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
