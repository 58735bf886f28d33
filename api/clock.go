package api

// Advance is the body of test.clock.
type Advance struct {
	// How far to advance the clock.
	Seconds *int64 `json:"advance_seconds" check:"required,min=0,max=315360000"`
}

// ClockData is the time of the service.
type ClockData struct {
	// The time of the service.
	Now Time `json:"now"`
}

// TestClock returns the operation that moves the clock of the service forward. It is not in the
// table: a server for tests adds it with the engine's clock.
func TestClock(advance func(millis int64) int64) *Operation {
	return declare[Advance, ClockData](Operation{
		Name: "test.clock", Method: "POST", Path: "/test/clock",
		Auth: Anonymous, Category: CategoryWrite, Statuses: []int{200},
		Tag: "test", Summary: "Advance the clock",
		Doc: "For tests only: advances the clock that leases, challenges and sessions use.",
	}, func(_ *Call, body *Advance) (Reply, error) {
		return Reply{Data: ClockData{Now: Time(advance(*body.Seconds * 1000))}}, nil
	})
}
