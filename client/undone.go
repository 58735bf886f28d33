package client

import (
	"errors"
	"net/http"
)

// unsentError is the error of a request that was not sent, as one that got no credential.
type unsentError struct{ error }

// Unwrap returns the error itself.
func (e *unsentError) Unwrap() error { return e.error }

// unsureError is the error of a request of which an earlier attempt may have taken effect.
type unsureError struct{ error }

// Unwrap returns the error itself.
func (e *unsureError) Unwrap() error { return e.error }

// Undone reports whether the request that Do has ended with an error had no effect: no attempt
// reached the server, or the service has refused it. It is false where the outcome is unknown.
func Undone(err error) bool {
	var unsure *unsureError
	var unsent *unsentError
	var lost *UnreachableError
	var failure *Failure
	switch {
	case errors.As(err, &unsure):
		return false
	case errors.As(err, &unsent):
		// What hindered it may be an answer to another request, such as a sign-in.
		return true
	case errors.As(err, &lost):
		return lost.unsent
	case errors.As(err, &failure):
		return failure.undone()
	}
	return false
}

// Refused reports whether the service has refused the request that ended with an error for good:
// other attempts with the same key had no effect either.
func Refused(err error) bool {
	var unsure *unsureError
	var unsent *unsentError
	var failure *Failure
	if errors.As(err, &unsure) || errors.As(err, &unsent) || !errors.As(err, &failure) {
		return false
	}
	return failure.undone() && failure.Status < http.StatusInternalServerError &&
		failure.Status != http.StatusTooManyRequests &&
		failure.Status != http.StatusRequestTimeout && failure.Code != CodeNoAnswer
}

// undone reports that the server has not carried out the request. What a proxy says of its own
// failures tells nothing, nor does an error inside of the server.
func (f *Failure) undone() bool {
	switch {
	case f.Code == codeStillRunning:
		return false
	case f.Status >= http.StatusBadRequest && f.Status < http.StatusInternalServerError:
		return true
	case f.Code == codeUnavailable:
		// The entry that a log has failed at may be there when the server starts again.
		return !f.unavailable(reasonOutcomeUnknown) && !f.unavailable(reasonLogFailed)
	}
	return f.Code == codeShuttingDown
}

// ended is the error that the request ends with. A refusal for now, such as that of a limit, says
// nothing about attempts before it.
func (w *attempts) ended(err error) error {
	if w.unsure && Undone(err) && !(Refused(err) && decided(err)) {
		return &unsureError{err}
	}
	return err
}

// decided reports whether a refusal came AFTER the service has looked for the key of the request.
// Who calls, and what the caller may see and do, is checked before, and may have changed since.
func decided(err error) bool {
	var failure *Failure
	if !errors.As(err, &failure) {
		return false
	}
	switch failure.Status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound:
		return false
	}
	return true
}
