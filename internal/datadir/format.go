package datadir

// Newer is an event that has something which programs did not know from the beginning: its kind, or
// a field that is set. Format is that of the log of a group whose members understand it; package
// replica has the formats. Nothing of the kind is written while some members run an older program,
// which would not understand it, or would lose it.
type Newer interface{ Format() uint64 }

// FormatOf is the newest of the formats that events need, 0 where all programs understand them.
func FormatOf[E any](events []E) (newest uint64) {
	for _, event := range events {
		if newer, is := any(event).(Newer); is {
			newest = max(newest, newer.Format())
		}
	}
	return newest
}
