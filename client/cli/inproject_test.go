package cli

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"pws/client"
)

// TestProjectNameOnALaterPage has more projects with a part of the name than a page holds: the one
// with the name is on the last page.
func TestProjectNameOnALaterPage(t *testing.T) {
	const pages = 3
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.FormValue("role") != "" {
			_, _ = w.Write([]byte(`{"ok":true,"data":{"projects":[],"next_cursor":null}}`))
			return
		}
		var nth int
		_, _ = fmt.Sscan(r.FormValue("cursor"), &nth)
		name, cursor := fmt.Sprintf("Plans %d", nth), fmt.Sprintf("%q", fmt.Sprint(nth+1))
		if nth == pages-1 {
			name, cursor = "Plans", "null"
		}
		_, _ = fmt.Fprintf(w, `{"ok":true,"data":{"projects":[{"id":"prj_%d","name":%q,`+
			`"owner":{"handle":"eve"},"viewer":{"role":"MAINTAINER"}}],"next_cursor":%s}}`,
			nth, name, cursor)
	}))
	defer server.Close()
	var notices strings.Builder
	caller := &account{
		Client: client.New(server.URL, client.Fixed("t")), signedIn: true, notices: &notices,
	}
	defer caller.close()
	id, err := caller.resolveProject(t.Context(), "plans")
	if err != nil || id != "prj_2" {
		t.Errorf("%q, %v", id, err)
	}
	if said := notices.String(); said != "Project plans is prj_2 of @eve.\n" {
		t.Errorf("said %q", said)
	}
}
