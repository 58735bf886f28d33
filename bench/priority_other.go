//go:build !linux

package bench

// lowerPriority does nothing: other systems are not measured.
func lowerPriority(int) error { return nil }
