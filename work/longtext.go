package work

import "pws/internal/id"

// awayMessageMin is the size of a message of a changeset from which on it is stored away. It is
// small, because a project may have any number of changesets, and their messages are in no quota of
// texts.
const awayMessageMin = 512

// whole stores a text of a size away, and leaves nothing of it. It returns nil for a shorter one.
func (a *away) whole(text string, least int) (kept string, ref *Away) {
	if len(text) < least {
		return text, nil
	}
	put := a.put(awayText, text, len(text), 0)
	return "", &put
}

// Text returns the text that is stored away. load returns its content, or nil for one that was
// removed: then the text is empty.
func (a *Away) Text(load func(Hash) ([]byte, error)) (text string, err error) {
	content, err := load(a.Hash)
	if err == nil && content != nil {
		err = takeAway(awayText, content, &text)
	}
	return text, err
}

// putAway stores long messages and bodies of new records away. Nobody else has the events.
func (d *Decision) putAway() {
	var texts away
	for _, event := range d.Events {
		switch event := event.(type) {
		case *ChangesetPublished:
			event.Message, event.Away = texts.whole(event.Message, awayMessageMin)
		case *DiscussionCreated:
			event.Body, event.Away = texts.whole(event.Body, awayBytesMin)
		case *CommentAdded:
			event.Body, event.Away = texts.whole(event.Body, awayBytesMin)
		}
	}
	d.Blobs = append(d.Blobs, texts.blobs...)
}

// putTextsAway stores long messages and bodies of imported records away.
func (b *bundleImport) putTextsAway() {
	for nth := range b.event.Changesets {
		one := &b.event.Changesets[nth]
		one.Message, one.Away = b.away.whole(one.Message, awayMessageMin)
	}
	for _, one := range b.event.Discussions {
		one.Body, one.Away = b.away.whole(one.Body, awayBytesMin)
	}
	for _, one := range b.event.Comments {
		one.Body, one.Away = b.away.whole(one.Body, awayBytesMin)
	}
}

// LongTexts yields the contents with long texts that records of the project name now, with the kind
// and the ID of the record, until yield returns false. See also PastContents.
func (p *Project) LongTexts(yield func(kind id.Prefix, record id.ID, text Away) bool) {
	goOn := true
	add := func(kind id.Prefix, record id.ID, text *Away) bool {
		goOn = goOn && (text == nil || yield(kind, record, *text))
		return goOn
	}
	for _, handoff := range p.handoffs {
		if !add(id.Handoff, handoff.ID, handoff.Away) {
			return
		}
	}
	for changeset := range p.AllChangesets(false) {
		if !add(id.Changeset, changeset.ID, changeset.Away) {
			return
		}
	}
	p.Tasks(id.ID{}, AsStored, func(t *Task) bool {
		t.Texts().Each(func(one Away) { add(id.Task, t.ID, &one) })
		return goOn
	})
	p.Discussions(id.ID{}, func(d *Discussion) bool { return add(id.Discussion, d.ID, d.Away) })
	p.AllComments(func(c *Comment) bool { return add(id.Comment, c.ID, c.Away) })
}

// leave notes a content that a deleted record does not name any more.
func (p *Project) leave(text *Away) {
	if text != nil {
		p.past.add(text.Hash, p.Revision+1)
	}
}
