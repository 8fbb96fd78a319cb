package jobs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
)

// A Kind says which job a message asks for.
type Kind string

const (
	Master Kind = "master" // plans a run: a month job for each partition of the fleet
	Month  Kind = "month"  // puts the devices of a partition into batches
	Device Kind = "device" // folds the new readings of a batch of devices
	Audit  Kind = "audit"  // looks for late rows of a batch of devices
	Group  Kind = "group"  // makes again what marks of a partition of the fleet ask for
	// Deliver tells a target about incidents.
	Deliver Kind = "deliver"
)

// Kinds returns all kinds.
func Kinds() []Kind { return []Kind{Master, Month, Device, Audit, Group, Deliver} }

// A Message asks for one job. Its text is a JSON object of at most MaxSize bytes with the members below, without those
// that are zero. "v" and "taken" have the same meaning in every format.
type Message struct {
	// Format is that of the text, as schema.Format. Encode writes zero as 1, the oldest.
	Format int64 `json:"v"`

	Kind     Kind            `json:"kind"`
	Pipeline schema.Pipeline `json:"pipeline"`
	Run      tables.Ticks    `json:"run"` // slot of the run that it belongs to

	// Month is the first partition of the fleet that a Month job plans, and Through the last, if that is another one:
	// small partitions share a job. Month of a Master is its progress, the last partition that it has put a job for. Month
	// of a Group is the partition of its marks.
	Month   schema.Month `json:"month,omitzero"`
	Through schema.Month `json:"through,omitzero"`

	// First and Last are the ends of a batch, both included: of a Device or Audit. A batch over several partitions has
	// each of them completely.
	First schema.Place `json:"first,omitzero"`
	Last  schema.Place `json:"last,omitzero"`

	// Only are the devices of a Device batch, in order, where others between First and Last rest; none: all of them.
	// Resting is how many these others are.
	Only    []schema.Place `json:"only,omitempty"`
	Resting int            `json:"resting,omitzero"`

	// Before is the slot of the run before a Month's; zero: nobody knows.
	Before tables.Ticks `json:"before,omitzero"`

	// Progress is the last device that a Month job has put into a batch; zero before the first.
	Progress schema.Place `json:"progress,omitzero"`

	// Audit is what an Audit looks at. A Month that has one also puts audits. A Master that is Full was put by hand: its
	// months put only audits.
	Audit refold.Depth `json:"audit,omitempty"`

	// Since is the slot of the last run that put Late audits; 0 if none has.
	Since tables.Ticks `json:"since,omitzero"`

	// Target is whom a Deliver tells.
	Target schema.Target `json:"target,omitempty"`

	// Group is the kind of marks that a Group works off.
	Group schema.MarkKind `json:"group,omitempty"`

	// Mark is the ID on the tracking rows of a Device or Audit that catches up: the job continues with a device far
	// behind, or works off stale days. It leaves rows with another ID alone. That of a Group is on the row of its
	// GroupTurn.
	Mark string `json:"mark,omitempty"`

	// Claim makes a Device or Audit a follow-up. It comes when the hold of this claim ends, for devices that a job passed
	// over because of it. It leaves rows with a later claim alone.
	Claim string `json:"claim,omitempty"`

	// Generation is the configuration that the job requires, or an older one than the worker's. Zero is a configuration
	// that is not stored.
	Generation int64 `json:"generation,omitzero"`

	// Extra says that a job has put this batch outside the plan of its run, such as the second try of one device after a
	// pause. The run does not wait for it. A Month that is extra puts only audits.
	Extra bool `json:"extra,omitzero"`

	// Attempts is how often the job has failed since it last made progress. The queue's own count also counts gets of
	// messages that a stopping worker released or a dead one lost.
	Attempts int `json:"attempts,omitzero"`

	// Busy is how many of the attempts failed because storage was busy. Those never make the message poison.
	Busy int `json:"busy,omitzero"`

	// Taken is how many of the queue's gets are accounted for, because the job made progress or the message was given
	// back.
	Taken int `json:"taken,omitzero"`

	// Deaths is how many gets are not accounted for: usually the worker crashed during the job. The pool counts them, and
	// they are not part of the text.
	Deaths int `json:"-"`
}

// Untried returns m as if nobody had received it yet.
func (m Message) Untried() Message {
	m.Attempts, m.Busy, m.Taken, m.Deaths = 0, 0, 0, 0
	return m
}

// tried reports whether m was received before, as far as the queue knows: a job may have committed a mark and not put
// its message.
func (m Message) tried() bool { return m.Attempts+m.Taken+m.Deaths > 0 }

// CatchUp reports whether m is work on history: a device that is far behind, an audit or a refold. Such messages have a
// queue of their own.
func (m Message) CatchUp() bool { return m.Mark != "" && m.Kind != Group || m.Kind == Audit }

// maxID is the maximum length of a Mark or Claim in bytes; rand.Text has 26.
const maxID = 64

// MaxSize is the maximum length of a Message's text in bytes: a queue takes 48 KiB before they are encoded. A list that
// would be longer is left out.
const MaxSize = 44 << 10

// Encode returns m as text, or an error if Decode would not read it.
func (m Message) Encode() (string, error) {
	if err := m.check(); err != nil {
		return "", fmt.Errorf("message of kind %s: %w", tables.Quote(string(m.Kind)), err)
	}
	m.Format = max(1, m.Format)
	text, err := json.Marshal(m)
	if err != nil {
		return "", fmt.Errorf("message of kind %s: %w", tables.Quote(string(m.Kind)), err)
	}
	return string(text), nil
}

// check refuses members that do not belong to the kind.
func (m Message) check() error {
	if err := schema.CheckFormat(m.Format); err != nil {
		return err
	}
	if err := m.checkKind(); err != nil {
		return err
	}
	if m.Pipeline == "" {
		return errors.New("pipeline is missing")
	}
	if _, err := schema.ParsePipeline(string(m.Pipeline)); err != nil {
		return err
	}
	switch {
	case m.Run == 0:
		return errors.New("run is missing")
	case m.Run < 0 || m.Run > tables.MaxTicks:
		return fmt.Errorf("run %d is not a time between the years 1 and 9999", m.Run)
	case m.Generation < 0:
		return fmt.Errorf("generation %d is less than zero", m.Generation)
	case m.Attempts < 0 || m.Busy < 0 || m.Taken < 0:
		return fmt.Errorf("attempts %d, busy %d or taken %d is negative", m.Attempts, m.Busy, m.Taken)
	}
	return m.checkWork()
}

func (m Message) checkKind() error {
	switch {
	case m.Kind == "":
		return errors.New("kind is missing")
	case slices.Contains(Kinds(), m.Kind):
		return nil
	}
	return fmt.Errorf("kind %s is not known; want master, month, device, audit, group or deliver",
		tables.Quote(string(m.Kind)))
}

// checkWork checks that the work fits the kind.
func (m Message) checkWork() error {
	batch := m.Kind == Device || m.Kind == Audit
	for _, member := range []struct {
		name            string
		has, needs, may bool
	}{
		{"month", m.Month != schema.Month{}, m.Kind == Month || m.Kind == Group, m.Kind == Master},
		{"group", m.Group != "", m.Kind == Group, false},
		{"through", m.Through != schema.Month{}, false, m.Kind == Month},
		{"first", m.First != schema.Place{}, batch, false},
		{"last", m.Last != schema.Place{}, batch, false},
		{"progress", m.Progress != schema.Place{}, false, m.Kind == Month},
		{"audit", m.Audit != "", m.Kind == Audit, m.Kind == Month || m.Kind == Master && m.Audit == refold.Full},
		{"since", m.Since != 0, false, m.Audit == refold.Late},
		{"target", m.Target != "", m.Kind == Deliver, false},
		{"mark", m.Mark != "", m.Audit == refold.Refold || m.Kind == Group, batch},
		{"claim", m.Claim != "", false, batch},
		{"only", len(m.Only) > 0, false, m.Kind == Device},
		{"resting", m.Resting != 0, false, len(m.Only) > 0},
		{"before", m.Before != 0, false, m.Kind == Month},
		{"extra", m.Extra, false, m.Kind == Device || m.Kind == Month},
	} {
		switch {
		case member.needs && !member.has:
			return fmt.Errorf("%s is missing; a %s message has one", member.name, m.Kind)
		case member.has && !member.needs && !member.may:
			return fmt.Errorf("%s does not belong in a %s message", member.name, m.Kind)
		}
	}
	return m.checkKeys()
}

func (m Message) checkKeys() error {
	for _, month := range []schema.Month{m.Month, m.Through, m.First.Month, m.Last.Month, m.Progress.Month} {
		if month != (schema.Month{}) {
			if err := month.Check(); err != nil {
				return err
			}
		}
	}
	if m.Through != (schema.Month{}) && m.Through.Compare(m.Month) <= 0 {
		return fmt.Errorf("through %s does not come after month %s", m.Through, m.Month)
	}
	if !slices.Contains([]refold.Depth{"", refold.Late, refold.Full, refold.Refold}, m.Audit) {
		return fmt.Errorf("audit %s is not known; want late, full or refold", tables.Quote(string(m.Audit)))
	}
	for _, member := range []struct {
		name  string
		place schema.Place
	}{{"first", m.First}, {"last", m.Last}, {"progress", m.Progress}} {
		if _, err := schema.ParsePlace(member.place.String()); err != nil {
			return fmt.Errorf("%s: %w", member.name, err)
		}
	}
	if m.Target != "" {
		if _, err := schema.ParseTarget(string(m.Target)); err != nil {
			return err
		}
	}
	for _, member := range []struct{ name, id string }{{"mark", m.Mark}, {"claim", m.Claim}, {"group", string(m.Group)}} {
		if len(member.id) > maxID {
			return fmt.Errorf("%s has %d bytes; at most %d are allowed", member.name, len(member.id), maxID)
		}
	}
	if err := m.checkOnly(); err != nil {
		return err
	}
	if m.First.Compare(m.Last) > 0 {
		return fmt.Errorf("first %s comes after last %s", tables.Quote(m.First.String()), tables.Quote(m.Last.String()))
	}
	return nil
}

// checkOnly checks that the devices of a batch are listed in order, from First to Last.
func (m Message) checkOnly() error {
	if len(m.Only) == 0 {
		return nil
	}
	if len(m.Only) > MaxBatch || m.Resting < 0 {
		return fmt.Errorf("only has %d devices, and resting is %d; want at most %d", len(m.Only), m.Resting, MaxBatch)
	}
	for i, d := range m.Only {
		if _, err := schema.ParsePlace(d.String()); err != nil {
			return fmt.Errorf("only: %w", err)
		}
		if i > 0 && m.Only[i-1].Compare(d) >= 0 {
			return fmt.Errorf("only has %s after %s", tables.Quote(d.String()), tables.Quote(m.Only[i-1].String()))
		}
	}
	if m.Only[0] != m.First || m.Only[len(m.Only)-1] != m.Last {
		return errors.New("only does not go from first to last")
	}
	return nil
}

// from returns the same message for the part of the batch between two of its devices.
func (m Message) from(first, last schema.Place) Message {
	m.First, m.Last = first, last
	m.Only = slices.DeleteFunc(slices.Clone(m.Only), func(d schema.Place) bool {
		return d.Compare(first) < 0 || d.Compare(last) > 0
	})
	if len(m.Only) < 2 {
		m.Only, m.Resting = nil, 0
	}
	return m
}

// A Putter takes the messages that jobs put; a worker.Queue is one.
type Putter interface {
	Put(ctx context.Context, m Message, delay time.Duration) error
}

// A Save stores the progress of a job in its message.
type Save = func(context.Context, Message) error

// next returns a message of another kind in the same run.
func (m Message) next(kind Kind) Message {
	return Message{Kind: kind, Pipeline: m.Pipeline, Run: m.Run, Generation: m.Generation}
}

// last returns the last partition that a Month message names.
func (m Message) last() schema.Month {
	if m.Through != (schema.Month{}) {
		return m.Through
	}
	return m.Month
}
