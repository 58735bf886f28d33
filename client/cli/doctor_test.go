package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// TestDoctorComparesClocks has a server whose clock differs.
func TestDoctorComparesClocks(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.UTC)
	for offset, want := range map[time.Duration]struct{ status, detail string }{
		0:                      {checkOK, "this clock agrees with the server's"},
		700 * time.Millisecond: {checkOK, "this clock agrees with the server's"},
		-time.Minute:           {checkOK, "this clock is 1 min behind the server's"},
		90 * time.Second:       {checkOK, "this clock is 1 min 30 s ahead of the server's"},
		3 * time.Minute:        {checkBad, "this clock is 3 min ahead of the server's"},
		-10 * time.Minute:      {checkBad, "this clock is 10 min behind the server's"},
		-24 * time.Hour:        {checkBad, "this clock is 24 h behind the server's"},
		25*time.Hour + 61*time.Second: {
			checkBad, "this clock is 25 h 1 min 1 s ahead of the server's",
		},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Date", now.Add(-offset).Format(http.TimeFormat))
			_, _ = w.Write([]byte(`{"ok":true,"data":{"version":"1.2.3"}}`))
		}))
		d := &doctor{env: &Env{Now: func() time.Time { return now }}}
		if !d.checkReachable(t.Context(), server.URL) {
			t.Errorf("not reachable: %+v", d.checks)
		}
		server.Close()
		last := d.checks[len(d.checks)-1]
		if last.Name != "clock" || last.Status != want.status || last.Detail != want.detail {
			t.Errorf("%s off: %+v", offset, last)
		}
		if !strings.Contains(d.checks[0].Detail, "version 1.2.3") {
			t.Errorf("the server: %+v", d.checks[0])
		}
	}
}
