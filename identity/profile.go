package identity

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"pws/internal/fault"
	"pws/internal/id"
)

// ProfileCategory is one of the lists of a capability profile.
type ProfileCategory uint8

// The categories, in the order in which profiles are shown. Their numbers are stored in saved
// sections.
const (
	ProfileLanguages ProfileCategory = iota
	ProfileDomains
	ProfileTaskTypes
	ProfileCapabilities
	ProfileAvailableFor
	// ProfileCategories is the number of categories.
	ProfileCategories
)

var profileCategoryNames = [ProfileCategories]string{
	"languages", "domains", "task_types", "capabilities", "available_for",
}

// String is the name on the wire, the name of the list.
func (c ProfileCategory) String() string { return profileCategoryNames[c] }

// Profile is the capability profile that an agent declares. Values are unique in their list without
// regard to case.
type Profile struct {
	Lists [ProfileCategories][]string
	// DeclaredAt is Unix milliseconds.
	DeclaredAt int64
}

func (p *Profile) empty() bool {
	return p == nil || !slices.ContainsFunc(p.Lists[:], func(l []string) bool { return len(l) > 0 })
}

// Profile returns the declared profile of the agent, nil if there is none; it must not be modified.
func (a *Agent) Profile() *Profile { return a.profile }

// DeclareProfile replaces the profile of the caller's agent. The result is nil.
type DeclareProfile struct {
	Caller Caller
	Lists  [ProfileCategories][]string
}

// Decide implements Command. SESSION_INVALID, SESSION_EXPIRED, VALIDATION_FAILED. An unchanged
// profile has no event.
func (c *DeclareProfile) Decide(s *State, st Stamp) (Outcome, error) {
	agent, _, err := s.caller(c.Caller, st.Now)
	if err != nil {
		return Outcome{}, err
	}
	var said Profile
	var fields []fault.Field
	for category, values := range c.Lists {
		said.Lists[category], fields = profileList(fields, ProfileCategory(category), values)
	}
	if len(fields) > 0 {
		return Outcome{}, fault.Invalid(fields...)
	}
	before := agent.profile
	if before == nil {
		before = new(Profile)
	}
	same := func(a, b []string) bool { return slices.Equal(a, b) }
	if slices.EqualFunc(before.Lists[:], said.Lists[:], same) {
		return Outcome{}, nil
	}
	return Outcome{Events: []Event{newProfileDeclared(agent.ID, &said)}}, nil
}

// profileList trims the values of a list and removes duplicates.
func profileList(
	fields []fault.Field, category ProfileCategory, values []string,
) ([]string, []fault.Field) {
	if len(values) > ProfileItemsMax {
		return nil, append(fields, fault.Field{
			Field:   category.String(),
			Problem: fmt.Sprintf("must have at most %d values", ProfileItemsMax),
		})
	}
	list := make([]string, 0, len(values))
	seen := make(map[string]bool, len(values))
	for i, value := range values {
		value = strings.TrimSpace(value)
		if problem := profileValueProblem(value); problem != "" {
			fields = append(fields, fault.Field{
				Field: fmt.Sprintf("%s[%d]", category, i), Problem: problem,
			})
			continue
		}
		if folded := strings.ToLower(value); !seen[folded] {
			seen[folded] = true
			list = append(list, value)
		}
	}
	return list, fields
}

func profileValueProblem(value string) string {
	switch count := utf8.RuneCountInString(value); {
	case count == 0 || count > ProfileItemCharsMax:
		return fmt.Sprintf("must have 1 to %d characters", ProfileItemCharsMax)
	case !utf8.ValidString(value):
		return "must be valid UTF-8"
	case strings.ContainsFunc(value, unicode.IsControl):
		return "must not hold control characters"
	}
	return ""
}

// ProfileDeclared is the event of a declared profile.
type ProfileDeclared struct {
	Agent        id.ID    `cbor:"1,keyasint,omitzero"`
	Languages    []string `cbor:"2,keyasint,omitempty"`
	Domains      []string `cbor:"3,keyasint,omitempty"`
	TaskTypes    []string `cbor:"4,keyasint,omitempty"`
	Capabilities []string `cbor:"5,keyasint,omitempty"`
	AvailableFor []string `cbor:"6,keyasint,omitempty"`
}

func newProfileDeclared(agent id.ID, said *Profile) *ProfileDeclared {
	return &ProfileDeclared{
		Agent: agent, Languages: said.Lists[ProfileLanguages],
		Domains: said.Lists[ProfileDomains], TaskTypes: said.Lists[ProfileTaskTypes],
		Capabilities: said.Lists[ProfileCapabilities],
		AvailableFor: said.Lists[ProfileAvailableFor],
	}
}

// Kind implements Event.
func (*ProfileDeclared) Kind() Kind { return KindProfileDeclared }

func (e *ProfileDeclared) touched() (id.ID, bool) { return e.Agent, false }

func (e *ProfileDeclared) apply(s *State, now int64) {
	agent := *s.mustAgent(e.Agent)
	agent.profile = &Profile{DeclaredAt: now, Lists: [ProfileCategories][]string{
		e.Languages, e.Domains, e.TaskTypes, e.Capabilities, e.AvailableFor,
	}}
	if agent.profile.empty() {
		agent.profile = nil
	}
	s.putAgent(&agent)
}

// storedProfile is the form of a profile in the section of its agent.
type storedProfile struct {
	Languages    []string `cbor:"1,keyasint,omitempty"`
	Domains      []string `cbor:"2,keyasint,omitempty"`
	TaskTypes    []string `cbor:"3,keyasint,omitempty"`
	Capabilities []string `cbor:"4,keyasint,omitempty"`
	AvailableFor []string `cbor:"5,keyasint,omitempty"`
	DeclaredAt   int64    `cbor:"6,keyasint,omitempty"`
}

func (p *Profile) stored() *storedProfile {
	if p == nil {
		return nil
	}
	return &storedProfile{
		Languages: p.Lists[ProfileLanguages], Domains: p.Lists[ProfileDomains],
		TaskTypes: p.Lists[ProfileTaskTypes], Capabilities: p.Lists[ProfileCapabilities],
		AvailableFor: p.Lists[ProfileAvailableFor], DeclaredAt: p.DeclaredAt,
	}
}

func (p *storedProfile) profile() *Profile {
	if p == nil {
		return nil
	}
	return &Profile{DeclaredAt: p.DeclaredAt, Lists: [ProfileCategories][]string{
		p.Languages, p.Domains, p.TaskTypes, p.Capabilities, p.AvailableFor,
	}}
}

// checkProfile returns ErrCorrupt for a saved profile that the rules do not allow.
func (a *Agent) checkProfile() error {
	if a.profile == nil {
		return nil
	}
	if a.profile.empty() {
		return corrupt("agent %s: a profile that says nothing", a.ID.Format(id.Agent))
	}
	for category, values := range a.profile.Lists {
		list, fields := profileList(nil, ProfileCategory(category), values)
		if len(fields) > 0 || !slices.Equal(list, values) {
			return corrupt("agent %s: its %s are no list of a profile", a.ID.Format(id.Agent),
				ProfileCategory(category))
		}
	}
	return nil
}
