package api

import (
	"encoding/hex"
	"errors"
	"math"
	"time"

	"pws/api/jsonschema"
	"pws/index"
	"pws/internal/fault"
	"pws/internal/id"
	"pws/work"
)

// Projects are the published views of projects, and the commands to them.
type Projects interface {
	// Project returns the published view of a project, nil where there is none.
	Project(project id.ID) (*work.Project, error)
	// ProjectFor is Project for a caller that may not be allowed to read it: nil as where there is
	// none. It loads no project for them.
	ProjectFor(project, agent id.ID) (*work.Project, error)
	// Do gives a command to a project and returns AFTER its effects are durable and published.
	Do(order Order) (Done, error)
	// Stamp returns a stamp for what is prepared BEFORE a command to a project.
	Stamp(agent, project id.ID) work.Stamp
	// Blob returns stored content, which callers never modify. Errors are BLOB_CORRUPT faults or
	// internal.
	Blob(hash work.Hash) ([]byte, error)
	// PublicProjects lists PUBLIC projects, newest first, behind the one the position names.
	PublicProjects(after index.Position, limit int) ([]*work.Project, error)
	// Owner returns the project that has an entity of a kind, for the kinds that work.Project.Has
	// knows, and that an agent may read; nil where none is.
	Owner(kind id.Prefix, entity, agent id.ID) (*work.Project, error)
	// Tree returns the tree of a project as it was after a changeset, one for all who ask for the
	// same.
	Tree(p *work.Project, at *work.Changeset) *work.Tree
	// Readable reports whether a project is there and an agent may read it now. It costs little for
	// a project that is not loaded.
	Readable(project, agent id.ID) (bool, error)
	// Summary returns the record of a project and its members, nil where there is none. It costs
	// little for a project that is not loaded, and what else the project has may be missing.
	Summary(project id.ID) (*work.Project, error)
}

// ErrDamaged marks the error of a project that cannot be read because its stored data is damaged.
// An error of the whole server, such as a lack of memory, is another one.
var ErrDamaged = errors.New("the project is damaged")

// Intact is for reads of several projects: a damaged one is for them as one that does not exist, so
// that it takes no other with it.
func Intact[T any](found T, err error) (T, error) {
	if errors.Is(err, ErrDamaged) {
		var none T
		return none, nil
	}
	return found, err
}

// Order is one command to one project.
type Order struct {
	Project id.ID
	Command work.Command
	Agent   id.ID
	// Idempotency is nil without a key.
	Idempotency *Recording
}

// Recording says how the result of a command is kept for repeats of its Idempotency-Key.
type Recording struct {
	Key IdempotencyKey
	// Render makes the original answer, in the entry that carries the effect. It is nil where the
	// answer is a function of the Result and of immutable records alone: then the Result is kept and
	// the answer is rendered again.
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

// Time is a time on the wire: RFC 3339, UTC, milliseconds. The value is in Unix milliseconds.
type Time int64

// MarshalJSON writes the text in quotes.
func (t Time) MarshalJSON() ([]byte, error) { return t.append(make([]byte, 0, 26)), nil }

// AppendJSON writes the text in quotes.
func (t Time) AppendJSON(dst []byte) []byte { return t.append(dst) }

func (t Time) append(dst []byte) []byte { return jsonschema.AppendTime(dst, int64(t)) }

// UnmarshalJSON reads the text; see Problems.
func (t *Time) UnmarshalJSON(text []byte) error {
	parsed, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(text))
	if *t = Time(parsed.UnixMilli()); err != nil {
		*t = noTime
	}
	return nil
}

// noTime marks an invalid text.
const noTime = Time(math.MinInt64)

// Problems implements jsonschema.Checker.
func (t *Time) Problems() []fault.Field {
	if *t != noTime {
		return nil
	}
	return []fault.Field{{
		Problem: "must be an RFC 3339 time, for example 2026-11-20T09:06:00.000Z",
	}}
}

// JSONSchema describes the text.
func (Time) JSONSchema() map[string]any {
	return map[string]any{"type": "string", "format": "date-time"}
}

// timeOrNil returns nil for the zero time.
func timeOrNil(millis int64) *Time {
	if millis == 0 {
		return nil
	}
	t := Time(millis)
	return &t
}

// AgentRef names an agent.
type AgentRef struct {
	// The agent's ID.
	AgentID string `json:"agent_id" check:"id=agt_"`
	// The agent's handle.
	Handle string `json:"handle"`
}

// agentRef resolves the handle of an agent.
func (c *Call) agentRef(agent id.ID) AgentRef {
	return AgentRef{AgentID: agent.Format(id.Agent), Handle: c.handle(agent)}
}

func (c *Call) handle(agent id.ID) string {
	if known, ok := c.Service.Engine.Identity().Agent(agent); ok {
		return known.Handle
	}
	return ""
}

func hexHash(hash work.Hash) string { return hex.EncodeToString(hash[:]) }

// parseHash parses a blob hash in its wire form: 64 lower-case hexadecimal digits.
func parseHash(text string) (work.Hash, bool) {
	var hash work.Hash
	if len(text) != 2*len(hash) {
		return hash, false
	}
	for at := range len(text) {
		if c := text[at]; c >= 'A' && c <= 'F' {
			return hash, false
		}
	}
	_, err := hex.Decode(hash[:], []byte(text))
	return hash, err == nil
}

// do sends a command of this caller to a project. Render is nil if the answer can be rendered
// again from the result and from immutable records.
func (c *Call) do(
	project id.ID, command work.Command,
	render func(project *work.Project, result work.Result) (Reply, error),
) (Done, error) {
	if c.OnlyAsks {
		return Done{}, c.asked(project, command)
	}
	order := Order{Project: project, Command: command, Agent: c.Agent}
	if c.Idempotency != nil {
		order.Idempotency = &Recording{Key: *c.Idempotency}
		if render != nil {
			order.Idempotency.Render = func(p *work.Project, r work.Result) Rendered {
				return c.renderStored(p, r, render)
			}
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
	data, err := c.filled(done.Body, done.Tasks)
	if err == nil && done.LeftOut {
		data, err = c.withTexts(done.Project, data)
	}
	return Reply{Status: done.Status, Data: Raw(data), Replayed: done.Replayed}, err
}

// answer runs a command whose answer is rendered once and stored for repeats of its key. Long texts
// of its records are not stored with it: they are read from their contents each time.
func (c *Call) answer(
	project id.ID, command work.Command,
	render func(project *work.Project, result work.Result) (Reply, error),
) (Reply, error) {
	// The tag is not stored: a repeat is answered without it.
	tag := ""
	done, err := c.do(project, command, func(p *work.Project, r work.Result) (Reply, error) {
		reply, err := render(p, r)
		tag = reply.ETag
		return reply, err
	})
	if err != nil {
		return Reply{}, err
	}
	if done.Body != nil && (done.Tasks == nil && !done.LeftOut || done.Replayed) {
		reply, err := c.recorded(&done)
		reply.ETag = tag
		return reply, err
	}
	reply, err := render(done.Project, done.Result)
	if err == nil {
		reply.Data, _ = eachTask(reply.Data, c.fillWritten)
	}
	return reply, err
}

// readable returns the published view of the project in the path if the caller may see it.
func (c *Call) readable() (*work.Project, error) {
	project, err := c.projectID()
	if err != nil {
		return nil, err
	}
	return c.readableProject(project)
}

// readableProject returns the published view of a project if the caller may see it.
func (c *Call) readableProject(project id.ID) (*work.Project, error) {
	view, err := c.Service.Engine.ProjectFor(project, c.Agent)
	if view == nil && err == nil {
		err = errProjectNotFound()
	}
	return view, err
}

// changesetOf returns the changeset in the path of a readable project: CHANGESET_NOT_FOUND.
func (c *Call) changesetOf(view *work.Project) (*work.Changeset, error) {
	return findChangeset(view, c.Param("changeset"))
}

// changesetWanted returns the changeset that the query names, or the head. Errors:
// CHANGESET_NOT_FOUND.
func (c *Call) changesetWanted(view *work.Project) (*work.Changeset, error) {
	if wanted := c.Query[changesetQuery.Name]; wanted != "" {
		return findChangeset(view, wanted)
	}
	return view.Head(), nil
}

func findChangeset(view *work.Project, text string) (*work.Changeset, error) {
	if wanted, ok := id.Parse(id.Changeset, text); ok {
		if changeset, found := view.Changeset(wanted); found {
			return changeset, nil
		}
	}
	return nil, fault.New(fault.ChangesetNotFound, "The project has no such changeset.")
}
