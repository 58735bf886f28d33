package api

import (
	"math"
	"time"

	"pws/api/jsonschema"
	"pws/internal/fault"
)

// Time is a time on the wire: RFC 3339, UTC, milliseconds. The value is in Unix milliseconds.
type Time int64

// MarshalJSON writes the text in quotes.
func (t Time) MarshalJSON() ([]byte, error) { return t.append(make([]byte, 0, 26)), nil }

// AppendJSON writes the text in quotes.
func (t Time) AppendJSON(dst []byte) []byte { return t.append(dst) }

func (t Time) append(dst []byte) []byte { return jsonschema.AppendTime(dst, int64(t)) }

// UnmarshalJSON reads the text; see Problems.
func (t *Time) UnmarshalJSON(text []byte) error {
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
	if *t = Time(parsed.UnixMilli()); err != nil {
		*t = noTime
	}
	return nil
}

// noTime marks an invalid text.
const noTime = Time(math.MinInt64)

// Problems implements jsonschema.Checker.
func (t *Time) Problems() []fault.Field {
	if *t != noTime {
		return nil
	}
	return []fault.Field{{
		Problem: "must be an RFC 3339 time, for example 2026-11-20T09:06:00.000Z",
	}}
}

// JSONSchema describes the text.
func (Time) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "format": "date-time"}
}

// timeOrNil returns nil for the zero time.
func timeOrNil(millis int64) *Time {
	if millis == 0 {
		return nil
	}
	t := Time(millis)
	return &t
}
