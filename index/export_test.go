package index

// SetTalliesMax sets the number of counts above which a project is heavy.
func (l *Links) SetTalliesMax(most int) { l.talliesMax = most }
