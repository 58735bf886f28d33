package datadir

// Newer is an event that has something which programs did not know from the beginning: its kind, a
// field that is set, or a value of a field. Format is that of the log of a group whose members
// understand it; package logformat has them. It is 0 for an event without any of that, which
// older programs understand. A record with a new field may be in several events, alone or in a
// list: Format of each of them looks whether it is set. Nothing new is written while some members
// run an older program, which would not understand it, or would lose it.
//
// The tests TestFrozenFields of packages work and identity have the fields that were known from the
// beginning, and demand a Format of each event with another one. They cannot see a new value.
type Newer interface{ Format() uint64 }

// FormatOf is the newest of the formats that events need, 0 where all programs understand them.
func FormatOf[E any](events []E) (newest uint64) {
	for _, event := range events {
		if newer, ok := any(event).(Newer); ok {
			newest = max(newest, newer.Format())
		}
	}
	return newest
}
