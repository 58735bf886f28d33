package docs

import (
	"embed"
	"fmt"
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

// minimal returns the data of the example's minimal answer, nil if the operation has none.
func (s *sample) minimal(op *api.Operation) jsontext.Value {
	filter := op.Minimal()
	if s == nil || filter == nil {
		return nil
	}
	var envelope struct {
		Data jsontext.Value `json:"data"`
	}
	if err := json.Unmarshal(s.Response.Body, &envelope); err != nil {
		panic(op.Name + ": " + err.Error())
	}
	if err := envelope.Data.Compact(); err != nil {
		panic(op.Name + ": " + err.Error())
	}
	return filter.Apply(envelope.Data)
}

// minimalText returns the data of the minimal answer in the example of an operation, for the
// documents.
func minimalText(operation string) (string, error) {
	for _, op := range api.Table {
		if op.Name == operation {
			return string(sampleOf(op).minimal(op)), nil
		}
	}
	return "", fmt.Errorf("there is no operation %s", operation)
}
