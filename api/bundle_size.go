package api

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/fault"
	"pws/work"
)

const (
	// recordBytesMin is the minimum average size of a record in a text. A text of empty records
	// would take a hundred times its size in memory.
	recordBytesMin = 24
	// blobBytesMin is the minimum size of a content with its hash.
	blobBytesMin = 66
)

// agentsNamedMax is the number of agents that a bundle names.
const agentsNamedMax = 50_000

// sectionMax has the maximum number of elements of each list in a bundle.
var sectionMax = map[string]int{
	"files": work.FilesMax, "handoffs": work.HandoffsMax, "tasks": work.TasksMax,
	"verification": work.VerificationsMax, "artifacts": work.ArtifactsMax,
	"relationships": work.RelationsMax, "discussions": work.DiscussionsMax,
	"comments": work.CommentsMax, "contributions": work.ContributionsMax,
	"imports": work.ImportsMax,
	"agents":  agentsNamedMax, "state_history": work.StateVersionsMax,
}

// overfull finds members with too many elements. It runs BEFORE the text, which must be valid JSON,
// is decoded into memory.
func overfull(raw []byte) (problems []fault.Field) {
	if objectsIn(raw) > len(raw)/recordBytesMin+1 {
		return []fault.Field{{Problem: "has too many records for its size"}}
	}
	dec := jsontext.NewDecoder(bytes.NewBuffer(raw), jsontext.AllowDuplicateNames(true))
	if dec.PeekKind() != '{' {
		return nil
	}
	_, _ = dec.ReadToken()
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return problems
		}
		name := token.String()
		most, bounded := sectionMax[name]
		if name == "blobs" {
			most, bounded = len(raw)/blobBytesMin, true
		}
		if !bounded {
			_ = dec.SkipValue()
		} else if members(dec) > most {
			problems = append(problems, fault.Field{
				Field: name, Problem: fmt.Sprintf("must have at most %d items", most),
			})
		}
	}
	return problems
}

// members reads a value and counts the elements of a list or the members of an object.
func members(dec *jsontext.Decoder) (count int) {
	kind := dec.PeekKind()
	if kind != '[' && kind != '{' {
		_ = dec.SkipValue()
		return 0
	}
	_, _ = dec.ReadToken()
	for end := kind + 2; dec.PeekKind() != end; count++ {
		if kind == '{' {
			_ = dec.SkipValue()
		}
		if dec.SkipValue() != nil {
			return count
		}
	}
	_, _ = dec.ReadToken()
	return count
}

// objectsIn counts the objects in valid JSON.
func objectsIn(raw []byte) (count int) {
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '"':
			for i++; raw[i] != '"'; i++ {
				if raw[i] == '\\' {
					i++
				}
			}
		case '{':
			count++
		}
	}
	return count
}
