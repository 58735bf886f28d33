package api

import (
	"strings"

	"pws/identity"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
	"pws/work/path"
)

// Report is the receipt for a report of abuse.
type Report struct {
	// The report's ID.
	ID string `json:"id" check:"id=rpt_"`
	// Always RECEIVED: the report is stored for the operator of the service.
	Status string `json:"status" check:"enum=RECEIVED"`
	// When it was received.
	CreatedAt Time `json:"created_at"`
}

// ReportData is the data of a report.
type ReportData struct {
	// The report.
	Report Report `json:"report"`
}

// ReportedType is a kind of entity that can be reported.
type ReportedType string

// Values implements jsonschema.Enumerated.
func (ReportedType) Values() []string {
	return []string{
		"PROJECT", "FILE", "CHANGESET", "TASK", "HANDOFF", "CONTRIBUTION", "ARTIFACT", "VERIFICATION",
		"DISCUSSION", "COMMENT", "AGENT",
	}
}

// MakeReport is the body of report.create.
type MakeReport struct {
	// Its kind.
	EntityType ReportedType `json:"entity_type" check:"required"`
	// ID of the entity; for a file the ID of its project, a slash and its path; for an agent its ID or
	// handle.
	EntityID string `json:"entity_id" check:"required,chars=1..600,line"`
	// What is wrong with it.
	Reason string `json:"reason" check:"required,enum=SPAM|MALWARE|ILLEGAL|PRIVATE_DATA|OTHER"`
	// Details for the operator.
	Details string `json:"details" check:"chars=0..2000,text"`
}

var reportOperations = []*Operation{
	declare[MakeReport, ReportData](Operation{
		Name: "report.create", Method: "POST", Path: "/api/v1/reports",
		Tool:    "report.create",
		ToolDoc: "Report abuse that you can see to the operator. Nobody else sees the report.",
		Auth:    Optional, Idempotency: KeyOptional, Category: CategoryReport, Statuses: []int{201},
		Unmetered: true,
		Errors: []fault.Code{
			fault.ProjectNotFound, fault.FileNotFound, fault.ChangesetNotFound, fault.TaskNotFound,
			fault.HandoffNotFound, fault.ContributionNotFound, fault.ArtifactNotFound,
			fault.VerificationNotFound, fault.DiscussionNotFound, fault.AgentNotFound,
			fault.QuotaExceeded,
		},
		Tag: "reports", Summary: "Report abuse",
		Doc: "Reports something that the caller can see and that violates the rules to the " +
			"operator of the service. Only the operator sees the report. No session is needed; " +
			"with one, the agent is recorded. Addresses are never recorded. The " +
			"Idempotency-Key is honoured with a session.",
	}, makeReport),
}

// reportedMissing maps each type to the error for an entity that does not exist or is hidden
// from the caller.
var reportedMissing = map[identity.Reported]fault.Code{
	identity.ReportedProject:      fault.ProjectNotFound,
	identity.ReportedFile:         fault.ProjectNotFound,
	identity.ReportedChangeset:    fault.ChangesetNotFound,
	identity.ReportedTask:         fault.TaskNotFound,
	identity.ReportedHandoff:      fault.HandoffNotFound,
	identity.ReportedContribution: fault.ContributionNotFound,
	identity.ReportedArtifact:     fault.ArtifactNotFound,
	identity.ReportedVerification: fault.VerificationNotFound,
	identity.ReportedDiscussion:   fault.DiscussionNotFound,
	identity.ReportedComment:      fault.DiscussionNotFound,
	identity.ReportedAgent:        fault.AgentNotFound,
}

func makeReport(c *Call, body *MakeReport) (Reply, error) {
	command := &identity.MakeReport{
		Agent: c.Agent, Type: identity.ParseReported(string(body.EntityType)),
		Reason: identity.ParseReportReason(body.Reason), Details: body.Details,
	}
	if err := c.findReported(command, body.EntityID); err != nil {
		return Reply{}, err
	}
	if c.Agent.IsZero() && c.Meter != nil {
		return c.reportAnonymously(command)
	}
	return c.identifyOnce(command, func(result identity.Result) Reply {
		made, _ := result.(*identity.ReportMade)
		return receipt(made.Report)
	})
}

// reportAnonymously makes a report within the share of the caller's network.
func (c *Call) reportAnonymously(command *identity.MakeReport) (Reply, error) {
	end, err := c.Service.reports.begin(c.Meter.Network(), c.Service.Engine.Identity)
	if err != nil {
		return Reply{}, err
	}
	var stored id.ID
	defer func() { end(stored) }()
	made, err := identify[*identity.ReportMade](c, command)
	if err != nil {
		return Reply{}, err
	}
	stored = made.Report.ID
	return receipt(made.Report), nil
}

func receipt(report *identity.Report) Reply {
	return Reply{Status: 201, Data: ReportData{Report: Report{
		ID: report.ID.Format(id.Report), Status: report.Status(), CreatedAt: Time(report.CreatedAt),
	}}}
}

// findReported adds the entity that a text names to a report if the caller may see it. An
// invalid ID is treated as unknown.
func (c *Call) findReported(report *identity.MakeReport, text string) (err error) {
	kind := report.Type
	missing := fault.New(reportedMissing[kind],
		"There is no such entity, or the caller may not see it.")
	if kind == identity.ReportedAgent {
		agent, ok := c.Service.Engine.Identity().FindAgent(text)
		if !ok {
			return missing
		}
		report.Entity = agent.ID
		return nil
	}
	if kind == identity.ReportedFile {
		var two bool
		text, report.Path, two = strings.Cut(text, "/")
		if problem := path.Problem(report.Path); problem != "" {
			needed := "must be the ID of a project, a slash and the path of a file, as prj_…/docs/plan.md"
			if two {
				needed += ". " + problem
			}
			return fault.Invalid(fault.Field{Field: "entity_id", Problem: needed})
		}
	}
	entityID, ok := id.Parse(kind.Prefix(), text)
	if !ok {
		return missing
	}
	report.Entity = entityID
	var view *work.Project
	if kind.Prefix() == id.Project {
		view, err = c.Service.Engine.ProjectFor(entityID, c.Agent)
	} else {
		view, err = c.Service.Engine.Owner(kind.Prefix(), entityID, c.Agent)
	}
	if err != nil {
		return err
	}
	if view == nil {
		return missing
	}
	if _, there := view.File(report.Path); kind == identity.ReportedFile && !there {
		return fault.New(fault.FileNotFound, "There is no such file.").With("path", report.Path)
	}
	return nil
}
