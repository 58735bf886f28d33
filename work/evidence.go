package work

import (
	"unicode/utf8"

	"pws/internal/id"
)

// Outcomes counts verification records by outcome.
type Outcomes struct {
	Passed       int `cbor:"1,keyasint,omitempty"`
	Failed       int `cbor:"2,keyasint,omitempty"`
	Inconclusive int `cbor:"3,keyasint,omitempty"`
}

func (o *Outcomes) count(outcome Outcome) {
	switch outcome {
	case Passed:
		o.Passed++
	case Failed:
		o.Failed++
	case Inconclusive:
		o.Inconclusive++
	}
}

func (o Outcomes) total() int { return o.Passed + o.Failed + o.Inconclusive }

// Tally counts the verification records of an entity by kind, and each kind by outcome.
type Tally struct {
	SelfReports  int `cbor:"1,keyasint,omitempty"`
	Attestations int `cbor:"2,keyasint,omitempty"`
	// Reported and Attested count the same records by outcome. Tallies saved by earlier versions
	// lack them.
	Reported Outcomes `cbor:"50,keyasint,omitzero"`
	Attested Outcomes `cbor:"51,keyasint,omitzero"`
}

func (t *Tally) count(f *Finding) {
	if f.Kind == ExternalAttestation {
		t.Attestations++
		t.Attested.count(f.Outcome)
	} else {
		t.SelfReports++
		t.Reported.count(f.Outcome)
	}
}

// complete reports whether the outcomes of all records are known.
func (t Tally) complete() bool {
	return t.Reported.total() == t.SelfReports && t.Attested.total() == t.Attestations
}

// agrees reports whether a saved tally counts the same records. A tally without outcomes is
// compared by kind alone.
func (t Tally) agrees(saved Tally) bool {
	if saved.complete() {
		return t == saved
	}
	return t.SelfReports == saved.SelfReports && t.Attestations == saved.Attestations &&
		saved.Reported == (Outcomes{}) && saved.Attested == (Outcomes{})
}

// VerificationStatus is the strongest kind of evidence for an entity.
type VerificationStatus uint8

// The statuses. None of them means that the entity is correct.
const (
	Unverified VerificationStatus = iota
	SelfReported
	ExternallyAttested
)

var verificationStatusNames = [...]string{"UNVERIFIED", "SELF_REPORTED", "EXTERNALLY_ATTESTED"}

// String is the name on the wire.
func (s VerificationStatus) String() string { return verificationStatusNames[s] }

// Status returns the status. It depends on the kinds of records alone, whatever their outcomes.
func (t Tally) Status() VerificationStatus {
	switch {
	case t.Attestations > 0:
		return ExternallyAttested
	case t.SelfReports > 0:
		return SelfReported
	}
	return Unverified
}

// VerificationDigest is a short form of a verification record.
type VerificationDigest struct {
	ID      id.ID            `cbor:"1,keyasint"`
	Kind    VerificationKind `cbor:"2,keyasint"`
	Outcome Outcome          `cbor:"3,keyasint"`
	// Summary has at most DigestCharsMax characters.
	Summary string `cbor:"4,keyasint,omitempty"`
	// CreatedAt is Unix milliseconds.
	CreatedAt int64 `cbor:"5,keyasint"`
}

// DigestCharsMax bounds the summary of a digest. A longer one ends with an ellipsis.
const DigestCharsMax = 200

// digest returns the short form of a record, nil for no record.
func (v *Verification) digest() *VerificationDigest {
	if v == nil {
		return nil
	}
	return &VerificationDigest{
		ID: v.ID, Kind: v.Finding.Kind, Outcome: v.Finding.Outcome,
		Summary: shortened(v.Finding.Summary, DigestCharsMax), CreatedAt: v.CreatedAt,
	}
}

// shortened returns a text of at most the given number of characters. A text that was cut ends
// with an ellipsis.
func shortened(text string, chars int) string {
	if utf8.RuneCountInString(text) <= chars {
		return text
	}
	count := 0
	for i := range text {
		if count++; count == chars {
			return text[:i] + "…"
		}
	}
	return text
}

// Evidence summarizes the verification records about one entity.
type Evidence struct {
	Tally Tally
	// Latest is the newest record and LatestFailed the newest record with the outcome FAILED;
	// nil for none.
	Latest       *VerificationDigest
	LatestFailed *VerificationDigest
}

// Evidence summarizes the records about one entity.
func (p *Project) Evidence(entity Entity) Evidence {
	newest := p.verifications.newestOf(entity)
	return Evidence{
		Tally: newest.tally, Latest: newest.record.digest(), LatestFailed: newest.failed.digest(),
	}
}

// OwnEvidence summarizes the records about the project itself. It works on a summary too.
func (p *Project) OwnEvidence() Evidence {
	if p.summary != nil {
		return p.summary.evidence
	}
	return p.Evidence(p.Entity())
}

// Tally counts the records about one entity.
func (p *Project) Tally(entity Entity) Tally { return p.verifications.newestOf(entity).tally }

// OwnTally counts the records about the project itself.
func (p *Project) OwnTally() Tally {
	if p.summary != nil {
		return p.summary.evidence.Tally
	}
	return p.Tally(p.Entity())
}

// Outdated reports whether a summary was saved by a version that did not save everything
// listings show. The whole project must be read instead.
func (p *Project) Outdated() bool { return !p.OwnTally().complete() }
