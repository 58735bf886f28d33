// Package client is a small client of the service's HTTP interface for load drivers and the replay.
// It uses keep-alive connections without a pool, requests as bytes, and little CPU for each
// exchange, because a load generator shares its cores with the server that it measures.
package client

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
)

// callTimeout bounds one call of the API.
const callTimeout = 60 * time.Second

// idleMax is for how long a connection may have had no request and still be used. The server closes
// idle connections, and a request that crosses the end of its connection gets no answer.
const idleMax = 20 * time.Second

// name is the client_name that agents of this package register with.
const name = "pws-bench"

// API calls operations one at a time as one agent. It is not safe for concurrent use.
type API struct {
	// Host is the host:port of the server. It may be changed when the server has moved.
	Host string
	// From is the local address of the connection; the system chooses one if it is empty.
	From string
	// Until ends all calls, in addition to their own time limit; zero means never.
	Until time.Time
	// Credential is the Bearer credential of the session, empty for anonymous calls.
	Credential string
	// Lines are header lines of all calls, in addition to those of a call.
	Lines   []string
	agentID string
	keyID   string
	private ed25519.PrivateKey
	conn    *Conn
	// used is when the last exchange of the connection ended.
	used    time.Time
	scratch []byte
}

// Failure is an error response of the service.
type Failure struct {
	Status    int
	Code      string          `json:"code"`
	Message   string          `json:"message"`
	Details   json.RawMessage `json:"details"`
	Retryable bool            `json:"retryable"`
}

func (f *Failure) Error() string {
	return fmt.Sprintf("%d %s: %s %s", f.Status, f.Code, f.Message, f.Details)
}

// Outcome is the result of an exchange as a key for counting: empty for success.
func Outcome(response Response) string {
	if response.Status < 400 {
		return ""
	}
	failure := failureOf(response)
	return fmt.Sprintf("%d %s", failure.Status, failure.Code)
}

func failureOf(response Response) *Failure {
	var envelope struct {
		Error Failure `json:"error"`
	}
	// Without an envelope there is no code, and the outcome is the status alone.
	_ = json.Unmarshal(response.Body, &envelope)
	envelope.Error.Status = response.Status
	return &envelope.Error
}

// New returns an API for a base URL such as http://127.0.0.1:8080. It does not connect yet.
func New(base string) (*API, error) {
	host, err := HostOf(base)
	if err != nil {
		return nil, err
	}
	return &API{Host: host}, nil
}

// HostOf is the host:port of a plain HTTP base URL.
func HostOf(base string) (string, error) {
	host, found := strings.CutPrefix(strings.TrimSuffix(base, "/"), "http://")
	if !found || host == "" || strings.ContainsAny(host, "/?#") {
		return "", fmt.Errorf("server address %q is not of the form http://HOST:PORT", base)
	}
	if !strings.Contains(host, ":") {
		host += ":80"
	}
	return host, nil
}

// Close drops the connection.
func (a *API) Close() {
	if a.conn != nil {
		a.conn.Close()
		a.conn = nil
	}
}

// Reply is the part of a successful response other than its data.
type Reply struct {
	Status   int
	Replayed bool
}

// Call sends one request and decodes the envelope's data into the value, which may be nil. An error
// response is a *Failure. AFTER any other error it is unknown whether the request took effect.
func (a *API) Call(request Request, into any) (Reply, error) {
	response, err := a.exchange(request)
	if err != nil {
		return Reply{}, err
	}
	if response.Status >= 400 {
		return Reply{}, failureOf(response)
	}
	reply := Reply{
		Status:   response.Status,
		Replayed: response.Header("idempotency-replayed") == "true",
	}
	if into == nil {
		return reply, nil
	}
	envelope := struct {
		Data any `json:"data"`
	}{into}
	if err := json.Unmarshal(response.Body, &envelope); err != nil {
		return reply, fmt.Errorf("%s %s: %w", request.Method, request.Path, err)
	}
	return reply, nil
}

func (a *API) exchange(request Request) (Response, error) {
	if a.conn != nil && time.Since(a.used) > idleMax {
		a.Close()
	}
	if a.conn == nil {
		conn, err := DialFrom(a.From, a.Host)
		if err != nil {
			return Response{}, err
		}
		a.conn = conn
	}
	request.Host, request.Credential = a.Host, a.Credential
	request.Lines = append(request.Lines[:len(request.Lines):len(request.Lines)], a.Lines...)
	a.scratch = request.Append(a.scratch[:0])
	deadline := time.Now().Add(callTimeout)
	if !a.Until.IsZero() && a.Until.Before(deadline) {
		deadline = a.Until
	}
	if err := a.conn.Deadline(deadline); err != nil {
		a.Close()
		return Response{}, err
	}
	err := a.conn.Send(a.scratch)
	var response Response
	if err == nil {
		if request.Sent != nil {
			request.Sent()
		}
		response, err = a.conn.Receive()
	}
	a.used = time.Now()
	if err != nil || response.Close {
		a.Close()
	}
	return response, err
}

// Post sends a value as JSON under an Idempotency-Key, which may be empty.
func (a *API) Post(path, key string, body, into any) (Reply, error) {
	text, err := EncodeJSON(body)
	if err != nil {
		return Reply{}, err
	}
	return a.Call(Request{Method: "POST", Path: path, IdempotencyKey: key, Body: text}, into)
}

// Get reads a resource.
func (a *API) Get(path string, into any) error {
	_, err := a.Call(Request{Method: "GET", Path: path}, into)
	return err
}

// RandomKey returns a unique Idempotency-Key.
func RandomKey() string {
	var entropy [16]byte
	// rand.Read never returns an error; it crashes the process if there is no entropy.
	_, _ = rand.Read(entropy[:])
	return hex.EncodeToString(entropy[:])
}

type challenge struct {
	ChallengeID    string `json:"challenge_id"`
	Challenge      string `json:"challenge"`
	SigningPayload string `json:"signing_payload"`
}

type proof struct {
	ChallengeID   string `json:"challenge_id"`
	Challenge     string `json:"challenge"`
	Signature     string `json:"signature"`
	Handle        string `json:"handle,omitempty"`
	ClientName    string `json:"client_name"`
	ClientVersion string `json:"client_version"`
}

type session struct {
	Session struct {
		Credential string `json:"credential"`
	} `json:"session"`
	Agent struct {
		ID string `json:"id"`
	} `json:"agent"`
	Key struct {
		ID string `json:"id"`
	} `json:"key"`
}

// Register creates a new agent with a new key and opens its first session.
func (a *API) Register(handle string) error {
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		return err
	}
	a.private, a.Credential = private, ""
	var asked challenge
	if _, err := a.Post("/api/v1/agents/register/start", "", map[string]string{
		"public_key": base64.RawURLEncoding.EncodeToString(public), "algorithm": "Ed25519",
	}, &asked); err != nil {
		return fmt.Errorf("begin the registration: %w", err)
	}
	var begun session
	answer := a.sign(asked)
	answer.Handle = handle
	if _, err := a.Post("/api/v1/agents/register/complete", "", answer, &begun); err != nil {
		return fmt.Errorf("complete the registration: %w", err)
	}
	a.agentID, a.keyID = begun.Agent.ID, begun.Key.ID
	return a.begin(begun)
}

// Renew opens another session of the registered agent, because the previous one has expired.
func (a *API) Renew() error {
	a.Credential = ""
	var asked challenge
	if _, err := a.Post("/api/v1/auth/challenge", "", map[string]string{
		"agent_id": a.agentID, "key_id": a.keyID,
	}, &asked); err != nil {
		return fmt.Errorf("ask for a challenge: %w", err)
	}
	var begun session
	if _, err := a.Post("/api/v1/auth/session", "", a.sign(asked), &begun); err != nil {
		return fmt.Errorf("begin a session: %w", err)
	}
	return a.begin(begun)
}

func (a *API) begin(begun session) error {
	if begun.Session.Credential == "" {
		return errors.New("the service returned no credential")
	}
	a.Credential = begun.Session.Credential
	return nil
}

func (a *API) sign(asked challenge) proof {
	signature := ed25519.Sign(a.private, []byte(asked.SigningPayload))
	return proof{
		ChallengeID: asked.ChallengeID, Challenge: asked.Challenge,
		Signature:  base64.RawURLEncoding.EncodeToString(signature),
		ClientName: name, ClientVersion: "1",
	}
}

// Project is the part of a project that callers need.
type Project struct {
	ID   string `json:"id"`
	Head string `json:"head_changeset_id"`
}

// CreateProject creates an unlisted project.
func (a *API) CreateProject(name string) (Project, error) {
	return a.CreateProjectWithKey(name, RandomKey())
}

// CreateProjectWithKey is CreateProject with the caller's Idempotency-Key.
func (a *API) CreateProjectWithKey(name, key string) (Project, error) {
	return a.createProject(name, "UNLISTED", key)
}

// CreatePublicProject creates a PUBLIC project.
func (a *API) CreatePublicProject(name string) (Project, error) {
	return a.createProject(name, "PUBLIC", RandomKey())
}

func (a *API) createProject(name, visibility, key string) (Project, error) {
	var data struct {
		Project Project `json:"project"`
	}
	_, err := a.Post("/api/v1/projects", key, map[string]string{
		"name": name, "visibility": visibility, "reuse_policy": "REFERENCE_ONLY",
	}, &data)
	if err == nil && (data.Project.ID == "" || data.Project.Head == "") {
		err = fmt.Errorf("create project: id %q, head %q", data.Project.ID, data.Project.Head)
	}
	return data.Project, err
}
