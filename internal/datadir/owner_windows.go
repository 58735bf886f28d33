package datadir

// RequireOwner does nothing: files have no owner who alone may use them.
func RequireOwner(string) error { return nil }
