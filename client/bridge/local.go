package bridge

import (
	"bytes"
	"slices"
	"strings"
)

// isLocal reports whether a request is answered without the server: what hosts ask at the start,
// and pings.
func isLocal(m *message) bool {
	switch m.method {
	case methodDiscover, "initialize", "tools/list", "ping":
		return true
	}
	return false
}

// answerLocally answers a request as the endpoint would.
func (s *session) answerLocally(m *message) []byte {
	caller := s.cfg.Service.Caller()
	offline, err := s.offline(caller.Server)
	if err != nil {
		return errorAnswer(m.id, codeInternal, err.Error())
	}
	answer := m.response(offline.Answer(s.cfg.Query, m.headers(), m.line))
	if answer == nil {
		return errorAnswer(m.id, codeInvalid, "The message is not one that "+m.method+" has.")
	}
	answer = s.asServer(m, caller.Server, answer)
	if s.cfg.ReadOnly && m.method == "tools/list" {
		return onlyReads(answer)
	}
	return withInstruction(answer, s.instruction(caller))
}

// offline are the answers of a server. They are made again when another server is used.
func (b *Bridge) offline(server string) (Offline, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.mu.offline != nil && b.mu.server == server {
		return b.mu.offline, nil
	}
	made, err := b.cfg.Offline(server)
	if err != nil {
		return nil, err
	}
	b.mu.offline, b.mu.server = made, server
	return made, nil
}

// instruction is the line that the instructions have in addition.
func (b *Bridge) instruction(caller Caller) string {
	var line strings.Builder
	switch {
	case !caller.SignedIn:
		line.WriteString("Here you are not signed in: reads work; for the rest somebody has to run " +
			signInCommand(caller.Server) + ".")
	case caller.Handle == "":
		line.WriteString("Here you are signed in: you need no header and no key.")
	default:
		line.WriteString("Here you are signed in as @" + caller.Handle +
			": you need no header and no key.")
	}
	if b.cfg.ReadOnly {
		line.WriteString(" Here are only the tools that read.")
	}
	if b.cfg.Project != "" {
		line.WriteString(" This directory belongs to the project " + b.cfg.Project + ".")
	}
	return line.String()
}

// signInCommand is what to type to sign in.
func signInCommand(server string) string { return "pws login " + server }

// sessionMark is in the paragraph of the instructions that says how to get a session. The program
// of the bridge does that, whose hosts send no headers.
const sessionMark = "Ed25519"

// withInstruction returns an answer whose instructions have a line more, and none about sessions.
// Answers without instructions stay as they are.
func withInstruction(answer []byte, line string) []byte {
	d := valueAt(answer, "result", "instructions")
	if d == nil || d.PeekKind() != '"' {
		return answer
	}
	value, err := d.ReadValue()
	if err != nil {
		return answer
	}
	begin := d.InputOffset() - int64(len(value))
	text, _ := textOf(value)
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(one string) bool {
		return strings.Contains(one, sessionMark)
	})
	said := quoted(strings.Join(append(lines, line), "\n"))
	return bytes.Join([][]byte{answer[:begin], said, answer[d.InputOffset():]}, nil)
}
