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
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for offset, want := range map[time.Duration]string{
		0: checkOK, -time.Minute: checkOK, 3 * time.Minute: checkBad, -24 * time.Hour: checkBad,
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
		if last.Name != "clock" || last.Status != want ||
			!strings.Contains(last.Detail, offset.String()) {
			t.Errorf("%s off: %+v", offset, last)
		}
		if !strings.Contains(d.checks[0].Detail, "version 1.2.3") {
			t.Errorf("the server: %+v", d.checks[0])
		}
	}
}
