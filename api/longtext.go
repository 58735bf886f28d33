package api

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/id"
	"pws/work"
)

// recordText returns a text of a record that may be stored away; ref is nil if it is not. One that
// an operator has removed is empty. One that is damaged is empty, too, and sound returns the error.
// While an answer is rendered that the log does not have yet, texts are left out.
func (c *Call) recordText(text string, ref *work.Away) string {
	if ref == nil {
		return text
	}
	if c.leavesOut {
		c.leftOut = true
		return ""
	}
	text, err := ref.Text(c.texts)
	if err != nil && c.textFault == nil {
		c.textFault = err
	}
	return text
}

// sound returns a reply unless one of its texts is damaged: BLOB_CORRUPT.
func (c *Call) sound(reply Reply) (Reply, error) { return reply, c.textFault }

// withMessage returns a changeset that has its message.
func (c *Call) withMessage(from *work.Changeset) *work.Changeset {
	if from.Away == nil {
		return from
	}
	whole := *from
	whole.Message, whole.Away = c.recordText("", from.Away), nil
	return &whole
}

// renderStored renders an answer for repeats of its key, without the texts that are stored away.
func (c *Call) renderStored(
	p *work.Project, result work.Result,
	render func(project *work.Project, result work.Result) (Reply, error),
) Rendered {
	c.leavesOut, c.leftOut = true, false
	defer func() { c.leavesOut = false }()
	reply, err := render(p, result)
	if err != nil {
		panic(err)
	}
	data, tasks := withoutTexts(reply.Data)
	return Rendered{reply.Status, withTag(appendData(nil, data), reply.ETag), tasks, c.leftOut}
}

// storedTag begins the member of stored data that has the ETag of the answer, without its quotes.
// It is the last one: servers before it answer a repeat with that member, and not with broken data.
const storedTag = `,"stored_etag":"`

// withTag appends an ETag to the object that is the data of an answer; an empty one is left out.
func withTag(data []byte, tag string) []byte {
	if tag == "" {
		return data
	}
	data = append(data[:len(data)-1], storedTag...)
	return append(append(data, tag[1:]...), '}')
}

// cutTag undoes withTag. Data that was stored without an ETag have none.
func cutTag(stored []byte) (data []byte, tag string) {
	end := len(stored) - len(`"}`)
	at := bytes.LastIndex(stored, []byte(storedTag))
	if at < 0 || string(stored[end:]) != `"}` {
		return stored, ""
	}
	from := at + len(storedTag)
	if from > end || bytes.IndexByte(stored[from:end], '"') >= 0 {
		return stored, ""
	}
	// What is stored is shared, so the cut data are a copy.
	data = append(make([]byte, 0, at+1), stored[:at]...)
	return append(data, '}'), `"` + string(stored[from:end]) + `"`
}

// withTexts returns stored data with the texts that were left out of its changeset, discussion,
// comment, handoff or conflicts. These texts never change. Those that were deleted since are empty.
func (c *Call) withTexts(p *work.Project, data []byte) ([]byte, error) {
	return changeElements(data, func(member string, raw jsontext.Value) ([]byte, error) {
		switch member {
		case `"workspace"`, `"contribution"`, `"conflicts"`:
			return c.withMarked(member, raw)
		}
		if raw.Kind() != '{' {
			return raw, nil
		}
		var record struct {
			ID string `json:"id"`
		}
		switch member {
		case `"changeset"`, `"discussion"`, `"comment"`, `"handoff"`:
			if err := json.Unmarshal(raw, &record); err != nil {
				return nil, err
			}
		}
		switch member {
		case `"changeset"`:
			if one, ok := p.Changeset(parsed(id.Changeset, record.ID)); ok && one.Away != nil {
				return withMember(raw, "message", c.recordText("", one.Away))
			}
		case `"discussion"`:
			if one, ok := p.Discussion(parsed(id.Discussion, record.ID)); ok && one.Away != nil {
				return withMember(raw, "body", c.recordText("", one.Away))
			}
		case `"comment"`:
			if one, ok := p.Comment(parsed(id.Comment, record.ID)); ok && one.Away != nil {
				return withMember(raw, "body", c.recordText("", one.Away))
			}
		case `"handoff"`:
			if one, ok := p.Handoff(parsed(id.Handoff, record.ID)); ok && one.Away != nil {
				return c.withHandoffTexts(raw, one)
			}
		}
		return raw, nil
	})
}

// withHandoffTexts returns a stored handoff with its texts.
func (c *Call) withHandoffTexts(raw jsontext.Value, from *work.Handoff) ([]byte, error) {
	from, err := c.whole(from)
	if err != nil {
		// The damage was logged, and reading the handoff reports it.
		return raw, nil
	}
	var made Handoff
	if err := json.Unmarshal(raw, &made); err != nil {
		return nil, err
	}
	made.setTexts(from)
	return appendData(nil, made), nil
}

// withMarked returns a stored value with the texts with conflict markers in place of their hashes,
// null for those that an operator has removed. Answers of earlier versions have the texts.
func (c *Call) withMarked(member string, raw jsontext.Value) ([]byte, error) {
	switch {
	case raw.Kind() == '{', raw.Kind() == '[' && member == `"conflicts"`:
		return changeElements(raw, func(inner string, raw jsontext.Value) ([]byte, error) {
			if inner == "" || inner == `"conflicts"` || inner == `"merged_with_markers"` {
				return c.withMarked(inner, raw)
			}
			return raw, nil
		})
	case member != `"merged_with_markers"` || raw.Kind() != '"':
		return raw, nil
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return nil, err
	}
	hash, ok := parseHash(text)
	if !ok {
		return raw, nil
	}
	if text, ok = c.marked(hash, nil); !ok {
		return []byte("null"), nil
	}
	return appendData(nil, text), nil
}

// withMember returns an object with another text in a member.
func withMember(object jsontext.Value, name, text string) ([]byte, error) {
	quoted := `"` + name + `"`
	return changeElements(object, func(member string, raw jsontext.Value) ([]byte, error) {
		if member == quoted {
			return appendData(nil, text), nil
		}
		return raw, nil
	})
}
