package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync/atomic"
	"time"

	"pws/api"
	"pws/internal/fault"
)

// nemesisOutcome is what a client knows of a request.
type nemesisOutcome uint8

const (
	// nemesisNothing requests had no effect and were not decided.
	nemesisNothing nemesisOutcome = iota
	// nemesisDone requests took effect, nemesisRefused ones were decided and have no effect.
	nemesisDone
	nemesisRefused
	// nemesisUnknown requests may have taken effect, or may later.
	nemesisUnknown
)

// nemesisCall is a request over REST, or over MCP if there is a tool. With a tool, the key is an
// argument.
type nemesisCall struct {
	method, path string
	body         any
	key, header  string
	tool         string
}

// nemesisAnswer is what became of a request.
type nemesisAnswer struct {
	outcome nemesisOutcome
	code    string
	status  int
	data    json.RawMessage
	// text is the whole answer, or the error without one.
	text string
}

// nemesisClient sends requests as one agent.
type nemesisClient struct {
	http       *http.Client
	credential string
	// longest is the longest time of a request in nanoseconds.
	longest *atomic.Int64
	// hurry ends some requests early, so that not all clients wait for a member that stands still.
	hurry func() bool
}

// nemesisCallMax bounds a request. It is above nemesisHungMax, which no request may reach.
// nemesisHurryMax bounds one in a hurry.
const (
	nemesisCallMax  = 25 * time.Second
	nemesisHurryMax = 700 * time.Millisecond
)

func newNemesisClient(longest *atomic.Int64) *nemesisClient {
	return &nemesisClient{longest: longest, http: &http.Client{
		Timeout: nemesisCallMax, Transport: &http.Transport{MaxIdleConnsPerHost: 4},
	}}
}

// send sends a request to a member.
func (c *nemesisClient) send(host string, call nemesisCall) nemesisAnswer {
	begun := time.Now()
	answer := c.exchange(host, call)
	took := int64(time.Since(begun))
	for {
		before := c.longest.Load()
		if took <= before || c.longest.CompareAndSwap(before, took) {
			return answer
		}
	}
}

func (c *nemesisClient) exchange(host string, call nemesisCall) nemesisAnswer {
	made, err := c.made(host, call)
	if err != nil {
		return nemesisAnswer{text: err.Error(), outcome: nemesisNothing}
	}
	ctx, connected := context.Background(), new(atomic.Bool)
	if c.hurry != nil && c.hurry() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, nemesisHurryMax)
		defer cancel()
	}
	// The transport may repeat a request on another connection if the first one ends.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected.Store(true) },
	})
	response, err := c.http.Do(made.WithContext(ctx))
	var body []byte
	if err == nil {
		body, err = io.ReadAll(response.Body)
		_ = response.Body.Close()
	}
	if err != nil {
		answer := nemesisAnswer{text: err.Error(), outcome: nemesisUnknown}
		if !connected.Load() {
			answer.outcome = nemesisNothing
		}
		return answer
	}
	answer := nemesisAnswer{status: response.StatusCode, text: string(body)}
	if call.tool != "" {
		answer.readTool(body)
	} else {
		answer.readEnvelope(body)
	}
	return answer
}

func (c *nemesisClient) made(host string, call nemesisCall) (*http.Request, error) {
	var text []byte
	if call.body != nil {
		var err error
		if text, err = json.Marshal(call.body); err != nil {
			return nil, err
		}
	}
	sent := &request{method: call.method, target: "/api/v1/" + call.path, body: text}
	if call.tool != "" {
		sent = toolCall(call.tool, text, nil)
	} else {
		if call.key != "" {
			sent.headers = append(sent.headers, "Idempotency-Key: "+call.key)
		}
		if call.header != "" {
			sent.headers = append(sent.headers, call.header)
		}
	}
	made, err := http.NewRequest(sent.method, "http://"+host+sent.target, bytes.NewReader(sent.body))
	if err != nil {
		return nil, err
	}
	// Without it, the transport does not repeat requests with a body.
	made.GetBody = nil
	for _, line := range sent.headers {
		name, value, _ := strings.Cut(line, ": ")
		made.Header.Set(name, value)
	}
	if len(sent.body) > 0 {
		made.Header.Set("Content-Type", "application/json")
	}
	if call.tool != "" {
		made.Header.Set("Accept", "application/json, text/event-stream")
	}
	if c.credential != "" {
		made.Header.Set("Authorization", "Bearer "+c.credential)
	}
	return made, nil
}

// nemesisRefusal is the part of a refusal that says what it means.
type nemesisRefusal struct {
	Code    string `json:"code"`
	Details struct {
		Reason string `json:"reason"`
	} `json:"details"`
}

func (a *nemesisAnswer) readEnvelope(body []byte) {
	var envelope struct {
		Data  json.RawMessage `json:"data"`
		Error *nemesisRefusal `json:"error"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		a.outcome = nemesisUnknown
		return
	}
	a.data = envelope.Data
	a.judge(envelope.Error)
}

func (a *nemesisAnswer) readTool(body []byte) {
	var message struct {
		Result struct {
			Data    json.RawMessage `json:"structuredContent"`
			IsError bool            `json:"isError"`
		} `json:"result"`
		Error *struct {
			Data nemesisRefusal `json:"data"`
		} `json:"error"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		a.outcome = nemesisUnknown
		return
	}
	a.data = message.Result.Data
	switch {
	case message.Error != nil:
		a.judge(&message.Error.Data)
	case message.Result.IsError:
		refusal := new(nemesisRefusal)
		_ = json.Unmarshal(message.Result.Data, refusal)
		a.judge(refusal)
	default:
		a.judge(nil)
	}
}

// judge says what a refusal, or none, means.
func (a *nemesisAnswer) judge(refusal *nemesisRefusal) {
	if refusal == nil {
		a.outcome = nemesisDone
		return
	}
	a.code, a.outcome = refusal.Code, nemesisRefused
	switch fault.Code(refusal.Code) {
	case fault.ShuttingDown, fault.RateLimited:
		a.outcome = nemesisNothing
	case fault.StorageUnavailable:
		a.outcome = nemesisUnknown
		if refusal.Details.Reason == api.ReasonNotLeading {
			a.outcome = nemesisNothing
		}
	case fault.Internal, fault.IdempotencyInProgress, "":
		a.outcome = nemesisUnknown
	}
}

// into decodes the data of an answer.
func (a *nemesisAnswer) into(value any) error {
	if err := json.Unmarshal(a.data, value); err != nil {
		return fmt.Errorf("%w in %s", err, a.text)
	}
	return nil
}
