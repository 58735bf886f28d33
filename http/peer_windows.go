package http

// socketClosed reports false, for it would have to read. The next write finds a client that left.
func socketClosed(uintptr) bool { return false }
