package identity

import (
	"fmt"
	"slices"

	"pws/internal/fault"
	"pws/internal/id"
)

// Reported is the type of the entity that a report is about.
type Reported uint8

// The types of reported entities; the numbers are stored in events.
const (
	ReportedProject Reported = iota + 1
	ReportedFile
	ReportedChangeset
	ReportedTask
	ReportedHandoff
	ReportedContribution
	ReportedArtifact
	ReportedVerification
	ReportedDiscussion
	ReportedComment
	ReportedAgent
)

var reportedKinds = [...]struct {
	name   string
	prefix id.Prefix
}{
	ReportedProject:      {"PROJECT", id.Project},
	ReportedFile:         {"FILE", id.Project},
	ReportedChangeset:    {"CHANGESET", id.Changeset},
	ReportedTask:         {"TASK", id.Task},
	ReportedHandoff:      {"HANDOFF", id.Handoff},
	ReportedContribution: {"CONTRIBUTION", id.Contribution},
	ReportedArtifact:     {"ARTIFACT", id.Artifact},
	ReportedVerification: {"VERIFICATION", id.Verification},
	ReportedDiscussion:   {"DISCUSSION", id.Discussion},
	ReportedComment:      {"COMMENT", id.Comment},
	ReportedAgent:        {"AGENT", id.Agent},
}

// String is the name on the wire.
func (r Reported) String() string { return reportedKinds[r].name }

// Prefix returns the prefix of the IDs of such entities. A file is named by its project and its
// path.
func (r Reported) Prefix() id.Prefix { return reportedKinds[r].prefix }

func (r Reported) known() bool { return r > 0 && int(r) < len(reportedKinds) }

// ParseReported reads the name on the wire; zero is no type.
func ParseReported(name string) Reported {
	for i := range reportedKinds {
		if reportedKinds[i].name == name {
			return Reported(i)
		}
	}
	return 0
}

// ReportReason is the reason of a report.
type ReportReason uint8

// The reasons; the numbers are stored in events.
const (
	ReasonSpam ReportReason = iota + 1
	ReasonMalware
	ReasonIllegal
	ReasonPrivateData
	ReasonOther
)

var reportReasons = [...]string{"", "SPAM", "MALWARE", "ILLEGAL", "PRIVATE_DATA", "OTHER"}

// String is the name on the wire.
func (r ReportReason) String() string { return reportReasons[r] }

// ParseReportReason reads the name on the wire; zero is no reason.
func ParseReportReason(name string) ReportReason {
	return ReportReason(max(0, slices.Index(reportReasons[:], name)))
}

// Report is the immutable record of a report of abuse. It holds the reporting agent, if there is
// one, and no address.
type Report struct {
	ID       id.ID        `cbor:"2,keyasint,omitzero"`
	Reporter id.ID        `cbor:"3,keyasint,omitzero"` // zero for an anonymous caller
	Type     Reported     `cbor:"4,keyasint,omitempty"`
	Entity   id.ID        `cbor:"5,keyasint,omitzero"`
	Path     string       `cbor:"6,keyasint,omitempty"` // of a file
	Reason   ReportReason `cbor:"7,keyasint,omitempty"`
	Details  string       `cbor:"8,keyasint,omitempty"`
	// CreatedAt and HandledAt are Unix milliseconds; HandledAt is 0 until an operator handles the
	// report.
	CreatedAt int64 `cbor:"9,keyasint,omitempty"`
	HandledAt int64 `cbor:"10,keyasint,omitempty"`
}

// The states of a report.
const (
	ReportReceived = "RECEIVED"
	ReportHandled  = "HANDLED"
)

// Status is RECEIVED or HANDLED.
func (r *Report) Status() string {
	if r.HandledAt == 0 {
		return ReportReceived
	}
	return ReportHandled
}

// EntityText returns the reported entity as it was named in the report.
func (r *Report) EntityText() string {
	text := r.Entity.Format(r.Type.Prefix())
	if r.Type == ReportedFile {
		text += "/" + r.Path
	}
	return text
}

// Reports yields all reports, starting at the given ID, the oldest first.
func (s *State) Reports(from id.ID) func(yield func(*Report) bool) {
	return func(yield func(*Report) bool) {
		s.reports.scan(from, func(_ id.ID, report *Report) bool { return yield(report) })
	}
}

// OpenReports returns how many reports of an agent are not handled yet; for the zero ID, those
// of anonymous callers.
func (s *State) OpenReports(agent id.ID) int {
	open, _ := s.openReports.get(agent)
	return open
}

// ReportShare returns how many unhandled reports one reporter may have now: an agent, or else the
// network of an anonymous caller. It is less than the most if little room is left: a hundred agents
// that report all they can leave room for 700 more.
func (s *State) ReportShare(anonymous bool) int {
	free := ReportsMax - s.unhandled
	if anonymous {
		free = min(free, ReportsAnonymousMax-s.OpenReports(id.ID{}))
	}
	if free <= 0 {
		return 0
	}
	return min(ReportsPerAgentMax, max(1, free/reportsPart))
}

// ReportWaits reports whether there is such a report, and no operator has handled it.
func (s *State) ReportWaits(report id.ID) bool {
	found, ok := s.reports.get(report)
	return ok && found.HandledAt == 0
}

// MakeReport reports an entity. It does not check that the entity exists. The result is
// *ReportMade.
type MakeReport struct {
	Agent   id.ID // zero for an anonymous caller
	Type    Reported
	Entity  id.ID
	Path    string
	Reason  ReportReason
	Details string
}

// ReportMade is the result of MakeReport.
type ReportMade struct{ Report *Report }

func (*ReportMade) result() {}

// Decide implements Command. It returns QUOTA_EXCEEDED if there are too many unhandled reports:
// of all reports, of anonymous ones, or of the agent. A report is never dropped before an
// operator has handled it.
func (c *MakeReport) Decide(s *State, st Stamp) (Outcome, error) {
	if s.unhandled >= ReportsMax {
		return Outcome{}, ErrReportRoom("all_reports", ReportsMax)
	}
	quota, limit := "reports", s.ReportShare(false)
	if c.Agent.IsZero() {
		quota, limit = "anonymous_reports", ReportsAnonymousMax
	}
	if s.OpenReports(c.Agent) >= limit {
		return Outcome{}, ErrReportRoom(quota, limit)
	}
	var events []Event
	if s.reports.len() >= ReportsMax {
		events = append(events, &ReportForgotten{Report: s.oldestHandled().ID})
	}
	made := &ReportAccepted{
		Report: st.newID("report"), Agent: c.Agent, Type: c.Type, Entity: c.Entity, Path: c.Path,
		Reason: c.Reason, Details: c.Details,
	}
	return Outcome{
		Events: append(events, made), Result: &ReportMade{Report: made.record(st.Now)},
	}, nil
}

// ErrReportRoom refuses a report: so many of a kind wait for an operator. Errors: QUOTA_EXCEEDED.
func ErrReportRoom(quota string, limit int) error {
	return fault.New(fault.QuotaExceeded, "The maximum number of reports is waiting for an operator.").
		With("quota", quota).With("limit", limit)
}

// oldestHandled returns the oldest handled report, which can be dropped; nil if there is none.
func (s *State) oldestHandled() (oldest *Report) {
	s.reports.scan(id.ID{}, func(_ id.ID, report *Report) bool {
		if report.HandledAt != 0 {
			oldest = report
		}
		return oldest == nil
	})
	return oldest
}

// HandleReport marks a report as handled by an operator. The result is *ReportMade; nil if the
// report does not exist.
type HandleReport struct {
	Report id.ID
	// Reason is noted in the log of actions.
	Reason string
}

// Decide implements Command. VALIDATION_FAILED. A handled report stays unchanged.
func (c *HandleReport) Decide(s *State, st Stamp) (Outcome, error) {
	if err := checkReason(c.Reason); err != nil {
		return Outcome{}, err
	}
	report, ok := s.reports.get(c.Report)
	if !ok {
		return Outcome{}, nil
	}
	if report.HandledAt != 0 {
		return Outcome{Result: &ReportMade{Report: report}}, nil
	}
	handled := *report
	handled.HandledAt = st.Now
	noted := &ActionNoted{
		Action: ActionReportHandled, Subject: report.ID.Format(id.Report), Reason: c.Reason,
	}
	return Outcome{
		Events: []Event{&ReportSettled{Report: report.ID}, noted},
		Result: &ReportMade{Report: &handled},
	}, nil
}

// ReportAccepted makes a report.
type ReportAccepted struct {
	Report  id.ID        `cbor:"1,keyasint,omitzero"`
	Agent   id.ID        `cbor:"2,keyasint,omitzero"`
	Type    Reported     `cbor:"3,keyasint,omitempty"`
	Entity  id.ID        `cbor:"4,keyasint,omitzero"`
	Path    string       `cbor:"5,keyasint,omitempty"`
	Reason  ReportReason `cbor:"6,keyasint,omitempty"`
	Details string       `cbor:"7,keyasint,omitempty"`
}

// Kind implements Event.
func (*ReportAccepted) Kind() Kind { return KindReportAccepted }

func (*ReportAccepted) touched() (id.ID, bool) { return id.ID{}, false }

func (e *ReportAccepted) reportTouched() id.ID { return e.Report }

func (e *ReportAccepted) record(now int64) *Report {
	return &Report{
		ID: e.Report, Reporter: e.Agent, Type: e.Type, Entity: e.Entity, Path: e.Path,
		Reason: e.Reason, Details: e.Details, CreatedAt: now,
	}
}

func (e *ReportAccepted) apply(s *State, now int64) {
	if _, twice := s.reports.get(e.Report); twice || !e.Type.known() ||
		int(e.Reason) >= len(reportReasons) {
		panic(fmt.Sprintf("identity: report %s twice, or of kind %d, reason %d",
			e.Report.Format(id.Report), e.Type, e.Reason))
	}
	s.reports.set(e.Report, e.record(now))
	s.countReport(e.Agent, 1)
}

// countReport changes the number of an agent's unhandled reports.
func (s *State) countReport(agent id.ID, by int) {
	s.unhandled += by
	if open := s.OpenReports(agent) + by; open > 0 {
		s.openReports.set(agent, open)
	} else {
		s.openReports.delete(agent)
	}
}

func (s *State) mustReport(reportID id.ID) *Report {
	report, ok := s.reports.get(reportID)
	if !ok {
		panic(fmt.Sprintf("identity: no report %s", reportID.Format(id.Report)))
	}
	return report
}

// ReportSettled marks a report as handled.
type ReportSettled struct {
	Report id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ReportSettled) Kind() Kind { return KindReportSettled }

func (*ReportSettled) touched() (id.ID, bool) { return id.ID{}, false }

func (e *ReportSettled) reportTouched() id.ID { return e.Report }

func (e *ReportSettled) apply(s *State, now int64) {
	handled := *s.mustReport(e.Report)
	handled.HandledAt = now
	s.reports.set(e.Report, &handled)
	s.countReport(handled.Reporter, -1)
}

// ReportForgotten drops a handled report.
type ReportForgotten struct {
	Report id.ID `cbor:"1,keyasint,omitzero"`
}

// Kind implements Event.
func (*ReportForgotten) Kind() Kind { return KindReportForgotten }

func (*ReportForgotten) touched() (id.ID, bool) { return id.ID{}, false }

func (e *ReportForgotten) reportTouched() id.ID { return e.Report }

func (e *ReportForgotten) apply(s *State, _ int64) {
	s.mustReport(e.Report)
	s.reports.delete(e.Report)
}

// TouchedReport returns the report whose snapshot section an event changes; zero for none.
func TouchedReport(ev Event) id.ID {
	if about, ok := ev.(interface{ reportTouched() id.ID }); ok {
		return about.reportTouched()
	}
	return id.ID{}
}

type reportSection struct {
	Version uint8 `cbor:"1,keyasint"`
	Report
}

// EncodeReport returns the snapshot section of a report; nil if the report does not exist.
func (s *State) EncodeReport(reportID id.ID) []byte {
	r, ok := s.reports.get(reportID)
	if !ok {
		return nil
	}
	return encodeSection(&reportSection{Version: sectionVersion, Report: *r})
}

// RestoreReport restores a report from its section into this State, which must not be published.
// On an error, which is ErrCorrupt, the State is unchanged.
func (s *State) RestoreReport(data []byte) error {
	var section reportSection
	if err := decodeSection(data, &section); err != nil {
		return err
	}
	_, twice := s.reports.get(section.ID)
	if section.Version != sectionVersion || twice || section.ID.IsZero() ||
		!section.Type.known() || int(section.Reason) >= len(reportReasons) {
		return corrupt("report %s does not fit", section.ID.Format(id.Report))
	}
	report := section.Report
	s.reports.set(report.ID, &report)
	if section.HandledAt == 0 {
		s.countReport(section.Reporter, 1)
	}
	return nil
}
