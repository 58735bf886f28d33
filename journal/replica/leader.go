package replica

// Reign is the number of this server's reign, 0 while it does not lead.
func (j *Journal) Reign() uint64 { return j.reign.Load() }

// Leader is the number of the member that leads, 0 while none is known. It may be this one BEFORE
// its reign begins.
func (j *Journal) Leader() uint64 {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.mu.status.Leader
}
