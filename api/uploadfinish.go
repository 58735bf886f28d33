package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"pws/internal/fault"
	"pws/work"
)

func finishUpload(c *Call, body *FinishUpload) (Reply, error) {
	upload, err := c.uploadID()
	if err != nil {
		return Reply{}, err
	}
	engine := c.Service.Engine
	state, err := engine.Upload(c.Agent, upload)
	if err != nil {
		return Reply{}, err
	}
	if state.Status == UploadDone {
		return c.finishedUpload(&state)
	}
	if err := requireParts(&state, body); err != nil {
		return Reply{}, err
	}
	running, err := engine.BeginImport(c.Agent, upload)
	if err != nil {
		return Reply{}, err
	}
	result := errors.New("the import was interrupted")
	defer func() { running.End(result) }()
	var reply Reply
	reply, result = c.importUpload(running, body)
	return reply, result
}

// requireParts refuses parts that are missing, or are not as many as the caller has sent:
// VALIDATION_FAILED.
func requireParts(state *UploadState, body *FinishUpload) error {
	var faults []fault.Field
	missing := 1
	for _, part := range state.Parts {
		if part.Number != missing {
			break
		}
		missing++
	}
	switch {
	case len(state.Parts) == 0:
		faults = append(faults, fault.Field{Field: "parts", Problem: "none was sent"})
	case missing <= len(state.Parts) || body.Parts != nil && *body.Parts >= missing:
		faults = append(faults, fault.Field{
			Field: "parts", Problem: fmt.Sprintf("part %d was not sent", missing),
		})
	case body.Parts != nil && *body.Parts < len(state.Parts):
		faults = append(faults, fault.Field{
			Field: "parts", Problem: fmt.Sprintf("%d parts were sent", len(state.Parts)),
		})
	}
	if len(faults) > 0 {
		return fault.Invalid(faults...)
	}
	return nil
}

// finishedUpload replies for an upload whose project exists: with the answer that is stored with
// the project. Errors: PROJECT_NOT_FOUND if the project was deleted since.
func (c *Call) finishedUpload(state *UploadState) (Reply, error) {
	if _, err := c.readableProject(state.Project); err != nil {
		return Reply{}, err
	}
	i := &importer{call: c, command: work.ImportProject{ID: state.Project}}
	return i.makeProject(state)
}

// importUpload imports an upload. The parts are read once: each content is stored when it is read,
// and only the records are kept. The contents are durable BEFORE the project that names them.
func (c *Call) importUpload(running UploadImport, body *FinishUpload) (Reply, error) {
	state := running.State()
	request, err := c.readUploaded(running, body)
	if err != nil {
		return Reply{}, err
	}
	i := &importer{call: c}
	if err := i.accept(request); err != nil {
		return Reply{}, err
	}
	c.pause()
	if err := i.prepare(state.Project); err != nil {
		return Reply{}, err
	}
	if err := running.Commit(); err != nil {
		return Reply{}, err
	}
	return i.makeProject(state)
}

// readUploaded reads the parts and decodes the records of the bundle.
func (c *Call) readUploaded(running UploadImport, body *FinishUpload) (*ImportProject, error) {
	digest := sha256.New()
	parts := io.TeeReader(running, digest)
	stream := newBundleStream(
		parts, c.Service.Config.uploadRecordBytes(), running.Store, c.pause)
	stream.made = running.State().Body
	err := stream.run()
	if body.SHA256 != "" {
		// What is wrong with the whole explains what is wrong with its text.
		if _, err := io.Copy(io.Discard, parts); err != nil {
			return nil, err
		}
		if found := hex.EncodeToString(digest.Sum(nil)); found != body.SHA256 {
			return nil, fault.Invalid(fault.Field{
				Field: "sha256", Problem: "is not that of the parts, which is " + found,
			})
		}
	}
	if err != nil {
		return nil, err
	}
	c.pause()
	return decodeImport(stream, running.State().Body)
}

// pause lets other expensive requests run.
func (c *Call) pause() {
	if c.Meter != nil {
		c.Meter.Yield()
	}
}

// makeProject gives the command to the new project. The answer is stored with the project under a
// key of the upload, so that a repeat gets it too.
func (i *importer) makeProject(state *UploadState) (Reply, error) {
	mac := hmac.New(sha256.New, i.call.Service.Engine.Secret())
	mac.Write([]byte("key of an upload"))
	mac.Write(state.ID[:])
	sum := mac.Sum(nil)
	call := *i.call
	call.Idempotency = &IdempotencyKey{Hash: [16]byte(sum[:16]), Fingerprint: [16]byte(sum[16:])}
	reply, err := call.answer(state.Project, &i.command,
		func(p *work.Project, r work.Result) (Reply, error) {
			return Reply{Status: 201, Data: i.data(p, r)}, nil
		})
	i.call.firstAt = call.firstAt
	return reply, err
}
