package datadir

import (
	"encoding/binary"

	"pws/internal/id"
	"pws/work"
)

// The keys of snapshot sections; those of two kinds of chunks begin like the keys of projects and
// of cards, but are longer (IsChunk):
//
//	"p" project                 the project without its chunks
//	"c" project, number         a full chunk of its history; it never changes
//	"r" project, number         a full chunk of its stored results; removed when all have expired
//	"o" project, number         a full chunk of its handoffs; it never changes
//	"t" project, number         a chunk of its tasks; rewritten when one of them changes
//	"y" project, number         a chunk of its verification records, rewritten likewise
//	"l" project, number         a chunk of its relations, rewritten likewise
//	"w" project, number         a chunk of its workspaces, rewritten likewise
//	"b" project, number         a chunk of its contributions, rewritten likewise
//	"g" project, number         a chunk of their revisions, rewritten likewise
//	"f" project, number         a chunk of its artifacts, rewritten likewise
//	"i" project, number         a chunk of its imports, rewritten likewise
//	"n" project, number         a chunk of its discussions, rewritten likewise
//	"k" project, number         a chunk of the comments on them, rewritten likewise
//	"z" project, number         its watchers, rewritten likewise; read at start
//	"m" project, number         the bundle that it was created from; it never changes
//	"s" project, number         the earlier versions of its state, rewritten likewise
//	"p" project, number         a chunk of contents that it named once, rewritten likewise
//	"s" project                 its card: the data of the indexes, see index.Projections
//	"s"                         the indexes in all cards; see CardsMark
//	"a" agent                   an agent with its keys, sessions and stored results
//	"u" report                  a report of abuse
//	"j" agent                   its inbox, see encodeInbox in package actors
//	"B" agent                   the bytes it has stored, see accountVersion in package actors
//	"h"                         the challenges; its position is that of the whole identity state
//	"@"                         what operators have set, and what they did
//	"T"                         the time of the service, Unix milliseconds, 8 bytes, big-endian
//	"d", "e", "q", "v", "x"     see ObsoletePrefixes
const (
	ProjectPrefix = "p"
	CardPrefix    = "s"
	AgentPrefix   = "a"
	ReportPrefix  = "u"
	InboxPrefix   = "j"
	AccountPrefix = "B"

	ChallengesKey = "h"
	OperatorKey   = "@"
	TimeKey       = "T"
	// CardsMark is the key of a section that names the indexes whose parts are in the cards of ALL
	// projects: 2 bytes, the set, big-endian.
	CardsMark = CardPrefix
)

// ObsoletePrefixes are the prefixes of sections that earlier versions wrote. They are not read, and
// the next snapshot deletes them.
var ObsoletePrefixes = [...]string{"d", "e", "q", "v", "x"}

// ProjectKey is the key of a project without its chunks.
func ProjectKey(project id.ID) string { return ProjectPrefix + string(project[:]) }

// ChunkKey is the key of a chunk of a project.
func ChunkKey(project id.ID, name work.Chunk) string {
	key := []byte(ChunkPrefix(project, name.Kind))
	return string(binary.BigEndian.AppendUint32(key, uint32(name.Number)))
}

// KeyBytes is the length of keys that consist of a prefix and an ID.
const KeyBytes = len(ProjectPrefix) + len(id.ID{})

// IsChunk reports whether a key is that of a chunk, and not of a project or a card.
func IsChunk(key string) bool { return len(key) > KeyBytes }

// ChunkPrefix begins the keys of all chunks of a kind of a project.
func ChunkPrefix(project id.ID, kind work.ChunkKind) string {
	return string(append([]byte{byte(kind)}, project[:]...))
}

// OwnerOf returns the project, agent or report in a key, zero for a key without one.
func OwnerOf(key string) (owner id.ID) {
	if len(key) > len(owner) {
		copy(owner[:], key[1:])
	}
	return owner
}

// CardKey is the key of the card of a project.
func CardKey(project id.ID) string { return CardPrefix + string(project[:]) }

// AgentKey is the key of an agent.
func AgentKey(agent id.ID) string { return AgentPrefix + string(agent[:]) }

// ReportKey is the key of a report.
func ReportKey(report id.ID) string { return ReportPrefix + string(report[:]) }

// InboxKey is the key of the inbox of an agent.
func InboxKey(agent id.ID) string { return InboxPrefix + string(agent[:]) }

// AccountKey is the key of the stored bytes of an agent.
func AccountKey(agent id.ID) string { return AccountPrefix + string(agent[:]) }

// IDOf returns the ID in a key that consists of a prefix and an ID.
func IDOf(key string) id.ID { return id.ID([]byte(key[1:])) }
