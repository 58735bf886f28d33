package api

import (
	"errors"
	"time"

	"pws/internal/id"
	"pws/work"
)

// Order is one command to one project.
type Order struct {
	Project id.ID
	Command work.Command
	Agent   id.ID
	// Idempotency is nil without a key. With one, the result is kept for repeats.
	Idempotency *IdempotencyKey
	// Render makes the original answer, in the entry that carries the effect. It is nil without a key
	// and where the answer is a function of the Result and of immutable records alone: then the
	// Result is kept and the answer is rendered again.
	Render func(project *work.Project, result work.Result) Rendered
}

// Rendered is an answer as it is kept: its status and data. Tasks names the long texts of the tasks
// in the data, which are not there yet; nil if there are none. LeftOut says that long texts of
// other records are not there.
type Rendered struct {
	Status  int
	Body    []byte
	Tasks   []work.TaskTexts
	LeftOut bool
}

// Done is the outcome of an Order.
type Done struct {
	// Project is the published view that contains the effect.
	Project *work.Project
	Result  work.Result
	// Replayed says that the effect is an earlier request's; Rendered is then the original answer
	// where it was rendered.
	Replayed bool
	Rendered
	// FirstAt is when the original request was answered, in Unix milliseconds; zero where there is
	// none.
	FirstAt int64
	// Spent is how long the project was busy with the order, also where it was refused.
	Spent time.Duration
}

// chargedFrom is the time from which a write is charged for what its project, or identity, does.
// Small writes take a tenth of it, and are bounded by their number.
const chargedFrom = 200 * time.Microsecond

// do sends a command of this caller to a project. Render is nil if the answer can be rendered
// again from the result and from immutable records.
func (c *Call) do(
	project id.ID, command work.Command,
	render func(project *work.Project, result work.Result) (Reply, error),
) (Done, error) {
	if c.OnlyAsks {
		return Done{}, c.asked(project, command)
	}
	order := Order{
		Project: project, Command: command, Agent: c.Agent, Idempotency: c.Idempotency,
	}
	if c.Idempotency != nil && render != nil {
		order.Render = func(p *work.Project, r work.Result) Rendered {
			return c.renderStored(p, r, render)
		}
	}
	done, err := c.Service.Engine.Do(order)
	c.chargeFor(done.Spent)
	c.firstAt = done.FirstAt
	return done, err
}

// ErrPermitted says that the caller of an operation that OnlyAsks may do what it does.
var ErrPermitted = errors.New("the caller may do this")

// asked is ErrPermitted if the caller may give a command to a project. Errors: those of the
// command's Authorize.
func (c *Call) asked(project id.ID, command work.Command) error {
	view, err := c.readableProject(project)
	if err != nil {
		return err
	}
	if err := work.Authorize(command, view, c.Agent); err != nil {
		return err
	}
	return ErrPermitted
}

// chargeFor charges the caller for the time of an order, unless it was a small one.
func (c *Call) chargeFor(spent time.Duration) {
	if spent >= chargedFrom && c.Meter != nil {
		c.Meter.Charge(spent)
	}
}

// recorded replies with the answer that is stored for the key.
func (c *Call) recorded(done *Done) (Reply, error) {
	data, tag := cutTag(done.Body)
	data, err := c.filled(data, done.Tasks)
	if err == nil && done.LeftOut {
		data, err = c.withTexts(done.Project, data)
	}
	return Reply{Status: done.Status, Data: Raw(data), ETag: tag, Replayed: done.Replayed}, err
}

// answer runs a command whose answer is rendered once and stored for repeats of its key. Long texts
// of its records are not stored with it: they are read from their contents each time.
func (c *Call) answer(
	project id.ID, command work.Command,
	render func(project *work.Project, result work.Result) (Reply, error),
) (Reply, error) {
	done, err := c.do(project, command, render)
	if err != nil {
		return Reply{}, err
	}
	if done.Body != nil && (done.Tasks == nil && !done.LeftOut || done.Replayed) {
		return c.recorded(&done)
	}
	reply, err := render(done.Project, done.Result)
	if err == nil {
		reply.Data, _ = eachTask(reply.Data, c.fillWritten)
	}
	return reply, err
}
