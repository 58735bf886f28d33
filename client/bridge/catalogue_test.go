package bridge

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"pws/client"
)

// kept is a catalogue in memory.
type kept struct {
	content []byte
	writes  int
}

func (k *kept) Read(string) []byte { return k.content }

func (k *kept) Write(_ string, content []byte) error {
	k.content = content
	k.writes++
	return nil
}

// TestServerOfAnotherVersion checks what a host sees of a server that describes itself otherwise
// than this program: the next process has it, until the server is as this program again.
func TestServerOfAnotherVersion(t *testing.T) {
	const other = `{"tools":[{"name":"later"}]}`
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	answers, err := offline()
	if err != nil {
		t.Fatal(err)
	}
	catalogue := new(kept)
	says, asked := other, 0
	own := parse([]byte(list)).resultOf(answers.Answer("", nil, []byte(list)))
	session := func(want string) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			h := connect(t, &fake{catalogue: catalogue, do: func(
				_ context.Context, request *client.Request,
			) (*client.Answer, error) {
				asked++
				if says == "" {
					return nil, &client.UnreachableError{Cause: errors.New("refused")}
				}
				return answerTo(request, says), nil
			}}, "")
			h.send(list)
			if got := h.one(); got != `{"jsonrpc":"2.0","id":1,"result":`+want+`}` {
				t.Errorf("%.200s, want %.200s", got, want)
			}
			// Nothing is asked for twice, and pings and errors are not.
			h.send(list, `{"jsonrpc":"2.0","id":1,"method":"ping"}`,
				`{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"cursor":"x"}}`)
			h.said()
		})
	}
	session(string(own))
	session(other)
	says = ""
	session(other)
	says = string(own)
	session(other)
	session(string(own))
	if asked != 5 || catalogue.writes != 2 || strings.Contains(string(catalogue.content), "later") {
		t.Errorf("asked %d times, written %d times: %s", asked, catalogue.writes, catalogue.content)
	}
}

// TestCutDescriptionIsNotKept has a server whose answer ends in the middle.
func TestCutDescriptionIsNotKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		catalogue := new(kept)
		h := connect(t, &fake{catalogue: catalogue, do: func(
			context.Context, *client.Request,
		) (*client.Answer, error) {
			return &client.Answer{Body: []byte(`{"jsonrpc":"2.0","id":1,"result":{"tools":[`)}, nil
		}}, "")
		h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		h.one()
		if catalogue.writes > 0 {
			t.Errorf("kept: %s", catalogue.content)
		}
	})
}

func TestSpoiledCatalogue(t *testing.T) {
	for _, content := range []string{`{`, `{"tools/list  ":"{\"tools\":["}`} {
		synctest.Test(t, func(t *testing.T) {
			service := stuck()
			service.catalogue = &kept{content: []byte(content)}
			h := connect(t, service, "")
			h.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
			if got := h.one(); !strings.Contains(got, "project.create") {
				t.Errorf("%s: %.200s", content, got)
			}
		})
	}
}
