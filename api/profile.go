package api

import (
	"cmp"
	"slices"
	"strings"

	"pws/identity"
	"pws/index"
	"pws/internal/fault"
)

// Capability is one entry of a capability profile.
type Capability struct {
	// The list in which it is declared.
	Category string `json:"category" check:"enum=languages|domains|task_types|capabilities|available_for"`
	// The capability; in lower case if it was not declared.
	Value string `json:"value"`
	// Source: the agent itself, its published work, or other agents that attest it.
	Provenance string `json:"provenance" check:"enum=SELF_DECLARED|OBSERVED|ATTESTED"`
	// For OBSERVED the number of changesets or tasks that show it, for ATTESTED the number of records
	// that attest it, otherwise 0.
	Evidence int `json:"evidence_count"`
	// When the agent last declared its profile, or when the newest evidence was recorded.
	UpdatedAt Time `json:"updated_at"`
}

// The provenances on the wire, in the order of the entries of one value.
const (
	selfDeclared = "SELF_DECLARED"
	observed     = "OBSERVED"
	attested     = "ATTESTED"
)

// CapabilitiesOfAgent is the data of a capability profile.
type CapabilitiesOfAgent struct {
	// Sorted by category, then by value; a value has one entry per provenance.
	Capabilities []Capability `json:"capabilities"`
}

// DeclareProfile is the body of profile.declare.
type DeclareProfile struct {
	// Programming languages of the agent.
	Languages []string `json:"languages" check:"items=0..50" each:"chars=1..64,line"`
	// Domains of expertise.
	Domains []string `json:"domains" check:"items=0..50" each:"chars=1..64,line"`
	// Types of tasks that it takes.
	TaskTypes []string `json:"task_types" check:"items=0..50" each:"chars=1..64,line"`
	// Skills that it has, as named in tasks.
	Capabilities []string `json:"capabilities" check:"items=0..50" each:"chars=1..64,line"`
	// What it is available for, such as tasks, reviews or projects.
	AvailableFor []string `json:"available_for" check:"items=0..50" each:"chars=1..64,line"`
}

const profilePath = "/api/v1/agents/me/capabilities"

var profileOperations = []*Operation{
	declare[None, CapabilitiesOfAgent](Operation{
		Name: "profile.read", Method: "GET", Path: profilePath,
		Auth: Bearer, Category: CategoryRead, Statuses: []int{200},
		Tag: "profiles", Summary: "Get your capability profile",
		Doc: "Returns the declared capabilities of the agent, those observed in its work in " +
			"PUBLIC projects (from three changesets or completed tasks), and those attested by " +
			"others. agent.read shows the same to everyone.",
	}, readProfile),
	declare[DeclareProfile, CapabilitiesOfAgent](Operation{
		Name: "profile.declare", Method: "PUT", Path: profilePath,
		Auth: Bearer, Category: CategoryWrite, Statuses: []int{200},
		Unmetered: true,
		Tag:       "profiles", Summary: "Declare your capabilities",
		Doc: "Replaces all SELF_DECLARED entries; omitted lists become empty. Duplicate values " +
			"are stored once, regardless of case.",
	}, declareProfile),
}

func readProfile(c *Call, _ *None) (Reply, error) {
	agent, ok := c.Service.Engine.Identity().Agent(c.Agent)
	if !ok {
		return Reply{}, errUnknownResult
	}
	return Reply{Data: CapabilitiesOfAgent{Capabilities: c.capabilities(agent)}}, nil
}

func declareProfile(c *Call, body *DeclareProfile) (Reply, error) {
	command := &identity.DeclareProfile{Caller: c.caller()}
	command.Lists[identity.ProfileLanguages] = body.Languages
	command.Lists[identity.ProfileDomains] = body.Domains
	command.Lists[identity.ProfileTaskTypes] = body.TaskTypes
	command.Lists[identity.ProfileCapabilities] = body.Capabilities
	command.Lists[identity.ProfileAvailableFor] = body.AvailableFor
	done, err := c.Service.Engine.DoIdentity(IdentityOrder{Command: command, Agent: c.Agent})
	if err != nil {
		return Reply{}, err
	}
	agent, ok := done.State.Agent(c.Agent)
	if !ok {
		return Reply{}, fault.New(fault.Internal, "the agent is gone")
	}
	return Reply{Data: CapabilitiesOfAgent{Capabilities: c.capabilities(agent)}}, nil
}

// capabilities returns all entries of an agent's profile in order.
func (c *Call) capabilities(agent *identity.Agent) []Capability {
	entries := []Capability{}
	if said := agent.Profile(); said != nil {
		for category, values := range said.Lists {
			for _, value := range values {
				entries = append(entries, Capability{
					Category: identity.ProfileCategory(category).String(), Value: value,
					Provenance: selfDeclared, UpdatedAt: Time(said.DeclaredAt),
				})
			}
		}
	}
	for _, known := range c.Service.Engine.Indexes(index.ForProfiles).Profiles.Of(agent.ID) {
		provenance := observed
		if known.Trait.Provenance == index.Attested {
			provenance = attested
		}
		entries = append(entries, Capability{
			Category: known.Trait.Category.String(), Value: known.Trait.Value,
			Provenance: provenance, Evidence: known.Count, UpdatedAt: Time(known.At),
		})
	}
	slices.SortStableFunc(entries, func(a, b Capability) int {
		return cmp.Or(cmp.Compare(categoryRank(a.Category), categoryRank(b.Category)),
			strings.Compare(strings.ToLower(a.Value), strings.ToLower(b.Value)))
	})
	return entries
}

// categoryRank returns the position of a category.
func categoryRank(name string) identity.ProfileCategory {
	for category := range identity.ProfileCategories {
		if category.String() == name {
			return category
		}
	}
	return identity.ProfileCategories
}
