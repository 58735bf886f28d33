package api

import (
	"pws/api/sizelimit"
	"pws/internal/id"
	"pws/work"
)

// FailedVerification is the short form of a verification record with the outcome FAILED.
type FailedVerification struct {
	// The record's ID.
	ID string `json:"id" check:"id=ver_"`
	// Kind of what was verified.
	EntityType string `json:"entity_type" check:"enum=PROJECT|CHANGESET|CONTRIBUTION|ARTIFACT"`
	// ID of what was verified.
	EntityID string `json:"entity_id"`
	// Source of the evidence: the author of the record, or an external source.
	Kind string `json:"kind" check:"enum=SELF_REPORT|EXTERNAL_ATTESTATION"`
	// Always FAILED.
	Outcome string `json:"outcome" check:"enum=FAILED"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
	// Summary of the findings, truncated if it is long.
	Summary string `json:"summary,omitzero" size:"cut"`
}

const (
	// failedVerificationsMax limits the list, verificationsReadMax the number of the newest
	// records that are read for it.
	failedVerificationsMax = 10
	verificationsReadMax   = 1000
)

// failedVerifications returns the newest records with the outcome FAILED that were not replaced,
// and whether there may be more. A record is replaced by a newer PASSED record of the same
// author, source and kind about the same entity. Failures found by others still count.
func failedVerifications(p *work.Project) (failed []*work.Verification, more bool) {
	type line struct {
		entity work.Entity
		kind   work.VerificationKind
		author id.ID
		source string
	}
	var passed map[line]bool
	looked := 0
	p.Verifications(id.ID{}, func(record *work.Verification) bool {
		if looked++; looked > verificationsReadMax {
			more = true
			return false
		}
		said := &record.Finding
		one := line{said.Entity, said.Kind, record.Author, said.Source}
		switch {
		case said.Outcome == work.Passed:
			if passed == nil {
				passed = map[line]bool{}
			}
			passed[one] = true
		case said.Outcome == work.Failed && !passed[one]:
			if more = len(failed) == failedVerificationsMax; more {
				return false
			}
			failed = append(failed, record)
		}
		return true
	})
	return failed, more
}

// failedIn returns the wire form of the manifest.
func failedIn(p *work.Project) []FailedVerification {
	records, _ := failedVerifications(p)
	var list []FailedVerification
	for _, record := range records {
		one := failedVerification(record)
		one.Summary = inManifest(one.Summary)
		list = append(list, *one)
	}
	return list
}

func failedVerification(record *work.Verification) *FailedVerification {
	said := &record.Finding
	return &FailedVerification{
		ID: record.ID.Format(id.Verification), EntityType: said.Entity.Type.String(),
		EntityID: said.Entity.ID.Format(said.Entity.Type.Prefix()), Kind: said.Kind.String(),
		Outcome: said.Outcome.String(), CreatedAt: Time(record.CreatedAt), Summary: said.Summary,
	}
}

func (b *resumeBuild) failedVerifications() {
	place := b.doc.Place(&b.resume.FailedChecks)
	records, more := failedVerifications(b.project)
	if more {
		b.lose(rankFailedVerifications)
	}
	for _, record := range records {
		b.add(rankFailedVerifications, place, sizelimit.Record{
			Chars: b.wish.chars,
			Make:  func(sizelimit.Form) (any, bool) { return failedVerification(record), false },
		})
	}
}
