package api

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pws/identity"
	"pws/index"
)

// interest is what a capability profile says of one word.
type interest struct {
	word string
	// weight grows with how well it is founded.
	weight int
	// founded says how: the categories with their provenances.
	founded []string
}

// provenanceWeights are what a fitting entry is worth, in steps of priority: any of them is worth
// more than one step.
var provenanceWeights = map[string]int{selfDeclared: 2, observed: 3, attested: 4}

// interestsMax bounds how many words of a profile are looked for.
const interestsMax = 16

// interests are the words of the caller's profile; empty for callers that are no agents.
func (c *Call) interests() map[string]*interest {
	words := map[string]*interest{}
	agent, ok := c.Service.Engine.Identity().Agent(c.Agent)
	if !ok {
		return words
	}
	for _, entry := range c.capabilities(agent) {
		word := index.FoldTerm(entry.Value)
		one := words[word]
		if one == nil {
			one = &interest{word: word}
			words[word] = one
		}
		one.weight = max(one.weight, provenanceWeights[entry.Provenance])
		one.founded = append(one.founded, entry.Category+" "+entry.Provenance)
	}
	return words
}

// strongest are the words to look for, the best founded first.
func strongest(words map[string]*interest) []string {
	list := make([]*interest, 0, len(words))
	for _, one := range words {
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b *interest) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), strings.Compare(a.word, b.word))
	})
	list = list[:min(len(list), interestsMax)]
	found := make([]string, len(list))
	for at, one := range list {
		found[at] = one.word
	}
	return found
}

// subject is a word that an opportunity has to do with, and in what way: a skill, a task type, a
// language or a topic.
type subject struct{ kind, word string }

// subjects are the words of one opportunity, each once.
type subjects []subject

func (s *subjects) add(kind string, words ...string) {
	for _, word := range words {
		word = index.FoldTerm(word)
		same := func(known subject) bool { return known == subject{kind, word} }
		if word != "" && !slices.ContainsFunc(*s, same) {
			*s = append(*s, subject{kind, word})
		}
	}
}

// The kinds of subjects.
const (
	aboutSkill    = "skill"
	aboutType     = "task type"
	aboutLanguage = "language"
	aboutTopic    = "topic"
)

// filtered says why an opportunity is what was asked for; ok is false where it is not.
func (s subjects) filtered(skill, language string) (why []string, ok bool) {
	for _, filter := range []struct {
		name, word string
		kinds      []string
	}{
		{"skill", skill, []string{aboutSkill, aboutLanguage, aboutTopic}},
		{"language", language, []string{aboutLanguage, aboutSkill}},
	} {
		if filter.word == "" {
			continue
		}
		at := slices.IndexFunc(s, func(one subject) bool {
			return one.word == filter.word && slices.Contains(filter.kinds, one.kind)
		})
		if at < 0 {
			return nil, false
		}
		why = append(why, fmt.Sprintf("%s %q was asked for, as a %s", filter.name, filter.word,
			s[at].kind))
	}
	return why, true
}

// matched says what of an opportunity fits a profile, and what that is worth. A word counts once.
func (s subjects) matched(words map[string]*interest) (points int, why []string) {
	for at, one := range s {
		fits := words[one.word]
		earlier := func(other subject) bool { return other.word == one.word }
		if fits == nil || slices.ContainsFunc(s[:at], earlier) {
			continue
		}
		points += fits.weight
		why = append(why, fmt.Sprintf("%s %q fits your profile: %s", one.kind, one.word,
			strings.Join(fits.founded, ", ")))
	}
	return points, why
}

// availability is what an agent can say that it is available for, by class.
var availability = map[string][]string{
	classTask:    {"task", "tasks", "open_task"},
	classReview:  {"review", "reviews", "code review", "contribution_needs_review"},
	classProject: {"project", "projects", "collaboration", "project_match"},
}

// availableFor says whether an agent is available for a class by its own words.
func availableFor(words map[string]*interest, class string) (points int, why []string) {
	category := identity.ProfileAvailableFor.String() + " " + selfDeclared
	for _, word := range availability[class] {
		if fits := words[word]; fits != nil && slices.Contains(fits.founded, category) {
			return provenanceWeights[selfDeclared],
				[]string{fmt.Sprintf("you are available for %q: %s", word, category)}
		}
	}
	return 0, nil
}
