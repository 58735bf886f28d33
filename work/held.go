package work

// heldVersionsMax bounds how many versions of a path are searched for a content.
const heldVersionsMax = 32

// Held returns contents of the changesets among the events that the project already has: the same
// path had the same content in one of its newest versions. Whoever publishes a changeset may read
// these versions. The project may be nil.
func (p *Project) Held(events []Event) (held map[Hash]bool) {
	if p == nil {
		return nil
	}
	for _, event := range events {
		published, ok := event.(*ChangesetPublished)
		if !ok {
			continue
		}
		for i := range published.Ops {
			op := &published.Ops[i]
			if op.Blob == (Hash{}) || !p.hadAt(op.Path, op.Blob) {
				continue
			}
			if held == nil {
				held = map[Hash]bool{}
			}
			held[op.Blob] = true
		}
	}
	return held
}

// hadAt reports whether a path had a content in one of its newest versions.
func (p *Project) hadAt(path string, content Hash) bool {
	f, ok := p.live.Get(path)
	if !ok {
		if f, ok = p.gone.Get(path); !ok {
			return false
		}
	}
	tag := tagOf(&content)
	for _, one := range f.versions[max(0, len(f.versions)-heldVersionsMax):] {
		if one.tag != tag || one.gone() {
			continue
		}
		var op Op
		if p.history.operation(one, &op); op.Blob == content {
			return true
		}
	}
	return false
}
