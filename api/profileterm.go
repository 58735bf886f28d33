package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pws/identity"
	"pws/index"
)

// profileTerm is one word of a capability profile with its evidence.
type profileTerm struct {
	word string
	// weight grows with the strength of the evidence.
	weight int
	// founded lists the categories with their provenances.
	founded []string
}

// provenanceWeights are the values of a matching entry by its provenance.
var provenanceWeights = map[string]int{selfDeclared: 2, observed: 3, attested: 4}

// profileTermsMax is the maximum number of words of a profile that are searched for.
const profileTermsMax = 16

// profileTerms returns the words of the caller's profile; empty for anonymous callers.
func (c *Call) profileTerms() map[string]*profileTerm {
	words := map[string]*profileTerm{}
	agent, ok := c.Service.Engine.Identity().Agent(c.Agent)
	if !ok {
		return words
	}
	for _, entry := range c.capabilities(agent) {
		word := index.FoldTerm(entry.Value)
		one := words[word]
		if one == nil {
			one = &profileTerm{word: word}
			words[word] = one
		}
		one.weight = max(one.weight, provenanceWeights[entry.Provenance])
		one.founded = append(one.founded, entry.Category+" "+entry.Provenance)
	}
	return words
}

// strongest returns the words to search for, the highest weight first.
func strongest(words map[string]*profileTerm) []string {
	list := make([]*profileTerm, 0, len(words))
	for _, one := range words {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *profileTerm) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	list = list[:min(len(list), profileTermsMax)]
	found := make([]string, len(list))
	for i, one := range list {
		found[i] = one.word
	}
	return found
}

// subject is a word that an opportunity is about, and its kind: whether the task or the
// contribution itself has it, or its project.
type subject struct{ kind, word string }

// subjects are the words of one opportunity, each once.
type subjects []subject

// note adds the words that opportunities have; no others are ever searched for.
func (h *opportunityFinder) note(about *subjects, kind string, words ...string) {
	for _, word := range words {
		word = index.FoldTerm(word)
		if h.words[word] == nil && (word == "" || word != h.skill && word != h.language) {
			continue
		}
		if one := (subject{kind, word}); !slices.Contains(*about, one) {
			*about = append(*about, one)
		}
	}
}

// The kinds of subjects. The first three belong to the task or the contribution itself, the
// others to its project.
const (
	aboutSkill           = "skill"
	aboutType            = "task type"
	aboutLanguage        = "language"
	aboutProjectLanguage = "language of the project"
	aboutProjectTopic    = "topic of the project"
	aboutOpenTask        = "skill of an open task"
)

// fitWeight returns the factor of a matching word: words of the work itself count twice as much
// as those of its project.
func (s subject) fitWeight() int {
	switch s.kind {
	case aboutSkill, aboutType, aboutLanguage:
		return 2
	}
	return 1
}

// merge adds the missing subjects.
func (s *subjects) merge(more subjects) {
	for _, one := range more {
		if !slices.Contains(*s, one) {
			*s = append(*s, one)
		}
	}
}

// The kinds of subjects that a requested skill or language may match.
var (
	skillKinds = []string{
		aboutSkill, aboutLanguage, aboutOpenTask, aboutProjectLanguage, aboutProjectTopic,
	}
	languageKinds = []string{aboutLanguage, aboutSkill, aboutProjectLanguage, aboutOpenTask}
)

// as returns the first of the kinds with which a word is among the subjects, empty if it is not.
func (s subjects) as(word string, kinds []string) string {
	for _, kind := range kinds {
		if slices.Contains(s, subject{kind, word}) {
			return kind
		}
	}
	return ""
}

// fits reports whether an opportunity matches what was requested.
func (h *opportunityFinder) fits(about subjects) bool {
	return (h.skill == "" || about.as(h.skill, skillKinds) != "") &&
		(h.language == "" || about.as(h.language, languageKinds) != "")
}

// matched yields the subjects that match a profile. A word counts once, with the first of its
// kinds.
func (s subjects) matched(
	words map[string]*profileTerm, yield func(one subject, fits *profileTerm),
) {
	for i, one := range s {
		earlier := func(other subject) bool { return other.word == one.word }
		if fits := words[one.word]; fits != nil && !slices.ContainsFunc(s[:i], earlier) {
			yield(one, fits)
		}
	}
}

// worth returns the value of the matching words.
func (h *opportunityFinder) worth(about subjects) (points int) {
	about.matched(h.words, func(one subject, fits *profileTerm) {
		points += one.fitWeight() * fits.weight
	})
	return points
}

// why says which requested words and which words of the profile an opportunity matches.
func (h *opportunityFinder) why(about subjects) (why []string) {
	for _, asked := range []struct {
		name, word string
		kinds      []string
	}{{"skill", h.skill, skillKinds}, {"language", h.language, languageKinds}} {
		if asked.word != "" {
			why = append(why, fmt.Sprintf("%s %q was asked for, as a %s", asked.name, asked.word,
				about.as(asked.word, asked.kinds)))
		}
	}
	about.matched(h.words, func(one subject, fits *profileTerm) {
		why = append(why, fmt.Sprintf("%s %q fits your profile: %s", one.kind, one.word,
			strings.Join(fits.founded, ", ")))
	})
	return why
}

// availability maps the values of available_for in a profile to classes.
var availability = map[string][]string{
	classTask:    {"task", "tasks", "open_task"},
	classReview:  {"review", "reviews", "code review", "contribution_needs_review"},
	classProject: {"project", "projects", "collaboration", "project_match"},
}

// availableFor reports whether a profile declares the agent available for a class.
func availableFor(words map[string]*profileTerm, class string) (points int, why []string) {
	category := identity.ProfileAvailableFor.String() + " " + selfDeclared
	for _, word := range availability[class] {
		if fits := words[word]; fits != nil && slices.Contains(fits.founded, category) {
			return provenanceWeights[selfDeclared],
				[]string{fmt.Sprintf("you are available for %q: %s", word, category)}
		}
	}
	return 0, nil
}
