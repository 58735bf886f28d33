package api

import (
	"slices"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
)

// APIVersion is the version of the interface, BasePath the prefix of its paths.
const (
	ServiceName = "persistent-work-service"
	APIVersion  = "v1"
	BasePath    = "/api/v1"
)

// Condition is the time and the health of the service.
type Condition interface {
	// Now returns the service's time in Unix milliseconds.
	Now() int64
	// Health reports each part of the service.
	Health() []Check
	// Space reports whether writes are accepted, and the disk space at this moment.
	Space() Space
	// StoredBy returns what an agent has stored, and the limits for it in a project. The project may
	// be zero.
	StoredBy(agent, project id.ID) StoredUsage
}

// Check is the health of one part: wal, snapshot, blobs, search.
type Check struct {
	Name string
	// Fault is empty where the part is well.
	Fault string
	// Waiting is how much the part has yet to do, of those that work behind the writers.
	Waiting int
	// Paused says that the part waits for disk space and goes on by itself.
	Paused bool
}

// Space says whether writes are accepted: here, or by another server of the group.
type Space struct {
	FreeBytes int64
	// ReserveBytes is the free space below which writes are refused; 0 without a reserve.
	ReserveBytes int64
	Writable     bool
	// Reason is why not: DISK_RESERVE, LOG_FAILED, or NOT_LEADING where no server is known to lead.
	Reason string
}

// Health is the data of meta.health.
type Health struct {
	// Always ok; the answer is 503 otherwise.
	Status string `json:"status" check:"enum=ok"`
	// Version of the program.
	Version string `json:"version"`
	// Seconds since the service started.
	UptimeSeconds int64 `json:"uptime_seconds"`
	// Whether writes are accepted. If false, they are refused with STORAGE_UNAVAILABLE. Reads and
	// sign-in still work, unless the service is a group of servers without a majority.
	Writable bool `json:"writable"`
	// Each part of the service: ok, or paused while it waits for disk space.
	Checks map[string]string `json:"checks"`
	// Documents, projects and agents that are queued for search indexing.
	SearchWaiting int `json:"search_waiting"`
}

// Alive is the data of meta.live.
type Alive struct {
	// Always ok.
	Status string `json:"status" check:"enum=ok"`
}

// Readiness is the data of meta.ready.
type Readiness struct {
	// Whether reads are answered.
	Reads bool `json:"reads"`
	// Whether writes are accepted.
	Writes bool `json:"writes"`
}

// CatalogEntry is one code of the error catalog.
type CatalogEntry struct {
	// The stable code.
	Code string `json:"code"`
	// The HTTP status.
	Status int `json:"status"`
	// When it is returned.
	Description string `json:"description"`
	// Whether the same request may succeed later.
	Retryable bool `json:"retryable"`
	// The recommended next step.
	Action *string `json:"recommended_action"`
	// Keys that details may carry.
	Details []string `json:"details_fields"`
}

// detailsOf returns the keys that details may have beside the recommended action.
func detailsOf(entry *fault.Entry) []string {
	details := slices.Clone(orEmpty(entry.Details))
	if namesCalls(entry.Code) {
		details = append(details, nextStepKey, nextCallsKey)
	}
	if HasNextCall(entry.Code) {
		details = append(details, NextCallKey)
	}
	return details
}

// CatalogData is the error catalog.
type CatalogData struct {
	// Every code once.
	Errors []CatalogEntry `json:"errors"`
}

// CapabilitiesData is the capability model.
type CapabilitiesData struct {
	// Name of the service.
	Service string `json:"service"`
	// Version of the program.
	Version string `json:"version"`
	// Version of the API.
	APIVersion string `json:"api_version"`
	// Base path of the API.
	BasePath string `json:"base_path"`
	// Agent-to-agent protocol: not supported.
	A2A bool `json:"a2a"`
	// The MCP endpoint.
	MCP MCPModel `json:"mcp"`
	// Capabilities by name, as negotiate accepts them.
	Capabilities map[string]CapabilitySupport `json:"capabilities"`
	// Content codings that request bodies may have.
	ContentEncodings []string `json:"content_encodings"`
	// Limits of this deployment.
	Limits Limits `json:"limits"`
	// Rate limits in force.
	RateLimits RateLimits `json:"rate_limits"`
	// How to authenticate.
	Auth AuthModel `json:"auth"`
}

// MCPModel says where MCP is served.
type MCPModel struct {
	// The endpoint.
	Path string `json:"path"`
	// Supported protocol versions, the current one first.
	ProtocolVersions []string `json:"protocol_versions"`
}

// CapabilitySupport says whether a capability is supported.
type CapabilitySupport struct {
	// Whether it is available.
	Supported bool `json:"supported"`
	// Operations that belong to it.
	Operations []string `json:"operations"`
}

// RateLimits are the rate limits in force.
type RateLimits struct {
	// Whether requests are counted.
	Enabled bool `json:"enabled"`
	// The limits in force.
	Limits []RateLimit `json:"limits"`
}

// AuthModel says how to authenticate.
type AuthModel struct {
	// Scheme of the Authorization header.
	Scheme string `json:"scheme" check:"enum=Bearer"`
	// Algorithm of root keys.
	KeyAlgorithm string `json:"key_algorithm" check:"enum=Ed25519"`
	// Encoding of keys and signatures.
	Encoding string `json:"encoding"`
	// Lifetime of a session.
	SessionSeconds int `json:"session_seconds"`
	// Lifetime of a challenge.
	ChallengeSeconds int `json:"challenge_seconds"`
	// Who may register: anybody, those with an invite of the operator, or nobody now.
	Registration string `json:"registration" check:"enum=OPEN|INVITE|CLOSED"`
	// First step of a new identity.
	RegistrationStart string `json:"registration_start"`
	// Second step of a new identity.
	RegistrationComplete string `json:"registration_complete"`
	// First step of a session.
	SessionChallenge string `json:"session_challenge"`
	// Second step of a session.
	SessionStart string `json:"session_start"`
	// Always false.
	PermanentTokensOffered bool `json:"permanent_tokens_offered"`
}

// Negotiate is the body of meta.negotiate.
type Negotiate struct {
	// API version of the client; v1 if absent.
	APIVersion string `json:"api_version" check:"chars=0..40"`
	// Capabilities that the client requires.
	Required []string `json:"required" check:"items=0..200" each:"chars=1..100"`
	// Capabilities that the client can use.
	Optional []string `json:"optional" check:"items=0..200" each:"chars=1..100"`
}

// NegotiationData is the result of a negotiation.
type NegotiationData struct {
	// Whether the version is supported and no required capability is missing.
	Compatible bool `json:"compatible"`
	// The supported version.
	APIVersion string `json:"api_version"`
	// Requested capabilities that are available.
	Supported []string `json:"supported"`
	// Required capabilities that are not available.
	MissingRequired []string `json:"missing_required"`
	// Optional capabilities that are not available.
	MissingOptional []string `json:"missing_optional"`
}

var metaOperations = []*Operation{
	declare[None, Health](Operation{
		Name: "meta.health", Method: "GET", Path: "/api/v1/health",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Errors: []fault.Code{fault.DependencyUnavailable},
		Tag:    "meta", Summary: "Get health",
		Doc: "Returns 200 if every component works, otherwise 503 with the faults in " +
			"details.checks. A nearly full disk is not a fault: the answer is then 200 with " +
			"writable false.",
	}, readHealth),
	declare[None, Alive](Operation{
		Name: "meta.live", Method: "GET", Path: "/livez",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Tag: "meta", Summary: "Check liveness",
		Doc: "Returns 200 while the process is running. Probes are not rate-limited.",
	}, func(*Call, *None) (Reply, error) { return Reply{Data: Alive{Status: "ok"}}, nil }),
	declare[None, Readiness](Operation{
		Name: "meta.ready", Method: "GET", Path: "/readyz",
		Auth: Anonymous, Category: CategoryProbe, Statuses: []int{200},
		Errors: []fault.Code{fault.StorageUnavailable},
		Tag:    "meta", Summary: "Check readiness",
		Doc: "Returns 200 if reads and writes are accepted, otherwise 503: details.reads and " +
			"details.writes say which are accepted, details.reason says why. Probes are not " +
			"rate-limited.",
	}, func(c *Call, _ *None) (Reply, error) { return readReady(c.Service.Engine) }),
	declare[None, CapabilitiesData](Operation{
		Name: "meta.capabilities", Method: "GET", Path: "/api/v1/capabilities",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "Get capabilities",
		Doc: "Returns what this deployment supports, with its limits.",
	}, readCapabilities),
	declare[Negotiate, NegotiationData](Operation{
		Name: "meta.negotiate", Method: "POST", Path: "/api/v1/capabilities/negotiate",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		BodyMax: bodySmall,
		Tag:     "meta", Summary: "Negotiate capabilities",
		Doc: "Checks required and optional capability names. Unknown names are reported as " +
			"missing, not as errors.",
	}, negotiate),
	declare[None, CatalogData](Operation{
		Name: "meta.errors", Method: "GET", Path: "/api/v1/errors",
		Auth: Anonymous, Category: CategoryRead, Statuses: []int{200},
		Tag: "meta", Summary: "List error codes",
		Doc: "Lists every error code with its status, meaning and recommended action.",
	}, readErrors),
}

func readHealth(c *Call, _ *None) (Reply, error) {
	checks, failed, waiting := map[string]string{}, false, 0
	for _, check := range c.Service.Engine.Health() {
		checks[check.Name] = "ok"
		waiting += check.Waiting
		if check.Fault != "" {
			checks[check.Name], failed = "failed", true
		} else if check.Paused {
			checks[check.Name] = "paused"
		}
	}
	if failed {
		return Reply{}, fault.New(fault.DependencyUnavailable, "A part of the service has failed.").
			With("checks", checks).With("retry_after_seconds", 5)
	}
	return Reply{Data: Health{
		Status: "ok", Version: c.Service.Config.Version, Checks: checks, SearchWaiting: waiting,
		UptimeSeconds: max(0, c.Now-c.Service.Config.Started) / 1000,
		Writable:      c.Service.Engine.Space().Writable,
	}}, nil
}

// ReadinessOf reports whether an engine accepts reads and writes, and the reason why not. One of
// several servers accepts both while it hears of a leader.
func ReadinessOf(engine Engine) (ready Readiness, reason string) {
	mark, err := engine.BeginRead()
	if err == nil {
		err = engine.EndRead(mark)
	}
	if err != nil {
		return Readiness{}, ReasonNotLeading
	}
	space := engine.Space()
	return Readiness{Reads: true, Writes: space.Writable}, space.Reason
}

// readReady checks whether an engine accepts reads and writes. Errors: STORAGE_UNAVAILABLE.
func readReady(engine Engine) (Reply, error) {
	ready, reason := ReadinessOf(engine)
	text, again := "", 0
	switch {
	case !ready.Reads:
		text, again = "No server is known that accepts writes.", 1
	case !ready.Writes:
		text, again = "Writes are refused; reads still work.", 30
	default:
		return Reply{Data: ready}, nil
	}
	return Reply{}, fault.New(fault.StorageUnavailable, text).
		With("reads", ready.Reads).With("writes", ready.Writes).With("reason", reason).
		With("retry_after_seconds", again)
}

// capabilities holds by name the tags and the operations of the table, and capabilities that are
// part of a tag.
var capabilities map[string]CapabilitySupport

func init() {
	names := map[string]CapabilitySupport{}
	add := func(name string, op *Operation) {
		operations := names[name].Operations
		if !slices.Contains(operations, op.Name) {
			names[name] = CapabilitySupport{
				Supported: true, Operations: append(operations, op.Name),
			}
		}
	}
	for _, op := range Table {
		add(op.Tag, op)
		add(op.Name, op)
	}
	for name, group := range map[string][]*Operation{
		"claims": claimOperations, "resume": resumeOperations, "manifest": manifestOperations,
		"imports": importOperations, "comments": commentOperations,
	} {
		for _, op := range group {
			add(name, op)
		}
	}
	for _, op := range Table {
		if op.Tool != "" {
			add("mcp", op)
		}
	}
	names["a2a"] = CapabilitySupport{Operations: []string{}}
	capabilities = names
}

// Capabilities returns the capabilities of the service by name. Callers do not modify the map.
func Capabilities() map[string]CapabilitySupport { return capabilities }

func readCapabilities(c *Call, _ *None) (Reply, error) {
	limits := c.Service.Config.Limits
	return Reply{Data: CapabilitiesData{
		Service: ServiceName, Version: c.Service.Config.Version,
		APIVersion: APIVersion, BasePath: BasePath,
		MCP:          MCPModel{Path: "/mcp", ProtocolVersions: c.Service.Config.mcpVersions()},
		Capabilities: capabilities, Limits: c.Service.Config.DeploymentLimits(),
		ContentEncodings: ContentEncodings,
		RateLimits:       RateLimits{Enabled: len(limits) > 0, Limits: orEmpty(limits)},
		Auth:             authModel(c.Service.Engine.Identity()),
	}}, nil
}

func authModel(state *identity.State) AuthModel {
	return AuthModel{
		Scheme: "Bearer", KeyAlgorithm: "Ed25519", Encoding: "base64url, unpadded",
		SessionSeconds: identity.SessionMillis / 1000, ChallengeSeconds: identity.ChallengeMillis / 1000,
		Registration:         state.Registration().String(),
		RegistrationStart:    "/api/v1/agents/register/start",
		RegistrationComplete: "/api/v1/agents/register/complete",
		SessionChallenge:     "/api/v1/auth/challenge",
		SessionStart:         "/api/v1/auth/session",
	}
}

func negotiate(_ *Call, body *Negotiate) (Reply, error) {
	data := NegotiationData{
		APIVersion: APIVersion,
		Supported:  []string{}, MissingRequired: []string{}, MissingOptional: []string{},
	}
	sort := func(names []string, missing *[]string) {
		for _, name := range names {
			switch {
			case !capabilities[name].Supported:
				*missing = append(*missing, name)
			case !slices.Contains(data.Supported, name):
				data.Supported = append(data.Supported, name)
			}
		}
	}
	sort(body.Required, &data.MissingRequired)
	sort(body.Optional, &data.MissingOptional)
	spoken := body.APIVersion == "" || body.APIVersion == APIVersion || body.APIVersion == "1"
	data.Compatible = spoken && len(data.MissingRequired) == 0
	return Reply{Data: data}, nil
}

func readErrors(*Call, *None) (Reply, error) {
	data := CatalogData{Errors: make([]CatalogEntry, len(fault.Catalog))}
	for i, entry := range fault.Catalog {
		data.Errors[i] = CatalogEntry{
			Code: string(entry.Code), Status: entry.Status, Description: entry.Description,
			Retryable: entry.Retryable, Details: detailsOf(&entry),
		}
		if entry.Action != "" {
			data.Errors[i].Action = &fault.Catalog[i].Action
		}
	}
	return Reply{Data: data}, nil
}
