package work

import (
	"bytes"
	"fmt"
	"slices"

	"pws/internal/fault"
)

// StateMembers is a set of members of a state. Its bits are saved.
type StateMembers uint16

// stateMemberNames are the names on the wire, in the order of the bits.
var stateMemberNames = [...]string{
	"summary", "objective", "current_focus", "completed", "in_progress", "known_problems",
	"decisions", "next_actions", "important_files", "dependencies", "open_questions", "custom",
}

// Names returns the names on the wire.
func (m StateMembers) Names() []string {
	names := []string{}
	for bit, name := range stateMemberNames {
		if m&(1<<bit) != 0 {
			names = append(names, name)
		}
	}
	return names
}

// texts returns the members that are one text, in the order of their bits from 0.
func (s *Statement) texts() [3]*string {
	return [...]*string{&s.Summary, &s.Objective, &s.CurrentFocus}
}

// lists returns the members that are lists, in the order of their bits from 3.
func (s *Statement) lists() [8]*[]string {
	return [...]*[]string{
		&s.Completed, &s.InProgress, &s.KnownProblems, &s.Decisions, &s.NextActions,
		&s.ImportantFiles, &s.Dependencies, &s.OpenQuestions,
	}
}

// filled returns the members that are not empty.
func (s *Statement) filled() (members StateMembers) {
	return s.differences(new(Statement))
}

// differences returns the members that differ from those of another statement.
func (s *Statement) differences(other *Statement) (members StateMembers) {
	bit := 0
	add := func(differs bool) {
		if differs {
			members |= 1 << bit
		}
		bit++
	}
	texts, lists := other.texts(), other.lists()
	for i, text := range s.texts() {
		add(*text != *texts[i])
	}
	for i, list := range s.lists() {
		add(!slices.Equal(*list, *lists[i]))
	}
	add(!bytes.Equal(s.Custom, other.Custom))
	return members
}

// bytes returns the size of the texts.
func (s *Statement) bytes() int {
	size := len(s.Custom)
	for _, text := range s.texts() {
		size += len(*text)
	}
	for _, list := range s.lists() {
		size += textBytes(*list)
	}
	return size
}

// Emptied returns the members that had values in the version before and have none in this one.
func (s *State) Emptied() StateMembers { return s.Changed &^ s.Statement.filled() }

// StatementPatch is a change of some members of a statement; nil members stay unchanged.
type StatementPatch struct {
	Summary        *string
	Objective      *string
	CurrentFocus   *string
	Completed      *[]string
	InProgress     *[]string
	KnownProblems  *[]string
	Decisions      *[]string
	NextActions    *[]string
	ImportantFiles *[]string
	Dependencies   *[]string
	OpenQuestions  *[]string
	// Custom returns the changed object for the current one.
	Custom func(current []byte) []byte
}

// on returns the changed statement: VALIDATION_FAILED if the custom object becomes too large.
func (c *StatementPatch) on(current *Statement, field string) (Statement, error) {
	next := *current
	for i, text := range [...]*string{c.Summary, c.Objective, c.CurrentFocus} {
		if text != nil {
			*next.texts()[i] = *text
		}
	}
	for i, list := range [...]*[]string{
		c.Completed, c.InProgress, c.KnownProblems, c.Decisions, c.NextActions, c.ImportantFiles,
		c.Dependencies, c.OpenQuestions,
	} {
		if list != nil {
			*next.lists()[i] = *list
		}
	}
	if c.Custom == nil {
		return next, nil
	}
	next.Custom = c.Custom(current.Custom)
	if len(next.Custom) > CustomBytesMax {
		return Statement{}, fault.Invalid(fault.Field{
			Field: field + "custom", Problem: fmt.Sprintf("must have at most %d bytes", CustomBytesMax),
		})
	}
	return next, nil
}
