// Package identity implements the rules of agents, keys, challenges and sessions.
//
// A Command is decided against an immutable State and returns events; Apply applies an event to a
// clone of the State. There is no I/O, no clock and no randomness: time and entropy come in a
// Stamp, the server's secret in the commands that need it. Apply cannot fail: Decide returns only
// events that fit the State, and any other event is a broken invariant and panics.
//
// One owner clones, decides and applies. A State that the owner has published is never changed
// again; any number of goroutines can read it without locks.
//
// # The life of a challenge
//
//	StartRegistration ─┐                       ┌─ CompleteRegistration → agent, key, session
//	RequestChallenge  ─┼─▶ ChallengeIssued ─▶ ─┼─ StartSession         → session
//	StartKey          ─┘    300 s, 5 failures  └─ CompleteKey          → key
//
// A completed challenge is kept until it expires, so that a repeated request can be distinguished
// from a replay by somebody else. Decide can return an error and events at once: a failed signature
// is an error for the caller and a ChallengeFailed event in the log. The owner stores and applies
// the events of an Outcome whether or not an error comes with it.
//
// # Credentials
//
// A credential is derived from the server's secret, the session's ID and the signature that started
// the session. The State holds only its SHA-256. A repeated request derives the credential again.
//
// # Reports
//
// Reports of abuse belong to the service and not to a project, so they are part of this State. Each
// has its own section. A report holds the agent that made it, if there is one, and no addresses.
// Unhandled reports are limited for each agent and for all anonymous callers together; none is
// dropped.
//
// # Operators
//
// Operators suspend agents and set who may register. Each action is stored with its reason, the
// newest thousand of them. They set quotas of single agents and projects; package actors counts
// what is stored. The section of operators is there once an operator has acted.
//
// # Inbox marks
//
// The status that an agent gives to an inbox item is a mark on the place of the item in the log,
// stored in the agent's record. One step covers all items up to a place; marks of single items are
// stored separately.
//
// # Stored events
//
// An event is a kind, a uint16 that is never reused for another event, and a CBOR map with integer
// keys in core deterministic order (RFC 8949, 4.2.1). IDs, keys and digests are byte strings, times
// are Unix milliseconds. A missing key means the zero value.
//
//	 1 AgentRegistered     1 agent 2 handle 3 client_name 4 client_version
//	 2 KeyAdded            1 agent 2 key 3 public_key
//	 3 KeyRevoked          1 agent 2 key
//	 4 ChallengeIssued     1 challenge 2 purpose 3 nonce 4 public_key 5 agent 6 key 7 expires_at
//	 5 ChallengeFailed     1 challenge
//	 6 ChallengeCompleted  1 challenge 2 digest 3 agent 4 key 5 session 6 session_expires_at
//	 7 SessionStarted      1 agent 2 key 3 session 4 credential_hash 5 client_name
//	                       6 client_version 7 expires_at 8 idle_millis
//	 8 SessionRevoked      1 agent 2 session
//	 9 SessionSeen         1 agent 2 session
//	10 AgentPruned         1 agent
//	11 ResultStored        1 agent 2 key 3 fingerprint 4 expires_at 5 status 6 body
//	12 ChallengesSwept
//	13 ProfileDeclared     1 agent 2 [language] 3 [domain] 4 [task_type] 5 [capability]
//	                       6 [available_for]
//	14 InboxMarked         1 agent 2 status 3 [place] 4 through 5 [spared] 6 [gone]
//	   place               1 entry 2 number in the entry
//	15 ReportAccepted      1 report 2 agent 3 type 4 entity 5 path 6 reason 7 details
//	16 ReportSettled       1 report
//	17 ReportForgotten     1 report
//	18 AgentSuspended      1 agent 2 reason
//	19 AgentRestored       1 agent
//	20 RegistrationSet     1 mode
//	21 InviteIssued        1 hash 2 expires_at
//	22 InviteUsed          1 hash
//	23 ActionNoted         1 action 2 subject 3 reason
//	24 ChallengeDropped    1 challenge
//	25 ContentPurged       1 hash
//	26 ErasureBegun
//	27 ContentErased       1 hash
//	28 QuotaSet            1 quota 2 subject 3 bytes 4 default
//	29 ProjectDropBegun    1 project 2 reason
//	30 ProjectDropEnded    1 project
//
// # Snapshot sections
//
// There is one section for each agent and report, one for all challenges, and one for operators, in
// the same CBOR.
// Restoring rejects any bytes other than those that encoding writes.
//
//	agent       1 version=1 2 id 3 handle 4 client_name 5 client_version 6 created_at
//	            7 last_seen_at 8 [key] 9 [session] 10 [result] 11 profile 12 marks
//	            13 suspended_at 14 suspended_for
//	  key       1 id 2 public_key 3 created_at 4 revoked_at 5 last_used_at
//	  session   1 id 2 key 3 credential_hash 4 client_name 5 client_version 6 created_at
//	            7 expires_at 8 last_seen_at 9 idle_millis
//	  result    1 key 2 fingerprint 3 expires_at 4 status 5 body
//	  profile   1 [language] 2 [domain] 3 [task_type] 4 [capability] 5 [available_for]
//	            6 declared_at
//	  marks     1 [step] 2 [single], each 1 place 2 status 3 read_at
//	challenges  1 version=1 2 [challenge]
//	  challenge 1 id 2 purpose 3 nonce 4 public_key 5 agent 6 key 7 expires_at 8 failures
//	            9 completion {1 digest 2 agent 3 key 4 session 5 at 6 session_expires_at}
//	report      1 version=1 2 id 3 reporter 4 type 5 entity 6 path 7 reason 8 details
//	            9 created_at 10 handled_at
//	operator    1 version=1 2 mode 3 [invite] 4 [done] 5 [purged] 6 [limit]
//	            7 [drop]
//	  invite    1 hash 2 expires_at
//	  done      1 action 2 subject 3 reason 4 at
//	  purged    1 hash 2 erased_at
//	  limit     1 quota 2 subject 3 bytes
//	  drop      1 project 2 reason
package identity
