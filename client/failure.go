package client

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Codes of failures that the client acts on.
const (
	codeSessionInvalid = "SESSION_INVALID"
	codeSessionExpired = "SESSION_EXPIRED"
	codeAgentNotFound  = "AGENT_NOT_FOUND"
	codeKeyNotFound    = "KEY_NOT_FOUND"
	codeKeyRegistered  = "KEY_ALREADY_REGISTERED"
	codeStillRunning   = "IDEMPOTENCY_IN_PROGRESS"
	codeShuttingDown   = "SHUTTING_DOWN"
	codeUnavailable    = "STORAGE_UNAVAILABLE"

	codeChallengeConsumed = "CHALLENGE_CONSUMED"
	codeChallengeExpired  = "CHALLENGE_EXPIRED"
	// CodeNoAnswer is the client's own: the answer is not one of the service.
	CodeNoAnswer = "NO_ANSWER_OF_THE_SERVICE"
)

// Reasons of codeUnavailable, in the details.
const (
	reasonNotLeading     = "NOT_LEADING"
	reasonOutcomeUnknown = "OUTCOME_UNKNOWN"
	reasonLogFailed      = "LOG_FAILED"
)

// foreignBytesMax is how much an error shows of an answer that is not one of the service.
const foreignBytesMax = 200

// Failure is an answer that is an error of the interface; GET /api/v1/errors lists the codes.
type Failure struct {
	Status    int            `json:"-"`
	Code      string         `json:"code"`
	Message   string         `json:"message"`
	Details   jsontext.Value `json:"details"`
	Retryable bool           `json:"retryable"`
	// RequestID finds the request in the log of the server.
	RequestID string `json:"-"`
	// RetryAfter is the time that the server asks to wait, zero if it names none.
	RetryAfter time.Duration `json:"-"`
	// Answer is what was answered, nil for an error of the client's own.
	Answer *Answer `json:"-"`
}

func (f *Failure) Error() string { return f.Code + ": " + f.Message }

// Detail decodes one member of the details. It returns false if there is none of that type.
func (f *Failure) Detail(name string, into any) bool {
	var all map[string]jsontext.Value
	if json.Unmarshal(f.Details, &all) != nil {
		return false
	}
	value, exists := all[name]
	return exists && json.Unmarshal(value, into) == nil
}

// nothingDone reports that the server has changed nothing, and that another may do what was asked.
func (f *Failure) nothingDone() bool {
	return f.Code == codeShuttingDown || f.unavailable(reasonNotLeading)
}

// outcomeUnknown reports that the request may have taken effect.
func (f *Failure) outcomeUnknown() bool { return f.unavailable(reasonOutcomeUnknown) }

// ofServer reports that the failure is of this server, not of the service.
func (f *Failure) ofServer() bool { return f.nothingDone() || f.outcomeUnknown() }

func (f *Failure) unavailable(reason string) bool {
	var given string
	return f.Code == codeUnavailable && f.Detail("reason", &given) && given == reason
}

// IsCode reports whether an error is a Failure with one of these codes.
func IsCode(err error, codes ...string) bool {
	var failure *Failure
	return errors.As(err, &failure) && slices.Contains(codes, failure.Code)
}

// IsRefusal reports whether the service has refused what a request is about, so that a repetition
// would be refused too. Refusals of the caller's session and of limits are none, nor are answers of
// others on the way.
func IsRefusal(err error) bool {
	var failure *Failure
	var unsigned *SignInError
	if !errors.As(err, &failure) || errors.As(err, &unsigned) || failure.Code == CodeNoAnswer ||
		failure.Code == codeStillRunning {
		return false
	}
	switch failure.Status {
	case http.StatusUnauthorized, http.StatusRequestTimeout, http.StatusTooManyRequests:
		return false
	}
	return failure.Status >= http.StatusBadRequest &&
		failure.Status < http.StatusInternalServerError
}

// UnreachableError reports that no answer came from the server.
type UnreachableError struct {
	// Server is the address.
	Server string
	Cause  error
	// unsent is true if there was no connection: the server has not seen the request.
	unsent bool
}

func (e *UnreachableError) Error() string {
	return fmt.Sprintf("%s cannot be reached: %v", e.Server, e.Cause)
}

// Unwrap returns the cause.
func (e *UnreachableError) Unwrap() error { return e.Cause }

// Redirect is the address to which the answer redirects, empty if it does not. No redirect is
// followed: it may lead to another service, which must not get the credential.
func (f *Failure) Redirect() string {
	if f.Answer == nil || f.Status < http.StatusMultipleChoices || f.Status >= http.StatusBadRequest {
		return ""
	}
	return f.Answer.Header.Get("Location")
}

// failureOf makes the error of an answer that is not one of success. Those of others on the way,
// such as a proxy, have no JSON.
func failureOf(answer *Answer) *Failure {
	failure := errorIn(answer.Body)
	if failure == nil {
		failure = &Failure{Code: CodeNoAnswer}
		text := answer.Body[:min(len(answer.Body), foreignBytesMax)]
		failure.Message = fmt.Sprintf(
			"The answer has status %d %s and is not an answer of the service: %q",
			answer.Status, http.StatusText(answer.Status), text)
	}
	failure.Status = answer.Status
	failure.RetryAfter = retryAfter(answer.Header)
	failure.Answer = answer
	if to := failure.Redirect(); to != "" {
		failure.Message = fmt.Sprintf("The answer has status %d and redirects to %s. No redirect is "+
			"followed.", answer.Status, to)
	}
	return failure
}

// errorIn reads the error of an envelope, or that of JSON-RPC with a code of the interface in its
// data. It returns nil for other answers.
func errorIn(body []byte) *Failure {
	var envelope struct {
		Error jsontext.Value `json:"error"`
		Meta  struct {
			RequestID string `json:"request_id"`
		} `json:"meta"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return nil
	}
	failure := new(Failure)
	if json.Unmarshal(envelope.Error, failure) == nil && failure.Code != "" {
		failure.RequestID = envelope.Meta.RequestID
		return failure
	}
	var rpc struct {
		Data Failure `json:"data"`
	}
	if json.Unmarshal(envelope.Error, &rpc) == nil && rpc.Data.Code != "" {
		return &rpc.Data
	}
	return nil
}

// retryAfter is the time of a Retry-After in seconds, the only form that the service sends.
func retryAfter(header http.Header) time.Duration {
	wait, err := time.ParseDuration(header.Get("Retry-After") + "s")
	if err != nil || wait < 0 {
		return 0
	}
	return wait
}
