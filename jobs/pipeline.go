package jobs

import (
	"cmp"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/folding"
	"furrow/jobs/groups"
	"furrow/jobs/notify"
	"furrow/jobs/refold"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Pipeline has what its jobs need to know, and access to its tables.
type Pipeline struct {
	Name schema.Pipeline
	// Processors, Sensors, Settings and Every are for devices of no model.
	Processors []fold.Configured
	Sensors    fold.Sensors
	Settings   string
	Every      time.Duration
	Models     []fold.Model // with different names
	Client     *tables.Client
	// Groups make what the marks of the pipeline ask for.
	Groups   map[schema.MarkKind]groups.Grouping
	Names    schema.Names
	Notifier *notify.Notifier // nil if nobody is notified

	// Retention, if it is not nil, is what the pipeline does instead of folding: its device jobs delete.
	Retention *Retention
	// Keep says below which age a pipeline that folds writes no output: retention has deleted it.
	Keep []retain.Keep

	// Batch is the number of devices in one message, at most MaxBatch; zero means 50.
	Batch int

	// Hold is how long a claim keeps other jobs away from a device: the lease of messages. Zero means 30 s, and a negative
	// Hold no time.
	Hold time.Duration
	// Clock is that of this process; nil: time.Now.
	Clock commit.Clock
	// Marks is how long the mark of a message on a tracking row keeps others from repeating it. Zero means 5 minutes, and
	// a negative Marks no time.
	Marks time.Duration
	// Cadence is the time from one run to the next. Zero means a minute.
	Cadence time.Duration
	// Settle is how long rows may take to become visible to everybody: younger rows wait. Zero means 10 s.
	Settle time.Duration
	// Generation is that of the stored configuration that the pipeline is built from. Jobs write it into messages and
	// tracking rows. Zero is a configuration that is not stored.
	Generation int64
	// Format is that of messages, tracking rows and outputs, as schema.Format. Zero means 1.
	Format int64
	// Admits returns the age of the oldest row that any issued token of an enrollment admits, or zero if it is unknown.
	// Audits look no further back, and 8 days where nothing is known. Admits may be nil.
	Admits func(schema.EnrollmentID) time.Duration
	// SendEvery returns the interval that an enrollment states for its devices; zero: it states none. It may be nil.
	SendEvery func(schema.EnrollmentID) time.Duration
	// Others reports whether somebody writes rows of an enrollment's devices with the account's key. Then no note of a
	// token says that nothing can have come. It may be nil.
	Others func(schema.EnrollmentID) bool
	// Portion is how many rows of one device a job folds at a time; zero means 5,000.
	Portion int
	// OnFold is told of each call of a processor, repeated ones included. It may be nil.
	OnFold func(fold.Folded)
	// Turns is how many devices of a tenant and partition of the fleet catch up at the same time; zero means 16, about as
	// many as a worker does. Others that are far behind wait without a message until one of them has caught up, so the
	// catch-up queue never holds more messages of a tenant than this for each partition, and no tenant has to wait for
	// thousands of another's.
	Turns int
	// Most is how many rows a job folds in all; zero means 20,000. It leaves other devices to another job.
	Most int
}

// MaxBatch is the maximum number of devices in a message: their claims and commits must fit one transaction.
const MaxBatch = 99

func (p *Pipeline) marks() time.Duration   { return cmp.Or(p.Marks, 5*time.Minute) }
func (p *Pipeline) batch() int             { return min(cmp.Or(p.Batch, 50), MaxBatch) }
func (p *Pipeline) cadence() time.Duration { return cmp.Or(p.Cadence, time.Minute) }
func (p *Pipeline) settle() time.Duration  { return cmp.Or(p.Settle, 10*time.Second) }
func (p *Pipeline) portion() int           { return cmp.Or(p.Portion, 5000) }
func (p *Pipeline) most() int              { return cmp.Or(p.Most, 20_000) }

func (p *Pipeline) tracking() *tables.Table { return p.Client.Table(p.Names.Partitions(p.Name)) }

// models returns what gives the model of a device: the one that it states, else the first whose match it meets, else
// that of the pipeline.
func (p *Pipeline) models() func(schema.Member) *fold.Model {
	own := &fold.Model{Sensors: p.Sensors, Settings: p.Settings, Every: p.Every, Processors: p.Processors}
	return func(d schema.Member) *fold.Model {
		if i := fold.ModelOf(p.Models, d, func(m fold.Model) (string, fold.Match) { return m.Name, m.Match }); i >= 0 {
			return &p.Models[i]
		}
		return own
	}
}

func (p *Pipeline) modelOf(d schema.Member) *fold.Model { return p.models()(d) }

// defaultHold is also the default lease of a message: a dead worker loses its messages and its claims at about the same
// time.
const defaultHold = 30 * time.Second

func (p *Pipeline) hold() time.Duration { return cmp.Or(p.Hold, defaultHold) }

// writer returns what writes for the pipeline.
func (p *Pipeline) writer() *commit.Writer {
	return &commit.Writer{Pipeline: p.Name, Client: p.Client, Names: p.Names, Format: p.Format,
		Generation: p.Generation, Clock: p.Clock, Hold: p.hold(),
		Marks: p.marks(), Keeps: p.keeps}
}

// keeps reports whether an output is still kept.
func (p *Pipeline) keeps(m schema.Member, e fold.Effect, now tables.Ticks) bool {
	return retain.KeepsOutput(p.Keep, m, p.modelOf, e, now)
}

// A Retention says what a pipeline deletes: all that the policy lets go and no other pipeline needs.
type Retention struct {
	retain.Policy
	Others []*Pipeline // all pipelines that fold
}

// every returns the interval between two readings that the enrollment of a device states.
func (p *Pipeline) every(m schema.Member) time.Duration {
	if p.SendEvery == nil {
		return 0
	}
	return p.SendEvery(m.Enrollment)
}

// looks returns how often device jobs look at a device that sends as often as is stated. Where nothing is, they look in
// each run.
func (p *Pipeline) looks(d *folding.Device) time.Duration {
	return max(p.Cadence, cmp.Or(d.Model.Every, p.every(d.Member)))
}

// rests reports whether devices rest: all processes of the fleet know what that is, and the configuration is stored, so
// that its number says when it changes.
func (p *Pipeline) rests() bool {
	return p.Format >= schema.RestFormat && p.Generation > 0 && p.Retention == nil
}

// others reports whether somebody else may write rows of a device.
func (p *Pipeline) others(m schema.Member) bool { return p.Others != nil && p.Others(m.Enrollment) }

// late returns the age of the oldest row that a living token of a device admits.
func (p *Pipeline) late(m schema.Member) time.Duration {
	if p.Admits != nil {
		if span := p.Admits(m.Enrollment); span > 0 {
			return max(span, m.Admits) + refold.TokenGrace
		}
	}
	return max(8*24*time.Hour, m.Admits)
}

// watches reports whether the pipeline evaluates rules for a device.
func (p *Pipeline) watches(m schema.Member) bool {
	for range p.modelOf(m).Watchers {
		return true
	}
	return false
}
