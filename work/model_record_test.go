package work_test

import (
	"fmt"

	"github.com/google/go-cmp/cmp"

	"pws/internal/id"
	"pws/work"
)

// recordModel is what agents have recorded of a project, the oldest first.
type recordModel struct {
	findings  []*work.Verification
	relations []*work.Relation
}

// observe notes what a command that was carried out has recorded.
func (m *recordModel) observe(who id.ID, command work.Command, about id.ID, now int64) {
	switch command := command.(type) {
	case *work.CreateVerification:
		m.findings = append(m.findings, &work.Verification{
			ID: about, Author: who, Finding: command.Finding, CreatedAt: now,
		})
	case *work.CreateRelation:
		m.relations = append(m.relations, &work.Relation{
			ID: about, Type: command.Type, Target: command.Target, Note: command.Note,
			CreatedBy: who, CreatedAt: now,
		})
	}
}

// compare walks over everything, once from the start and once from a place in between.
func (m *recordModel) compare(p *work.Project, draw source) error {
	entities := []work.Entity{p.Entity()}
	for n := range min(3, p.ChangesetsCount()) {
		entities = append(entities, work.Entity{
			Type: work.EntityChangeset, ID: p.ChangesetNumber(uint32(n + 1)).ID,
		})
	}
	end := len(m.findings)
	for _, before := range []int{end, draw(end + 1)} {
		var from id.ID
		if before < end {
			from = m.findings[before].ID
		}
		var all []*work.Verification
		p.Verifications(from, func(one *work.Verification) bool {
			all = append(all, one)
			return true
		})
		if diff := cmp.Diff(m.newest(before, nil), all); diff != "" {
			return fmt.Errorf("the verification records: %s", diff)
		}
		for _, entity := range entities {
			var some []*work.Verification
			p.VerificationsOf(entity, from, func(one *work.Verification) bool {
				some = append(some, one)
				return true
			})
			if diff := cmp.Diff(m.newest(before, &entity), some); diff != "" {
				return fmt.Errorf("the verification records of %v: %s", entity, diff)
			}
		}
	}
	for _, entity := range entities {
		if diff := cmp.Diff(m.evidence(entity), p.Evidence(entity)); diff != "" {
			return fmt.Errorf("the evidence for %v: %s", entity, diff)
		}
	}
	return m.compareRelations(p, draw(len(m.relations)+1))
}

func (m *recordModel) compareRelations(p *work.Project, before int) error {
	var from id.ID
	if before < len(m.relations) {
		from = m.relations[before].ID
	}
	at := before
	p.Relations(from, func(one *work.Relation) bool {
		at--
		return at >= 0 && cmp.Equal(one, m.relations[at])
	})
	if at != 0 {
		return fmt.Errorf("the relations are others, from %d of %d on", at, len(m.relations))
	}
	return nil
}

// newest returns the newest records up to a count, the newest first, of one entity if one is given.
func (m *recordModel) newest(count int, of *work.Entity) (list []*work.Verification) {
	for i := count - 1; i >= 0; i-- {
		if of == nil || m.findings[i].Finding.Entity == *of {
			list = append(list, m.findings[i])
		}
	}
	return list
}

// evidence counts all records of an entity one by one.
func (m *recordModel) evidence(entity work.Entity) (e work.Evidence) {
	short := func(v *work.Verification) *work.VerificationDigest {
		return &work.VerificationDigest{
			ID: v.ID, Kind: v.Finding.Kind, Outcome: v.Finding.Outcome,
			Summary: v.Finding.Summary, CreatedAt: v.CreatedAt,
		}
	}
	for nth, one := range m.newest(len(m.findings), &entity) {
		if nth == 0 {
			e.Latest = short(one)
		}
		if one.Finding.Outcome == work.Failed && e.LatestFailed == nil {
			e.LatestFailed = short(one)
		}
		kind, outcomes := &e.Tally.SelfReports, &e.Tally.Reported
		if one.Finding.Kind == work.ExternalAttestation {
			kind, outcomes = &e.Tally.Attestations, &e.Tally.Attested
		}
		*kind++
		switch one.Finding.Outcome {
		case work.Passed:
			outcomes.Passed++
		case work.Failed:
			outcomes.Failed++
		case work.Inconclusive:
			outcomes.Inconclusive++
		}
	}
	return e
}

// recordCommand is one of verification records and relations.
func (draw source) recordCommand(w *world) work.Command {
	if draw(4) == 0 {
		return &work.CreateRelation{
			Type: work.RelationType(1 + draw(5)), Note: draw.text(),
			Target: []id.ID{agent("one"), agent("two"), w.project.ID}[draw(3)],
		}
	}
	finding := work.Finding{
		Entity: w.project.Entity(), Outcome: work.Outcome(1 + draw(3)), Summary: draw.text(),
		Kind: work.VerificationKind(1 + draw(2)),
	}
	switch draw(8) {
	case 0:
		finding.Entity.ID = agent("elsewhere")
	case 1, 2, 3:
		nth := 1 + draw(min(3, w.project.ChangesetsCount()))
		finding.Entity = work.Entity{
			Type: work.EntityChangeset, ID: w.project.ChangesetNumber(uint32(nth)).ID,
		}
	case 4:
		finding.Entity.Type = work.EntityContribution
	}
	return &work.CreateVerification{Finding: finding}
}
