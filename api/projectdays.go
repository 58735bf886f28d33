package api

import (
	"sort"
	"time"

	"pws/internal/fault"
	"pws/work"
)

// DayCount is how much was published on a day.
type DayCount struct {
	// The day in UTC: 2026-11-20.
	Date string `json:"date"`
	// Number of changesets that were published on it.
	Changesets int `json:"changesets"`
}

// DaysData is the number of changesets by day.
type DaysData struct {
	// The last 14 days in UTC, oldest first; the last one is today.
	Days []DayCount `json:"days"`
}

const (
	// daysShown is how many days are counted, dayMillis the length of one.
	daysShown = 14
	dayMillis = 24 * 3600 * 1000
)

var projectDaysOperations = []*Operation{
	declare[None, DaysData](Operation{
		Name: "project.days", Method: "GET", Path: "/api/v1/projects/{project}/days",
		Auth: Optional, Category: CategoryRead, Statuses: []int{200}, Params: projectParam,
		Errors: []fault.Code{fault.ProjectNotFound},
		Tag:    "projects", Summary: "Count the changesets of the last days",
		Doc: "Returns how many changesets were published on each of the last 14 days in UTC. " +
			"Imported history counts on the day of its import.",
	}, readDays),
}

func readDays(c *Call, _ *None) (Reply, error) {
	view, err := c.readable()
	if err != nil {
		return Reply{}, err
	}
	return Reply{Data: DaysData{Days: daysOf(view, c.Now)}}, nil
}

// daysOf counts the changesets by day. The history is in the order of its times, so the bounds of
// days are searched and not walked to.
func daysOf(p *work.Project, now int64) []DayCount {
	first := now - now%dayMillis - (daysShown-1)*dayMillis
	before := changesetsBefore(p, first)
	days := make([]DayCount, daysShown)
	for i := range days {
		start := first + int64(i)*dayMillis
		after := max(before, changesetsBefore(p, start+dayMillis))
		days[i] = DayCount{
			Date:       time.UnixMilli(start).UTC().Format(time.DateOnly),
			Changesets: after - before,
		}
		before = after
	}
	return days
}

// changesetsBefore counts the changesets that were published before a time.
func changesetsBefore(p *work.Project, millis int64) int {
	return sort.Search(p.ChangesetsCount(), func(nth int) bool {
		return p.Step(uint32(nth+1)).CreatedAt >= millis
	})
}
