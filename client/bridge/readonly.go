package bridge

import (
	"bytes"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codeReadOnly is the code of calls that a bridge which only reads does not pass on.
const codeReadOnly = "READ_ONLY"

// onlyReads returns a list of tools with those alone that change nothing. Other answers stay as
// they are.
func onlyReads(answer []byte) []byte {
	d := valueAt(answer, "result", "tools")
	if d == nil || d.PeekKind() != '[' {
		return answer
	}
	if _, err := d.ReadToken(); err != nil {
		return answer
	}
	begin, kept := d.InputOffset(), [][]byte{}
	for d.PeekKind() != ']' {
		value, err := d.ReadValue()
		if err != nil {
			return answer
		}
		if _, hints := readTool(value); hints.ReadOnly {
			kept = append(kept, bytes.Clone(value))
		}
	}
	return bytes.Join([][]byte{
		answer[:begin], bytes.Join(kept, []byte(",")), answer[d.InputOffset():],
	}, nil)
}

// hints are what a tool says of its effects.
type hints struct {
	ReadOnly bool `json:"readOnlyHint"`
	// Destructive tools replace or remove something; the idempotent ones of them do only that.
	Destructive bool `json:"destructiveHint"`
	Idempotent  bool `json:"idempotentHint"`
}

// updates are tools that only set fields. They are not listed as idempotent, because a condition
// that held the first time may not hold again.
var updates = map[string]bool{"task.update": true, "project.update": true}

// replaces reports whether a tool only sets or removes what is there.
func (h hints) replaces(tool string) bool {
	return h.Destructive && (h.Idempotent || updates[strings.ReplaceAll(tool, "_", ".")])
}

// readTool returns the name of a tool in a list, and its hints. Without a name it has none.
func readTool(tool jsontext.Value) (string, hints) {
	var one struct {
		Name        string `json:"name"`
		Annotations hints  `json:"annotations"`
	}
	if json.Unmarshal(tool, &one, lenient) != nil {
		return "", hints{}
	}
	return one.Name, one.Annotations
}

// hintsOf returns the hints of a tool by the tables of this program, not by what the server says.
// A tool that is not in them has none.
func (b *Bridge) hintsOf(tool string) hints {
	offline, err := b.offline(b.cfg.Service.Caller().Server)
	if err != nil {
		return hints{}
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, query := range []string{"", "names=underscore"} {
		var answer struct {
			Result struct {
				Tools []jsontext.Value `json:"tools"`
			} `json:"result"`
		}
		if json.Unmarshal(offline.Answer(query, nil, []byte(list)), &answer, lenient) != nil {
			return hints{}
		}
		for _, one := range answer.Result.Tools {
			if name, found := readTool(one); name == tool {
				return found
			}
		}
	}
	return hints{}
}
