package bridge

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"pws/client"
)

// TestCallAtTheNextAddress has the first server refuse a call in a result, as one that leads no
// longer does: the second one gets it, with the same key.
func TestCallAtTheNextAddress(t *testing.T) {
	for _, c := range []struct {
		reason  string
		servers int
	}{{"NOT_LEADING", 2}, {"OUTCOME_UNKNOWN", 2}, {"DISK_RESERVE", 1}} {
		var keys []string
		serve := func(result string) string {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				keys = append(keys, r.Header.Get("Idempotency-Key"))
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, result)
			}))
			t.Cleanup(server.Close)
			return server.URL
		}
		refused := strings.Replace(refusal("STORAGE_UNAVAILABLE"), `"message":"No."`,
			`"message":"No.","details":{"reason":"`+c.reason+`"}`, 1)
		reached := client.New(serve(refused)+","+serve(fine), nil)
		t.Cleanup(reached.Close)
		b := New(Config{
			Service: &fake{caller: Caller{Server: reached.Server, SignedIn: true}, do: reached.Do},
			Version: "1", Log: slog.New(slog.DiscardHandler),
			Offline: func(string) (Offline, error) { return offline() },
		})
		got := string(b.ask(t.Context(), t.Context(), parse([]byte(toolCall("1", "task.create", "{}")))))
		if strings.Contains(got, `"isError":false`) != (c.servers == 2) {
			t.Errorf("%s: %s", c.reason, got)
		}
		if len(keys) != c.servers || keys[0] == "" || len(slices.Compact(keys)) != 1 {
			t.Errorf("%s: keys %q", c.reason, keys)
		}
	}
}
