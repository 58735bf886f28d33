package api

import (
	"pws/api/jsonschema"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// VerificationSummary summarizes all verification records about one entity. The status depends
// on the kinds of records alone; the counts and the two newest records show the outcomes.
type VerificationSummary struct {
	// The strongest kind of evidence, whatever its outcome.
	Status string `json:"status" check:"enum=UNVERIFIED|SELF_REPORTED|EXTERNALLY_ATTESTED"`
	// Number of verification records by kind and outcome.
	Counts VerificationCounts `json:"counts"`
	// The newest record; null if there is none.
	Latest *VerificationBrief `json:"latest"`
	// The newest record with the outcome FAILED, even if later ones PASSED; null if there is none.
	LatestFailed *VerificationBrief `json:"latest_failed"`
}

// VerificationBrief is the short form of a verification record.
type VerificationBrief struct {
	// The record's ID.
	ID string `json:"id" check:"id=ver_"`
	// Source of the evidence: the author of the record, or an external source.
	Kind string `json:"kind" check:"enum=SELF_REPORT|EXTERNAL_ATTESTATION"`
	// What the verification found.
	Outcome string `json:"outcome" check:"enum=PASSED|FAILED|INCONCLUSIVE"`
	// Summary of the findings, at most 200 characters; verification.read returns all of it.
	Summary string `json:"summary"`
	// When it was created.
	CreatedAt Time `json:"created_at"`
}

// VerificationCounts counts verification records by kind and outcome. In a bundle of an earlier
// version, a kind has a single count for all outcomes.
type VerificationCounts struct {
	SelfReports  OutcomeCounts `json:"self_reports"`
	Attestations OutcomeCounts `json:"attestations"`

	problems []fault.Field
}

// OutcomeCounts counts verification records of one kind by outcome.
type OutcomeCounts struct {
	Passed       int `json:"passed"`
	Failed       int `json:"failed"`
	Inconclusive int `json:"inconclusive"`
}

// UnmarshalJSON reads the counts of a bundle, including bundles of earlier versions; see
// Problems.
func (c *VerificationCounts) UnmarshalJSON(raw []byte) error {
	*c = VerificationCounts{}
	type counts struct {
		SelfReports  OutcomeCounts `json:"self_reports"`
		Attestations OutcomeCounts `json:"attestations"`
	}
	type earlier struct {
		SelfReports  int `json:"self_reports"`
		Attestations int `json:"external_attestations"`
	}
	var now counts
	err := jsonschema.Decode(raw, &now)
	if err != nil && jsonschema.Decode(raw, new(earlier)) != nil {
		c.problems = problemsOf(err)
		return nil
	}
	c.SelfReports, c.Attestations = now.SelfReports, now.Attestations
	return nil
}

// Problems implements jsonschema.Checker.
func (c *VerificationCounts) Problems() []fault.Field { return c.problems }

// JSONSchema describes the counts as they are returned.
func (VerificationCounts) JSONSchema() map[string]any {
	outcomes := func(kind string) map[string]any {
		properties, names := map[string]any{}, []any{}
		for _, outcome := range []string{"passed", "failed", "inconclusive"} {
			properties[outcome] = map[string]any{"type": "integer", "minimum": 0}
			names = append(names, outcome)
		}
		return map[string]any{
			"type": "object", "description": "Records of the kind " + kind + " by outcome.",
			"properties": properties, "required": names,
		}
	}
	return map[string]any{
		"type": "object", "required": []any{"self_reports", "attestations"},
		"properties": map[string]any{
			"self_reports": outcomes("SELF_REPORT"),
			"attestations": outcomes("EXTERNAL_ATTESTATION"),
		},
	}
}

// verificationSummary returns the wire form.
func verificationSummary(from work.Evidence) VerificationSummary {
	return VerificationSummary{
		Status: from.Tally.Status().String(),
		Counts: VerificationCounts{
			SelfReports:  outcomeCounts(from.Tally.Reported),
			Attestations: outcomeCounts(from.Tally.Attested),
		},
		Latest: verificationBrief(from.Latest), LatestFailed: verificationBrief(from.LatestFailed),
	}
}

// verificationOf summarizes the records about a project itself.
func verificationOf(p *work.Project) VerificationSummary {
	return verificationSummary(p.OwnEvidence())
}

func outcomeCounts(from work.Outcomes) OutcomeCounts {
	return OutcomeCounts{
		Passed: from.Passed, Failed: from.Failed, Inconclusive: from.Inconclusive,
	}
}

func verificationBrief(from *work.VerificationDigest) *VerificationBrief {
	if from == nil {
		return nil
	}
	return &VerificationBrief{
		ID: from.ID.Format(id.Verification), Kind: from.Kind.String(),
		Outcome: from.Outcome.String(), Summary: from.Summary, CreatedAt: Time(from.CreatedAt),
	}
}
