package actors

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"pws/api"
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// copyOf makes a project of another one for an agent: a fork, or what its bundle holds. Where the
// agent may not it makes none.
func (s *simulation) copyOf(source, who id.ID) (made id.ID, ok bool) {
	p := viewOf(s.t, s.e, source)
	if s.pick(2) == 0 {
		if work.MayReuse.Require(p, who) != nil {
			return made, false
		}
		at := p.ChangesetNumber(uint32(1 + s.pick(p.ChangesetsCount())))
		order := forkOrderAt(s.e, p, at, who, work.Visibility(1+s.pick(3)))
		_, err := s.e.Do(order)
		s.tolerate(err)
		return order.Project, err == nil
	}
	bundle, err := s.export(p, who)
	if fault.CodeOf(err) == fault.ReuseNotPermitted || fault.CodeOf(err) == fault.ProjectNotFound {
		return made, false
	}
	if err == nil {
		made, err = s.importBundle(bundle, who)
	}
	if err != nil {
		var refusal *fault.Error
		if errors.As(err, &refusal) {
			s.t.Fatalf("step %d: %v %v", s.steps, err, refusal.Details)
		}
		s.t.Fatalf("step %d: %v", s.steps, err)
	}
	s.copies++
	return made, true
}

// asks is a call of an operation by an agent.
func (s *simulation) asks(name string, who id.ID) *api.Call {
	at := slices.IndexFunc(api.Table, func(op *api.Operation) bool { return op.Name == name })
	return &api.Call{
		Service: api.NewService(s.e, api.Config{}), Operation: api.Table[at],
		Now: s.e.Now(), Agent: who, Query: map[string]string{},
		RequestID: fmt.Sprint(name, s.steps),
	}
}

// export is the bundle of a project with its history.
func (s *simulation) export(p *work.Project, who id.ID) ([]byte, error) {
	c := s.asks("project.export", who)
	c.Params = []string{p.ID.Format(id.Project)}
	c.Query["history"] = "full"
	reply, err := c.Operation.Run(c, c.Operation.NewRequest())
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = reply.Data.(api.Stream)(&text)
	return bytes.TrimSuffix(text.Bytes(), []byte("}")), err
}

func (s *simulation) importBundle(bundle []byte, who id.ID) (id.ID, error) {
	c := s.asks("project.import", who)
	request := c.Operation.NewRequest()
	body := append(bundle, `,"visibility":"PUBLIC","reuse_policy":"ALLOW_REUSE"}`...)
	if err := jsonschema.Decode(body, request); err != nil {
		return id.ID{}, err
	}
	reply, err := c.Operation.Run(c, request)
	if err != nil {
		return id.ID{}, err
	}
	made, _ := id.Parse(id.Project, reply.Data.(api.ImportedData).Project.ID)
	return made, nil
}
