// Package logformat has the formats of what a group of servers agrees on. Each contains those
// before it. Package replica explains how a group raises its format, and datadir.Newer which events
// need one.
package logformat

const (
	// First has reigns and batches. A group has it that has not agreed on another one.
	First = 1
	// Agreed has commands that raise the format, and descriptors that name it.
	Agreed = 2
	// Kept has kept files of the feed. They are no part of what the group agrees on, but a member
	// with them cannot go back to a program that does not know them.
	Kept = 3
	// StaysPrivate has hidden projects that stay PRIVATE when they are shown again.
	StaysPrivate = 4
	// NamesAudience has challenges that name the service which they are for.
	NamesAudience = 5
	// Newest is the newest one that this program understands.
	Newest = NamesAudience
)
