package api

import (
	"crypto/hmac"
	"crypto/sha256"
	"sync"

	"github.com/go-json-experiment/json"

	"pws/api/cursor"
	"pws/identity"
	"pws/internal/memo"
	"pws/work"
)

// Service binds the operations to an engine and a deployment.
type Service struct {
	Engine Engine
	Config Config
	// Documents is set before the operations of documents are called; see package docs.
	Documents Documents
	cursors   *cursor.Codec
	// choosing holds the keys of running requests that have not chosen a project yet.
	choosing sync.Map
	underWay claimsUnderWay
	claims   claimLocks
	reports  *reportShares
	// These remember results that take long and depend on immutable contents alone. See edition.
	merges       *mergeMemo
	diffs        *memo.Memo[diffSides, fileDiffs]
	filePages    *memo.Memo[filePage, filesMade]
	historyPages *memo.Memo[historyPage, []byte]
}

// NewService returns a service over an engine.
func NewService(engine Engine, config Config) *Service {
	mac := hmac.New(sha256.New, engine.Secret())
	mac.Write([]byte("cursors"))
	return &Service{
		Engine: engine, Config: config, cursors: cursor.New(mac.Sum(nil)),
		reports:      newReportShares(),
		merges:       newMergeMemo(),
		diffs:        memo.New[diffSides, fileDiffs](diffsBytesMax),
		filePages:    memo.New[filePage, filesMade](filePagesMax),
		historyPages: memo.New[historyPage, []byte](historyPagesMax),
	}
}

// edition is the number of purged contents. Results of an earlier one may show a content that was
// purged since.
func (s *Service) edition() uint64 { return uint64(len(s.Engine.Identity().PurgedContents())) }

// knownMerges are the remembered merges.
func (s *Service) knownMerges() work.KnownMerges { return mergeEdition{s.merges, s.edition()} }

// Config holds the settings of the deployment that operations need.
type Config struct {
	Version string
	// PublicURL is the base of absolute links, without a trailing slash; empty if the deployment
	// has none. See PublicURLProblem.
	PublicURL string
	// Address is the base for callers that name no host, if there is no PublicURL.
	Address string
	// Started is the start of the process in Unix milliseconds.
	Started int64
	// WebPage says that the service has a web page. WebURL is the base of its links if it has an
	// address of its own, without a trailing slash; else it is empty.
	WebPage bool
	WebURL  string
	// NoEarlierMCP rejects MCP clients with a version before MCPVersion.
	NoEarlierMCP bool
	// Limits are the active rate limits, for the capability model; empty if they are off.
	Limits []RateLimit
	// Stored are the limits of stored bytes, for the capability model.
	Stored StoredLimits
	// UploadRecordBytes is the size of the records of an uploaded bundle, beside its contents; zero
	// means recordBytesMax.
	UploadRecordBytes int
}

// The units of rate limits.
const (
	UnitRequests  = "REQUESTS"
	UnitProcessor = "PROCESSOR_SECONDS"
)

// RateLimit is one bucket definition: Quota requests of Category per Scope in Window seconds.
type RateLimit struct {
	// Its name in RateLimit-Policy.
	Name string `json:"name"`
	// What requests are counted by.
	Scope string `json:"scope" check:"enum=IP|AGENT|SESSION|ENDPOINT_CATEGORY"`
	// Category of operations that are counted.
	Category Category `json:"category"`
	// What is counted. Processor time is that of expensive operations, charged after each of them.
	Unit string `json:"unit" check:"enum=REQUESTS|PROCESSOR_SECONDS"`
	// Requests, or seconds of processor time, in a window.
	Quota int `json:"limit"`
	// Length of a window.
	WindowSeconds int `json:"window_seconds"`
}

// Authenticate finds the live session of a credential without a lock or a mailbox. Errors:
// SESSION_INVALID, SESSION_EXPIRED.
func (s *Service) Authenticate(credential string, now int64) (*identity.Session, error) {
	return s.authenticate(credential, now, false)
}

func (s *Service) authenticate(
	credential string, now int64, web bool,
) (*identity.Session, error) {
	session, err := s.Engine.Identity().Authenticate(identity.CredentialHash(credential), now)
	if err != nil {
		return nil, err
	}
	if session.Web() != web {
		return nil, identity.ErrSessionInvalid()
	}
	if session.SeenDue(now) {
		s.Engine.SeeSession(session)
	}
	return session, nil
}

// appendData writes the data of a reply, with its own method if it has one.
func appendData(dst []byte, data any) []byte {
	if own, ok := data.(Appender); ok {
		return own.AppendJSON(dst)
	}
	text, err := json.Marshal(data, json.Deterministic(true))
	if err != nil {
		panic(err)
	}
	return append(dst, text...)
}

// AppendData appends the data of the reply to dst.
func (r *Reply) AppendData(dst []byte) []byte { return appendData(dst, r.Data) }
