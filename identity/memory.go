package identity

// The sizes of records in memory, in bytes, with their places in all trees. TestMemoryBytes
// compares them with the heap.
const (
	agentMemory     = 420
	keyMemory       = 420
	sessionMemory   = 460
	challengeMemory = 220
	reportMemory    = 500
)

// MemoryBytes estimates the memory of the State, in bytes, without a walk over it.
func (s *State) MemoryBytes() int64 {
	n := s.Counts()
	return int64(n.Agents)*agentMemory + int64(n.Keys)*keyMemory +
		int64(n.Sessions)*sessionMemory + int64(n.Challenges)*challengeMemory +
		int64(n.Reports)*reportMemory
}
