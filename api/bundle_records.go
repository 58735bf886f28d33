package api

import (
	"fmt"

	"pws/internal/id"
	"pws/work"
)

const (
	// versionMax is the largest integer that every JSON reader reads exactly.
	versionMax = 1<<53 - 1
	noLicense  = "is not an SPDX expression"
	// attemptsMax bounds the attempts of a task.
	attemptsMax = 1_000_000_000
)

// readList reads a list of the bundle. It stops when there are enough faults for one answer.
func readList[W, R any](
	i *importer, name string, list []W, read func(from *W, field string) R,
) (made []R) {
	for nth := range list {
		if len(i.faults) >= bundleFaultsMax {
			break
		}
		made = append(made, read(&list[nth], fmt.Sprintf("%s[%d]", name, nth)))
	}
	return made
}

// readRecords is readList for records that have an origin of their own.
func readRecords[W, R any](
	i *importer, kind id.Prefix, name string, list []W,
	read func(from *W, field string) (R, source),
) []work.Bundled[R] {
	return readList(i, name, list, func(from *W, field string) work.Bundled[R] {
		record, of := read(from, field)
		return work.Bundled[R]{Record: record, Origin: i.originOf(kind, of, field)}
	})
}

// source is where a record comes from: its origin from an earlier bundle or, if that is nil, the
// record itself.
type source struct {
	earlier *RecordOrigin
	id      string
	author  AgentRef
	at      Time
}

// originOf reads the origin of a record.
func (i *importer) originOf(prefix id.Prefix, of source, field string) work.Origin {
	if of.earlier != nil {
		return i.origin(prefix, of.earlier, field+".origin")
	}
	return i.origin(prefix, &RecordOrigin{ID: of.id, Author: of.author, CreatedAt: of.at}, field)
}

// agentNamed returns an agent that a record names only by ID.
func (i *importer) agentNamed(text string) *AgentRef {
	return &AgentRef{AgentID: text, Handle: i.bundle.Agents[text]}
}

func (i *importer) version(version uint64, field string) uint64 {
	if version < 1 || version > versionMax {
		i.fault(field, fmt.Sprintf("must be from 1 to %d", versionMax))
	}
	return version
}

func (i *importer) readState() {
	from := i.bundle.State
	if from == nil {
		return
	}
	i.readStates()
	state := i.readVersion(from, "state")
	i.command.State = &state
	writer := i.agentNamed(from.UpdatedBy)
	i.command.Imported.State = work.Origin{
		Agent:     i.id(id.Agent, from.UpdatedBy, "state.updated_by"),
		Handle:    i.handle(writer.Handle, "agents."+writer.AgentID),
		CreatedAt: i.time(from.UpdatedAt, "state.updated_at"),
	}
	// A state that was imported and not updated since has the time of the project.
	if earlier := i.bundle.Provenance.Origin.Bundle; earlier != nil &&
		from.UpdatedAt == i.bundle.Project.CreatedAt {
		const field = "provenance.origin.bundle.state_by"
		writer := i.agent(&earlier.StateBy, field)
		i.command.Imported.State = work.Origin{
			Agent: writer.Agent, Handle: writer.Handle, CreatedAt: i.time(earlier.StateAt, field),
		}
	}
}

func (i *importer) readHandoffs() {
	all := i.bundle.Handoffs
	latest := i.bundle.LatestHandoff
	if len(all) == 0 && latest != nil {
		all = []Handoff{*latest}
	}
	if latest != nil && all[len(all)-1].ID != latest.ID {
		i.fault("latest_handoff.id", "is not the last handoff")
	}
	i.command.Handoffs = readRecords(i, id.Handoff, "handoffs", all, i.readHandoff)
}

func (i *importer) readHandoff(from *Handoff, field string) (work.Handoff, source) {
	input := CreateHandoff{Summary: from.Summary, HandoffLists: HandoffLists{
		CompletedWork: from.CompletedWork, Decisions: from.Decisions,
		FailedApproaches: from.FailedApproaches, Blockers: from.Blockers,
		Assumptions: from.Assumptions, Dependencies: from.Dependencies,
		OpenQuestions: from.OpenQuestions, NextActions: from.NextActions,
		TaskIDs: from.TaskIDs, ResidualRisks: from.ResidualRisks,
	}}
	checkForm(i, field, &input)
	if len(from.ChangedFiles) > work.ChangedPathsMax {
		i.fault(field+".changed_files",
			fmt.Sprintf("must have at most %d items", work.ChangedPathsMax))
	}
	for j, path := range from.ChangedFiles {
		i.path(path, fmt.Sprintf("%s.changed_files[%d]", field, j))
	}
	return work.Handoff{
		ID: i.id(id.Handoff, from.ID, field+".id"), ChangedFiles: from.ChangedFiles,
		Changeset:    i.id(id.Changeset, from.ChangesetID, field+".changeset_id"),
		Continuation: input.continuation(input.Summary),
	}, source{from.Origin, from.ID, from.Author, from.CreatedAt}
}

func (i *importer) readTask(from *Task, field string) (work.Task, source) {
	input := TaskInput{
		Title: from.Title, Description: from.Description, Priority: from.Priority,
		TaskType: from.TaskType, Skills: from.Skills, Dependencies: from.Dependencies,
		RelatedFiles: from.RelatedFiles, ExpectedOutput: from.ExpectedOutput,
		CompletionConditions: from.CompletionConditions, ParentTaskID: from.ParentTaskID,
	}
	checkForm(i, field, &input)
	task := work.Task{
		ID: i.id(id.Task, from.ID, field+".id"), Spec: input.spec(),
		Status: work.ParseTaskStatus(from.Status), Attempts: from.AttemptCount,
		Version: i.version(from.Version, field+".version"),
	}
	if task.Spec.Priority == 0 {
		task.Spec.Priority = work.PriorityNormal
	}
	if task.Status == 0 {
		i.fault(field+".status", isRequired)
	}
	if task.Attempts < 0 || task.Attempts > attemptsMax {
		i.fault(field+".attempt_count", fmt.Sprintf("must be from 0 to %d", attemptsMax))
	}
	i.readBlocked(&task, from.Blocked, field)
	i.readResult(&task, from.Result, field)
	return task, source{from.Origin, from.ID, *i.agentNamed(from.CreatedBy), from.CreatedAt}
}

// readBlocked reads what blocks a task with the status BLOCKED. For other tasks it is derived from
// their dependencies.
func (i *importer) readBlocked(task *work.Task, from *TaskBlocked, field string) {
	switch {
	case task.Status != work.TaskBlocked:
	case from == nil:
		i.fault(field+".blocked", blockedNeeded)
	default:
		checkForm(i, field+".blocked", from)
		task.Blocked = &work.Blocked{
			Kind: work.ParseBlockedKind(from.Kind), Reason: from.Reason,
		}
	}
}

func (i *importer) readResult(task *work.Task, from *TaskResult, field string) {
	if from == nil {
		return
	}
	checkForm(i, field+".result", from)
	task.Result = &work.TaskResult{Summary: from.Summary}
	if from.ChangesetID != nil {
		task.Result.Changeset = parsed(id.Changeset, *from.ChangesetID)
	}
	if from.ContributionID != nil {
		task.Result.Contribution = parsed(id.Contribution, *from.ContributionID)
	}
}

func (i *importer) readVerification(from *Verification, field string) (work.Verification, source) {
	input := CreateVerification{
		EntityType: from.EntityType, EntityID: from.EntityID, Kind: from.Kind,
		Outcome: from.Outcome, Method: from.Method, Summary: from.Summary,
		Evidence: from.Evidence,
	}
	if from.ExternalSource != nil {
		input.ExternalSource = *from.ExternalSource
	}
	if from.AttestationReference != nil {
		input.AttestationReference = *from.AttestationReference
	}
	checkForm(i, field, &input)
	return work.Verification{
		ID: i.id(id.Verification, from.ID, field+".id"), Finding: input.finding(),
	}, source{from.Origin, from.ID, from.Author, from.CreatedAt}
}

func (i *importer) readArtifact(from *Artifact, field string) (work.Artifact, source) {
	input := CreateArtifact{
		Name: from.Name, Type: from.Type, Description: from.Description, Paths: from.Paths,
		ReusePolicy: from.ReusePolicy,
	}
	checkForm(i, field, &input)
	for j, path := range from.Paths {
		i.path(path, fmt.Sprintf("%s.paths[%d]", field, j))
	}
	license, err := canonicalLicense(from.LicenseSPDX)
	if err != nil {
		i.fault(field+".license_spdx", noLicense)
	}
	record := work.Artifact{
		ID:        i.id(id.Artifact, from.ID, field+".id"),
		Changeset: i.id(id.Changeset, from.ChangesetID, field+".changeset_id"),
		Name:      input.Name, Type: work.ParseArtifactType(input.Type),
		Description: input.Description, Paths: input.Paths, License: license,
		Reuse: work.ParseReuse(input.ReusePolicy),
	}
	if record.Reuse == 0 {
		record.Reuse = work.ReferenceOnly
	}
	return record, source{
		from.Origin, from.ID, *i.agentNamed(from.CreatedBy), from.CreatedAt,
	}
}

// readRelation reads a relation of the project to another one.
func (i *importer) readRelation(from *Relation, field string) (work.Relation, source) {
	input := CreateRelation{
		Type: from.Type, TargetProjectID: from.TargetProjectID, Note: from.Note,
	}
	checkForm(i, field, &input)
	if from.Direction != outgoing {
		i.fault(field+".direction", "must be "+outgoing)
	}
	return work.Relation{
		Type:   work.ParseRelationType(input.Type),
		Target: parsed(id.Project, input.TargetProjectID), Note: input.Note,
	}, source{from.Origin, from.ID, *i.agentNamed(from.CreatedBy), from.CreatedAt}
}

// leaveOutHidden leaves out relations to projects that the caller cannot read.
func (i *importer) leaveOutHidden() error {
	kept := i.command.Relations[:0]
	for _, relation := range i.command.Relations {
		target, err := Intact(i.call.Service.Engine.ProjectFor(relation.Record.Target, i.call.Agent))
		if err != nil {
			return err
		}
		if target == nil {
			i.leftOut.Relations++
			continue
		}
		kept = append(kept, relation)
	}
	i.command.Relations = kept
	return nil
}
