package bridge

import (
	"bytes"

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
		if _, reads := readTool(value); reads {
			kept = append(kept, bytes.Clone(value))
		}
	}
	return bytes.Join([][]byte{
		answer[:begin], bytes.Join(kept, []byte(",")), answer[d.InputOffset():],
	}, nil)
}

// readTool returns the name of a tool in a list, and whether it changes nothing.
func readTool(tool jsontext.Value) (name string, reads bool) {
	var one struct {
		Name        string `json:"name"`
		Annotations struct {
			ReadOnly bool `json:"readOnlyHint"`
		} `json:"annotations"`
	}
	err := json.Unmarshal(tool, &one, lenient)
	return one.Name, err == nil && one.Annotations.ReadOnly
}

// mayCall reports whether a bridge that only reads passes on a call of this tool. It trusts the
// tables of this program, not the hints of the server.
func (b *Bridge) mayCall(tool string) bool {
	offline, err := b.offline(b.cfg.Service.Caller().Server)
	if err != nil {
		return false
	}
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for _, query := range []string{"", "names=underscore"} {
		var answer struct {
			Result struct {
				Tools []jsontext.Value `json:"tools"`
			} `json:"result"`
		}
		if json.Unmarshal(offline.Answer(query, nil, []byte(list)), &answer, lenient) != nil {
			return false
		}
		for _, one := range answer.Result.Tools {
			if name, reads := readTool(one); name == tool {
				return reads
			}
		}
	}
	return false
}
