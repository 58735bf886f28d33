package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
)

// TestFileWriteKeepsTheType: a file that is written keeps its content type, also if somebody else
// makes or writes it between the two requests of the command.
func TestFileWriteKeepsTheType(t *testing.T) {
	p := newHookPlace(t)
	for name, test := range map[string]struct {
		// types are the content types that the file has when it is asked for, empty for none.
		types []string
		want  []string
	}{
		"a new file":     {[]string{""}, []string{"* "}},
		"its own type":   {[]string{"text/x"}, []string{`"chg_0" text/x`}},
		"made by others": {[]string{"", "text/x"}, []string{"* ", `"chg_1" text/x`}},
		"others have changed": {
			[]string{"text/x", "text/y"}, []string{`"chg_0" text/x`, `"chg_1" text/y`},
		},
		"deleted by others":  {[]string{"text/x", ""}, []string{`"chg_0" text/x`, "* "}},
		"a file of its name": {[]string{"a.md.more text/z"}, []string{"* "}},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			server := httptest.NewServer(http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					answer, status := `{"ok":true,"data":{}}`, http.StatusOK
					switch r.Method {
					case http.MethodGet:
						first := listed(test.types[len(got)], len(got))
						answer = `{"ok":true,"data":{"files":[` + first + `]}}`
					case http.MethodPut:
						var body struct {
							Type string `json:"content_type"`
						}
						if err := json.UnmarshalRead(r.Body, &body); err != nil {
							t.Error(err)
						}
						condition := r.Header.Get("If-Match") + r.Header.Get("If-None-Match")
						got = append(got, condition+" "+body.Type)
						if len(got) < len(test.types) {
							status = http.StatusPreconditionFailed
							answer = `{"ok":false,"error":{"code":"PRECONDITION_FAILED","message":"No."}}`
						}
					}
					w.WriteHeader(status)
					if _, err := w.Write([]byte(answer)); err != nil {
						t.Error(err)
					}
				}))
			defer server.Close()
			p.server = server.URL
			env, _ := p.env(nil)
			env.In = strings.NewReader("text\n")
			err := (&FileWriteCommand{
				InProject: InProject{Project: "prj_00000000000000000000000000"}, Path: "a.md",
			}).Run(t.Context(), env)
			if err != nil || fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("%q, %v, want %q", got, err, test.want)
			}
		})
	}
}

// listed is the first file of a list whose paths begin with a.md.
func listed(kind string, nth int) string {
	path, contentType, other := strings.Cut(kind, " ")
	switch {
	case kind == "":
		return ""
	case !other:
		path, contentType = "a.md", kind
	}
	return fmt.Sprintf(`{"path":%q,"content_type":%q,"updated_changeset_id":"chg_%d"}`, path,
		contentType, nth)
}
