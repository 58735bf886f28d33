package http

import (
	"strings"
	"testing"
	"time"

	"pws/api"
)

var processorLimits = []api.RateLimit{
	{Name: "processor", Scope: ScopeAgent, Category: api.CategoryExpensive,
		Unit: api.UnitProcessor, Quota: 1, WindowSeconds: 60},
	{Name: "processor-network", Scope: ScopeIP, Category: api.CategoryExpensive,
		Unit: api.UnitProcessor, Quota: 1000, WindowSeconds: 60},
}

// heavyText is the body of a request that is expensive by its size.
func heavyText() string { return `{"text":"` + strings.Repeat("x", heavyBody) + `"}` }

// TestHeavyBodiesTakeTurns checks that a large body is decoded in a slot of expensive operations,
// valid or not, and that small ones are not.
func TestHeavyBodiesTakeTurns(t *testing.T) {
	over := make(chan time.Time)
	f := computingFixture(t, Config{
		Expensive: 1, after: func(time.Duration) <-chan time.Time { return over },
	}, DefaultLimits())
	held := make(chan answer, 1)
	go func() { held <- f.ask(t, "GET", "/v1/held") }()
	<-f.entered
	for _, body := range []string{heavyText(), strings.Repeat("[", heavyBody+1)} {
		refused := make(chan answer, 1)
		go func() { refused <- f.post(t, "/v1/body", body, "Authorization: Bearer good") }()
		over <- time.Time{}
		if a := <-refused; a.status != 429 || a.envelope(t).Error.Details["reason"] != "EXPENSIVE" {
			t.Errorf("%d %.200s", a.status, a.body)
		}
	}
	if a := f.post(t, "/v1/body", `{"text":"small"}`); a.status != 201 {
		t.Errorf("a small body: %d %.200s", a.status, a.body)
	}
	close(f.leave)
	<-held
	if a := f.post(t, "/v1/body", heavyText()); a.status != 201 {
		t.Errorf("AFTER the slot is free: %d %.200s", a.status, a.body)
	}
}

// TestTimeOfProjectsIsCharged checks that what a project has used is charged, and that a large body
// of a caller without any time left is refused BEFORE it is read.
func TestTimeOfProjectsIsCharged(t *testing.T) {
	f := computingFixture(t, Config{Expensive: 1}, processorLimits)
	const good = "Authorization: Bearer good"
	if a := f.ask(t, "GET", "/v1/charged", good); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	w := f.dial(t)
	w.send("POST /v1/body HTTP/1.1\r\nHost: h\r\n" + good + "\r\nContent-Length: 1000000\r\n\r\n" +
		strings.Repeat(" ", 64<<10))
	a := w.receive("POST")
	if a.status != 429 || a.envelope(t).Error.Details["reason"] != "PROCESSOR" ||
		!strings.Contains(a.header.Get("RateLimit-Policy"), "processor") {
		t.Errorf("a large body: %d %v %s", a.status, a.header, a.body)
	}
	if a := f.post(t, "/v1/body", `{"text":"small"}`, good); a.status != 201 {
		t.Errorf("a small body: %d %s", a.status, a.body)
	}
	if a := f.post(t, "/v1/body", heavyText(), "Authorization: Bearer other"); a.status != 201 {
		t.Errorf("another agent: %d %s", a.status, a.body)
	}
}
