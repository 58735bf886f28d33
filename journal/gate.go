package journal

// Gate decides which batches of entries take effect. It is a function of what servers have agreed
// on, so it decides alike on all of them: a batch rests on a state, and takes effect only if no
// entry and no reign has come in between.
type Gate struct {
	// Reign is the newest reign that has begun.
	Reign Reign
	// Position is that of the newest entry that has taken effect.
	Position uint64
}

// Begin begins a reign. It reports false for one that is not newer.
func (g *Gate) Begin(reign Reign) bool {
	if reign <= g.Reign {
		return false
	}
	g.Reign = reign
	return true
}

// Admit lets a batch take effect that was made in a reign for positions from first on. It reports
// false for one without effect.
func (g *Gate) Admit(reign Reign, first, entries uint64) bool {
	if reign != g.Reign || reign == 0 || first != g.Position+1 {
		return false
	}
	g.Position += entries
	return true
}
