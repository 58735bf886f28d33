package docs

import (
	"embed"
	"io/fs"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/api"
)

// Examples are requests and their answers, recorded by the script example.txtar, one file for each
// operation. Values that differ between runs are replaced by constant ones.
//
//go:embed examples/*.json
var examples embed.FS

// sample is one recorded request with its answer.
type sample struct {
	Request struct {
		Method string         `json:"method"`
		Target string         `json:"target"`
		Body   jsontext.Value `json:"body"`
	} `json:"request"`
	Response struct {
		Status int            `json:"status"`
		Body   jsontext.Value `json:"body"`
	} `json:"response"`
}

// sampleOf returns the recorded example of an operation, nil if there is none.
func sampleOf(op *api.Operation) *sample {
	text, err := fs.ReadFile(examples, "examples/"+op.Name+".json")
	if err != nil {
		return nil
	}
	out := new(sample)
	if err := json.Unmarshal(text, out); err != nil {
		panic(op.Name + ": " + err.Error())
	}
	return out
}
