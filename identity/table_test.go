package identity

import (
	"crypto/ed25519"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pws/internal/fault"
	"pws/internal/id"
)

var update = flag.Bool("update", false, "rewrite the outcomes in testdata")

// table runs the lines of one file against one server. A line is a command with name=value
// arguments, "=>", and its outcome: ok with facts, or an error code with its details. What a
// command makes can be named by as=NAME; outcomes show names instead of IDs.
type table struct {
	t          testing.TB
	v          *server
	challenges map[string]*Challenge
	sessions   map[string]*Session
	hashes     map[string][32]byte
	credential map[string]string
	keys       map[string]*Key
	agents     map[string]id.ID
	reports    map[string]id.ID
	names      *strings.Replacer
	// invites replaces the names of invites by their codes.
	invites *strings.Replacer
	// codes are those of the web page.
	codes map[string]string
	pairs []string
	args  map[string]string
}

func newTable(t testing.TB) *table {
	return &table{
		t: t, v: newServer(), challenges: map[string]*Challenge{},
		sessions: map[string]*Session{}, hashes: map[string][32]byte{},
		credential: map[string]string{}, keys: map[string]*Key{}, agents: map[string]id.ID{},
		reports: map[string]id.ID{}, codes: map[string]string{},
		names: strings.NewReplacer(), invites: strings.NewReplacer(),
	}
}

// parse splits a line; quoted values are Go strings.
func (b *table) parse(line string) (command string) {
	words := strings.Fields(line)
	b.args = map[string]string{}
	for _, word := range words[1:] {
		name, value, ok := strings.Cut(word, "=")
		if !ok {
			b.t.Fatalf("%q: no value in %q", line, word)
		}
		if strings.HasPrefix(value, `"`) {
			unquoted, err := strconv.Unquote(value)
			if err != nil {
				b.t.Fatalf("%q: %v", line, err)
			}
			value = unquoted
		}
		b.args[name] = value
	}
	return words[0]
}

// arg is an argument, or its default.
func (b *table) arg(name, otherwise string) string {
	if value, ok := b.args[name]; ok {
		return value
	}
	return otherwise
}

func (b *table) private(name string) ed25519.PrivateKey { return testKey(b.arg(name, "")) }

// publicKey is the literal argument raw, else the public key of the named seed.
func (b *table) publicKey() string { return b.arg("raw", publicText(b.private("key"))) }

func (b *table) caller() Caller {
	session, ok := b.sessions[b.args["session"]]
	if !ok {
		b.t.Fatalf("no session named %q", b.args["session"])
	}
	return callerOf(session)
}

func (b *table) proof() Proof {
	challenge, ok := b.challenges[b.args["challenge"]]
	if !ok {
		challenge = &Challenge{ID: id.New(1, [10]byte{}), Purpose: PurposeRegister}
	}
	if audience, other := b.args["signed-audience"]; other {
		changed := *challenge
		changed.Audience = audience
		challenge = &changed
	}
	proof := prove(challenge, b.private("key"))
	proof.Challenge = b.arg("text", proof.Challenge)
	proof.Signature = b.arg("signature", proof.Signature)
	proof.ChallengeID = b.arg("id", proof.ChallengeID)
	if b.arg("ahead", "") == "yes" {
		proof.CheckAhead(b.v.state)
	}
	return proof
}

func (b *table) client() (name, version string) {
	return b.arg("client", "client"), b.arg("version", "1.0")
}

// name lets outcomes show a name for an ID.
func (b *table) name(text, name string) {
	b.pairs = append(b.pairs, text, name)
	b.names = strings.NewReplacer(b.pairs...)
}

func (b *table) nameSession(name string, session *Session, credential string) {
	b.sessions[name] = session
	b.credential[name] = credential
	b.hashes[name] = CredentialHash(credential)
}

func (b *table) run(command string) (string, error) {
	switch command {
	case "reset":
		*b = *newTable(b.t)
		return "ok", nil
	case "advance":
		millis, err := strconv.ParseInt(b.args["ms"], 10, 64)
		b.v.now += millis
		return "ok", err
	case "older-members":
		b.v.olderMembers = b.args["value"] == "yes"
		return "ok", nil
	case "fill-challenges":
		return b.fillChallenges()
	case "fill-reports":
		return b.fillReports()
	case "web-agent":
		code := b.codes[b.args["code"]] + b.args["spoilt"]
		agent, err := b.v.state.WebCodeAgent(code, testSecret, b.v.now)
		if err != nil {
			return "", err
		}
		return "ok handle=" + agent.Handle, nil
	case "auth":
		_, err := b.v.state.Authenticate(b.hashes[b.args["session"]], b.v.now)
		return "ok", err
	case "idem-store":
		agent := b.agents[b.args["agent"]]
		b.v.apply(b.v.now, NewResultStored(agent, idemBytes(b.args["key"]),
			idemBytes(b.args["print"]), b.v.now, 201, []byte(b.args["body"])))
		return "ok", nil
	case "idem-replay":
		return b.replayIdem()
	case "profile":
		return b.profile(), nil
	case "marks":
		return b.marks(), nil
	case "limits":
		return b.limits(), nil
	case "actions":
		return b.actions(), nil
	}
	result, err := b.v.do(b.command(command))
	if err != nil {
		return "", err
	}
	return b.answer(result), nil
}

func (b *table) command(command string) Command {
	clientName, clientVersion := b.client()
	switch command {
	case "register-start":
		return &StartRegistration{
			b.publicKey(), b.arg("algorithm", Algorithm), b.invites.Replace(b.args["invite"]),
			b.args["audience"],
		}
	case "register-complete":
		return &CompleteRegistration{
			b.proof(), b.args["handle"], clientName, clientVersion,
			b.invites.Replace(b.args["invite"]), testSecret,
		}
	case "challenge":
		agent := b.agents[b.args["agent"]].Format(id.Agent)
		key := id.ID{}.Format(id.Key)
		if known, ok := b.keys[b.args["key"]]; ok {
			key = known.ID.Format(id.Key)
		}
		return &RequestChallenge{
			b.arg("agent-id", agent), b.arg("key-id", key), b.args["audience"],
		}
	case "session":
		return &StartSession{b.proof(), clientName, clientVersion, testSecret}
	case "web-code":
		return &RequestWebCode{b.caller(), testSecret}
	case "web-session":
		return &OpenWebSession{b.arg("raw", b.codes[b.args["code"]]+b.args["spoilt"]), testSecret}
	case "session-end":
		return &EndSession{b.caller()}
	case "session-see":
		return &SeeSession{b.caller()}
	case "key-start":
		return &StartKey{
			b.caller(), b.publicKey(), b.arg("algorithm", Algorithm), b.args["audience"],
		}
	case "key-complete":
		return &CompleteKey{b.proof(), b.caller()}
	case "key-revoke":
		key := b.args["id"]
		if known, ok := b.keys[key]; ok {
			key = known.ID.Format(id.Key)
		}
		return &RevokeKey{b.caller(), key}
	case "declare":
		return b.declaration()
	case "report":
		return b.report()
	case "report-handle":
		return &HandleReport{b.reports[b.args["report"]], b.args["why"]}
	case "suspend", "restore", "registration", "invite", "note", "purge", "erased", "quota", "drop",
		"dropped":
		return b.operatorCommand(command)
	case "prune":
		return &Prune{}
	case "mark", "mark-all":
		return b.marking(command)
	case "choose":
		return &NoteChoice{
			b.caller(), idemBytes(b.args["key"]), idemBytes(b.args["print"]),
			id.ID(idemBytes(b.args["choice"])),
		}
	}
	b.t.Fatalf("no command %q", command)
	return nil
}

// answer writes the facts of a result and keeps what it made under the name that the line gives.
func (b *table) answer(result Result) string {
	name := b.arg("as", "")
	switch r := result.(type) {
	case *ChallengeGranted:
		b.challenges[name] = r.Challenge
		said := "ok purpose=" + r.Challenge.Purpose.String()
		if r.Challenge.Audience != "" {
			said += " audience=" + r.Challenge.Audience
		}
		return said
	case *Registration:
		if name != "" && !r.Replayed {
			b.nameSession(name, r.Session, r.Credential)
			b.agents[name], b.keys[name] = r.Agent.ID, r.Key
			b.name(r.Agent.ID.Format(id.Agent), "agent:"+name)
			b.name(r.Key.ID.Format(id.Key), "key:"+name)
		}
		same := r.Credential == b.credential[b.arg("same", name)]
		return fmt.Sprintf("ok handle=%s replayed=%t same=%t", r.Agent.Handle, r.Replayed, same)
	case *SessionGranted:
		b.nameSession(name, r.Session, r.Credential)
		return "ok"
	case *WebCodeGranted:
		b.codes[name] = r.Code
		return fmt.Sprintf("ok seconds=%d", (r.ExpiresAt-b.v.now)/1000)
	case *SessionEnded:
		return "ok"
	case *KeyAddition:
		if name != "" {
			b.keys[name] = r.Key
			b.name(r.Key.ID.Format(id.Key), "key:"+name)
		}
		return fmt.Sprintf("ok status=%s replayed=%t", r.Key.Status(), r.Replayed)
	case *InboxMarking:
		return fmt.Sprintf("ok changed=%d", r.Changed)
	case *ReportMade:
		return b.reportAnswer(name, r.Report)
	case *ActionDone:
		if r.Code != "" {
			b.invites = strings.NewReplacer(name, r.Code)
		}
		return fmt.Sprintf("ok changed=%t", r.Changed)
	case *KeyRevocation:
		return fmt.Sprintf("ok status=%s revoked_sessions=%d", r.Key.Status(), r.RevokedSessions)
	}
	return "ok"
}

func (b *table) fillChallenges() (string, error) {
	next := b.v.state.Clone()
	for next.challenges.rooms[1].len() < ChallengesMax {
		st := b.v.stamp()
		next.Apply(&ChallengeIssued{
			Challenge: st.newID("challenge id"), Purpose: PurposeRegister,
			PublicKey: st.derive("public key"), ExpiresAt: st.Now + ChallengeMillis,
		}, st.Now)
	}
	b.v.state = next
	return "ok", nil
}

func (b *table) replayIdem() (string, error) {
	agent, key := b.agents[b.args["agent"]], idemBytes(b.args["key"])
	record, ok := b.v.state.StoredResult(agent, key, b.v.now)
	if !ok {
		return "none", nil
	}
	if err := record.Check(idemBytes(b.args["print"])); err != nil {
		return "", err
	}
	if choice, ok := record.Choice(); ok {
		return "ok choice=" + strings.TrimRight(string(choice[:]), "\x00"), nil
	}
	return fmt.Sprintf("ok status=%d body=%s", record.Status, record.Body), nil
}

func idemBytes(text string) (out [16]byte) {
	copy(out[:], text)
	return out
}

// outcome is the text of an error, with names for IDs and details in the order of their keys.
func (b *table) outcome(got string, err error) string {
	if err == nil {
		return got
	}
	var refusal *fault.Error
	if !errors.As(err, &refusal) {
		b.t.Fatalf("not a fault: %v", err)
	}
	out := string(refusal.Code)
	known := fault.Lookup(refusal.Code).Details
	for _, key := range slices.Sorted(mapKeys(refusal.Details)) {
		if !slices.Contains(known, key) {
			b.t.Errorf("%s: the catalog has no detail %q", refusal.Code, key)
		}
		value := refusal.Details[key]
		if fields, ok := value.([]fault.Field); ok {
			names := make([]string, len(fields))
			for i, field := range fields {
				names[i] = field.Field
			}
			value = strings.Join(names, ",")
		}
		out += fmt.Sprintf(" %s=%v", key, value)
	}
	out = strconv.Quote(out)
	return b.names.Replace(out[1 : len(out)-1])
}

func mapKeys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for key := range m {
			if !yield(key) {
				return
			}
		}
	}
}

func TestTables(t *testing.T) {
	files, err := filepath.Glob("testdata/*.table")
	if err != nil || len(files) == 0 {
		t.Fatalf("no tables: %v", err)
	}
	seen := map[string]bool{}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) { runTable(t, file, seen) })
	}
	for _, code := range codesInSource(t) {
		if !seen[string(code)] {
			t.Errorf("no line of any table ends in %s", code)
		}
	}
}

func runTable(t *testing.T, file string, seen map[string]bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b := newTable(t)
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		text, want, _ := strings.Cut(line, "=>")
		text, want = strings.TrimSpace(text), strings.TrimSpace(want)
		got := b.outcome(b.run(b.parse(text)))
		seen[strings.Fields(got)[0]] = true
		if got != want {
			if !*update {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", file, i+1, text, got, want)
			}
			lines[i] = text + " => " + got
		}
	}
	if err := checkIndexes(b.v.state); err != nil {
		t.Error(err)
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// codesInSource are the error codes that the package's own files name.
func codesInSource(t *testing.T) []fault.Code {
	byName := map[string]fault.Code{}
	for _, entry := range fault.Catalog {
		name := ""
		for _, word := range strings.Split(string(entry.Code), "_") {
			name += word[:1] + strings.ToLower(word[1:])
		}
		byName[name] = entry.Code
	}
	var codes []fault.Code
	for _, file := range sources(t) {
		ast.Inspect(file, func(node ast.Node) bool {
			selector, ok := node.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if pkg, ok := selector.X.(*ast.Ident); ok && pkg.Name == "fault" {
				if code, ok := byName[selector.Sel.Name]; ok {
					codes = append(codes, code)
				}
			}
			return true
		})
	}
	// fault.Invalid makes this one.
	codes = append(codes, fault.ValidationFailed)
	slices.Sort(codes)
	return slices.Compact(codes)
}

// sources are the package's own files without its tests.
func sources(t *testing.T) []*ast.File {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// The rules get time, entropy and secrets as arguments, and share nothing: an import that is not
// in this list needs a reason, and those that would break the replay can have none.
func TestImportsAndGoroutines(t *testing.T) {
	allowed := []string{
		"bytes", "cmp", "crypto/ed25519", "crypto/hmac", "crypto/sha256", "encoding/base64",
		"encoding/binary", "errors", "fmt", "iter", "math", "math/big", "math/bits", "slices", "strconv",
		"strings", "unicode", "unicode/utf8", "github.com/fxamacker/cbor/v2",
		"pws/internal/fault", "pws/internal/id", "pws/internal/logformat", "pws/internal/sorted",
	}
	for _, file := range sources(t) {
		for _, spec := range file.Imports {
			path, err := strconv.Unquote(spec.Path.Value)
			if err != nil || !slices.Contains(allowed, path) {
				t.Errorf("import of %s: %v", path, err)
			}
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if _, ok := node.(*ast.GoStmt); ok {
				t.Error("a goroutine among the rules")
			}
			return true
		})
	}
}
