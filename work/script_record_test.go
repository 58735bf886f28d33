package work_test

import (
	"fmt"
	"strconv"
	"strings"

	"pws/internal/id"
	"pws/work"
)

// recordCommand reads the words of a line about verification records and relations; nil for
// other commands.
func (s *script) recordCommand(words []string) work.Command {
	switch words[0] {
	case "verify":
		return s.verification(words[1:])
	case "relate":
		command := &work.CreateRelation{
			Type: work.ParseRelationType(words[1]), Target: agent(words[2]),
		}
		command.Note, _ = option(words, "note")
		return command
	}
	return nil
}

// verification parses an entity, a kind, an outcome and options: summary, source, reference, size.
func (s *script) verification(words []string) work.Command {
	finding := work.Finding{
		Entity: s.entity(words[0]), Kind: work.ParseVerificationKind(words[1]),
		Outcome: work.ParseOutcome(words[2]),
	}
	finding.Summary, _ = option(words, "summary")
	finding.Source, _ = option(words, "source")
	finding.Reference, _ = option(words, "reference")
	if word, given := option(words, "size"); given {
		finding.Evidence = []string{sized(word)}
	}
	return &work.CreateVerification{Finding: finding}
}

// entity is the project, the nth changeset as @n, or the nth contribution as cn; others are of no
// project.
func (s *script) entity(word string) work.Entity {
	switch {
	case word == "project":
		return work.Entity{Type: work.EntityProject, ID: agent("project")}
	case word == "elsewhere":
		return work.Entity{Type: work.EntityProject, ID: agent(word)}
	case word[0] == '@':
		entity := work.Entity{Type: work.EntityChangeset, ID: agent("no changeset")}
		if c := s.changeset(word); c != nil {
			entity.ID = c.ID
		}
		return entity
	case word[0] == 'c' && word != "contribution":
		return work.Entity{Type: work.EntityContribution, ID: s.contribution(word)}
	}
	if artifact := s.artifactID(word); s.project != nil && s.project.Has(id.Artifact, artifact) {
		return work.Entity{Type: work.EntityArtifact, ID: artifact}
	}
	kind := work.ParseEntityType(strings.ToUpper(word))
	return work.Entity{Type: kind, ID: agent("no " + word)}
}

func (s *script) entityName(entity work.Entity) string {
	if entity.Type == work.EntityChangeset {
		return s.number(entity.ID)
	}
	return strings.ToLower(entity.Type.String())
}

// records are all, with the deleted ones, the oldest first: the nth is vn.
func (s *script) records() (all []*work.Verification) {
	if s.project != nil {
		s.project.AllVerifications(func(one *work.Verification) bool {
			all = append(all, one)
			return true
		})
	}
	return all
}

func (s *script) recordName(wanted id.ID) string {
	if s.project == nil {
		return ""
	}
	if _, ok := s.project.Relation(wanted); ok {
		return fmt.Sprint("r", len(s.relationIDs(wanted.Next())))
	}
	if _, ok := s.project.Verification(wanted); !ok {
		return ""
	}
	for i, one := range s.records() {
		if one.ID == wanted {
			return fmt.Sprint("v", i+1)
		}
	}
	return ""
}

// record is the nth as v1, v2 and so on; zero for other words.
func (s *script) record(word string) id.ID {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "v"))
	if all := s.records(); err == nil && n >= 1 && n <= len(all) {
		return all[n-1].ID
	}
	return agent("no record")
}

// recordQuery answers lines that only look, or that fill the project.
func (s *script) recordQuery(words []string) (string, bool) {
	switch words[0] {
	case "status?":
		tally := s.project.Tally(s.entity(words[1]))
		return fmt.Sprint(tally.Status(), " ", tally.SelfReports, " ", tally.Attestations), true
	case "evidence?":
		return s.evidence(s.project.Evidence(s.entity(words[1]))), true
	case "verified?":
		return s.verified(words[1:]), true
	case "show-verification":
		one, ok := s.project.Verification(s.record(words[1]))
		if !ok {
			return "nothing", true
		}
		said := &one.Finding
		return fmt.Sprintf("%s %s %s %q by=%s at=%d", s.entityName(said.Entity), said.Kind,
			said.Outcome, said.Summary, name(one.Author), one.CreatedAt-testNow), true
	case "relations?":
		return s.relations(words[1:]), true
	case "show-relation":
		one, ok := s.project.Relation(s.relation(words[1]))
		if !ok {
			return "nothing", true
		}
		return fmt.Sprintf("%s %s %q by=%s at=%d", one.Type, name(one.Target), one.Note,
			name(one.CreatedBy), one.CreatedAt-testNow), true
	case "fill-relations":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command {
			return &work.CreateRelation{Type: work.RelatedTo, Target: agent(words[2])}
		}), true
	case "fill-verifications":
		count, _ := strconv.Atoi(words[1])
		return s.repeat(count, func() work.Command {
			return s.verification([]string{words[2], "SELF_REPORT", "PASSED"})
		}), true
	}
	return "", false
}

// evidence is the counts of passed, failed and inconclusive self reports and attestations, then the
// newest record and the newest that failed.
func (s *script) evidence(e work.Evidence) string {
	brief := func(v *work.VerificationDigest) string {
		if v == nil {
			return "none"
		}
		return fmt.Sprintf("%s:%s:%q", s.recordName(v.ID), v.Outcome, v.Summary)
	}
	return fmt.Sprint(e.Tally.Status(), " ", e.Tally.Reported, " ", e.Tally.Attested,
		" latest=", brief(e.Latest), " failed=", brief(e.LatestFailed))
}

// verified lists the records of an entity, or all, after a given one.
func (s *script) verified(words []string) string {
	list := []string{}
	take := func(one *work.Verification) bool {
		list = append(list, s.recordName(one.ID))
		return true
	}
	var before id.ID
	if len(words) > 0 && words[len(words)-1][0] == 'v' {
		before, words = s.record(words[len(words)-1]), words[:len(words)-1]
	}
	if len(words) == 0 {
		s.project.Verifications(before, take)
	} else {
		s.project.VerificationsOf(s.entity(words[0]), before, take)
	}
	return orNothing(list)
}

// relationIDs are those of all relations that are older than one, the newest first.
func (s *script) relationIDs(before id.ID) (all []id.ID) {
	if s.project != nil {
		s.project.Relations(before, func(one *work.Relation) bool {
			all = append(all, one.ID)
			return true
		})
	}
	return all
}

// relation is the nth as r1, r2 and so on; another word is an ID that no project has.
func (s *script) relation(word string) id.ID {
	n, err := strconv.Atoi(strings.TrimPrefix(word, "r"))
	if all := s.relationIDs(id.ID{}); err == nil && n >= 1 && n <= len(all) {
		return all[len(all)-n]
	}
	return agent("no relation")
}

// relations lists what the project says of others, behind a relation where it is named.
func (s *script) relations(words []string) string {
	var before id.ID
	if len(words) > 0 {
		before = s.relation(words[0])
	}
	list := []string{}
	s.project.Relations(before, func(one *work.Relation) bool {
		list = append(list, one.Type.String()+"="+name(one.Target))
		return true
	})
	return orNothing(list)
}
