package api

import (
	"bytes"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pws/internal/fault"
	"pws/work"
)

// texts returns a content with texts of a task, nil if an operator has removed it. Errors:
// BLOB_CORRUPT.
func (c *Call) texts(hash work.Hash) ([]byte, error) {
	content, err := c.Service.Engine.Blob(hash)
	if isCode(err, fault.ContentRemoved) {
		return nil, nil
	}
	return content, err
}

// wholeTask returns the wire form of a task with its texts. Errors: BLOB_CORRUPT.
func (c *Call) wholeTask(p *work.Project, t *work.Task) (Task, error) {
	task := c.task(p, t)
	return task, c.fill(&task)
}

// fill sets the texts of a task that are stored away. Those that an operator has removed stay
// empty. Errors: BLOB_CORRUPT.
func (c *Call) fill(task *Task) error {
	texts := task.texts
	if texts.None() {
		return nil
	}
	task.texts = work.TaskTexts{}
	into := work.TaskFields{
		Description: &task.Description, Output: &task.ExpectedOutput,
		Conditions: &task.CompletionConditions, Files: &task.RelatedFiles,
	}
	if task.Blocked != nil {
		into.Reason = &task.Blocked.Reason
	}
	if task.Result != nil {
		into.Summary = &task.Result.Summary
	}
	return texts.Fill(into, c.texts)
}

// eachTask calls do for the tasks in the data of an answer to a command, in their order. It returns
// the data with the changes.
func eachTask(data any, do func(*Task) error) (any, error) {
	switch data := data.(type) {
	case TaskData:
		err := do(&data.Task)
		return data, err
	case ClaimData:
		err := do(&data.Task)
		return data, err
	case CheckpointData:
		for i := range data.Tasks {
			if err := do(&data.Tasks[i]); err != nil {
				return nil, err
			}
		}
	}
	return data, nil
}

// withoutTexts returns the data of an answer without the beginnings of long texts of its tasks, and
// names these texts; nil if there are none.
func withoutTexts(data any) (bare any, texts []work.TaskTexts) {
	long := false
	bare, _ = eachTask(data, func(task *Task) error {
		texts = append(texts, task.texts)
		long = long || !task.texts.None()
		if task.texts.Blocked.Size > 0 && task.Blocked != nil {
			blocked := *task.Blocked
			blocked.Reason = ""
			task.Blocked = &blocked
		}
		if spec := task.texts.Spec; spec != nil && spec.Files.Size > 0 {
			task.RelatedFiles = []string{}
		}
		return nil
	})
	if !long {
		return data, nil
	}
	return bare, texts
}

// fillWritten is fill for the answer to a write that has been done. A text that cannot be read
// stays empty: the damage was logged, and reading the task reports it.
func (c *Call) fillWritten(task *Task) error {
	_ = c.fill(task)
	return nil
}

// filled returns stored data with the texts of its tasks, which are its members task and tasks.
func (c *Call) filled(data []byte, texts []work.TaskTexts) ([]byte, error) {
	if texts == nil {
		return data, nil
	}
	fill := func(raw jsontext.Value) (text []byte, err error) {
		var task Task
		if err := json.Unmarshal(raw, &task); err != nil || len(texts) == 0 {
			return nil, fmt.Errorf("stored answer: a task that is none: %w", err)
		}
		task.texts, texts = texts[0], texts[1:]
		_ = c.fillWritten(&task)
		return appendData(nil, task), nil
	}
	return changeElements(data, func(member string, raw jsontext.Value) ([]byte, error) {
		switch member {
		case `"task"`:
			return fill(raw)
		case `"tasks"`:
			return changeElements(raw, func(_ string, raw jsontext.Value) ([]byte, error) {
				return fill(raw)
			})
		}
		return raw, nil
	})
}

// changeElements returns an object or a list with what change returns for each of its values, which
// it gets with the name of the member in quotes.
func changeElements(
	from jsontext.Value, change func(member string, raw jsontext.Value) ([]byte, error),
) (changed []byte, err error) {
	decoder := jsontext.NewDecoder(bytes.NewReader(from))
	open, err := decoder.ReadToken()
	if err != nil {
		return nil, err
	}
	object := open.Kind() == '{'
	changed = append(make([]byte, 0, 2*len(from)), byte(open.Kind()))
	for kind := decoder.PeekKind(); kind != '}' && kind != ']'; kind = decoder.PeekKind() {
		if len(changed) > 1 {
			changed = append(changed, ',')
		}
		var member string
		value, err := decoder.ReadValue()
		if object && err == nil {
			member = string(value)
			changed = append(append(changed, member...), ':')
			value, err = decoder.ReadValue()
		}
		if err == nil {
			value, err = change(member, value)
		}
		if err != nil {
			return nil, err
		}
		changed = append(changed, value...)
	}
	return append(changed, from[len(from)-1]), nil
}
