package jobs

import (
	"fmt"
	"strings"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// A track is a row of the partition-tracking table: how far a pipeline has got with a device, and all that must change
// together with that. It is read, claimed and committed as one entity.
type track struct {
	etag    tables.ETag // empty: there is no row
	last    string      // LastReadRowKey: rows up to it are folded, counted and never read again
	fence   tables.Ticks
	hold    hold
	states  map[string][]byte // by processor
	open    map[Output]tables.ETag
	ledger  *Ledger
	rows    int64 // folded since the beginning
	rejects int64 // rows of which something was rejected, since the beginning; the ring's position follows from it

	format     int64 // the newest in which the row, or an output of its device, is written
	generation int64 // the newest of the configurations under which the row was committed

	settings string // of the processors that folded it last, as Pipeline.Settings
	refold   cursor
	stream   stream            // where the refold cursor is being worked off
	again    map[string][]byte // states of merging processors, made of what the cursor has passed; nil takes one away
	rebuilt  bool              // again has changed since the row was read
	gap      window            // days that came back into the ledger's reach, and are not counted yet
	floor    tables.Ticks      // what lies below it is out of the ledger, and of every audit
	late     int64             // rows that audits have found

	marks
	read struct { // what the row said
		marks
		refold cursor
		row    string
		gap    window
	}
}

// marks say that a device is to be passed over, and why, or who goes on with it.
type marks struct {
	attempts   int          // that failed in a row
	held       string       // why the last one did
	heldUntil  tables.Ticks // it is passed over until then
	chain      mark         // of a chain that goes on with a device far behind
	refoldMark mark         // of the message that works off the refold cursor
}

// String is how the tracking row has it; nothing is empty.
func (c cursor) String() string {
	if c.empty() {
		return ""
	}
	text := c.from.String() + "-" + c.to.String()
	if c.rebuild {
		text += rebuildSuffix
	}
	return text
}

const rebuildSuffix = "-rebuild"

func parseCursor(s string) (c cursor, err error) {
	if s == "" {
		return c, nil
	}
	text, rebuild := strings.CutSuffix(s, rebuildSuffix)
	from, to, _ := strings.Cut(text, "-")
	c.rebuild = rebuild
	c.from, err = tables.ParseTicks(from)
	if err == nil {
		c.to, err = tables.ParseTicks(to)
	}
	if err != nil {
		return c, fmt.Errorf("refold cursor %s: %w", quote(s), err)
	}
	return c, nil
}

// with is the cursor that covers both.
func (c cursor) with(o cursor) cursor {
	switch {
	case c.empty():
		return o
	case o.empty():
		return c
	}
	return cursor{window{min(c.from, o.from), max(c.to, o.to)}, c.rebuild || o.rebuild}
}

// trackOf reads a row of the tracking table. Also of a row that cannot be read it returns what counting a failure there
// takes: its version, marks and claim.
func trackOf(e tables.Entity) (*track, error) {
	if err := schema.CheckFormat(schema.FormatOf(&e)); err != nil {
		return &track{etag: e.ETag}, err
	}
	f := e.Fields()
	t := &track{
		format: schema.FormatOf(&e),
		etag:   e.ETag, last: f.String(schema.TrackCheckpoint), fence: tables.Ticks(f.Int(schema.TrackFence)),
		hold: holdOf(f),
		rows: f.Int(schema.TrackRows), rejects: f.Int(schema.TrackRejects), late: f.Int(schema.TrackLate),
		generation: f.Int(schema.TrackGeneration), settings: f.String(schema.TrackSettings),
		floor: tables.Ticks(f.Int(schema.TrackLedgerFrom)),
		marks: marks{attempts: int(f.Int(schema.TrackAttempts)), held: f.String(schema.TrackHeld),
			heldUntil: f.Ticks(schema.TrackHeldUntil),
			chain:     chainMark(f), refoldMark: refoldMark(f)},
	}
	t.read.marks = t.marks
	var err error
	if t.refold, err = parseCursor(f.String(schema.TrackRefold)); err != nil {
		return t, err
	}
	t.read.refold = t.refold
	if err = t.readStream(e); err != nil {
		return t, err
	}
	if t.ledger, err = ParseLedger(f.Binary(schema.TrackLedger)); err != nil {
		return t, err
	}
	if t.open, err = parseOpen(f.Binary(schema.TrackOpen)); err != nil {
		return t, err
	}
	if t.states, err = statesOf(&e, schema.TrackStates); err != nil {
		return t, err
	}
	return t, f.Err()
}

// state is a processor's; nil where there is none.
func (t *track) state(name string) []byte {
	if len(t.states[name]) == 0 {
		return nil
	}
	return t.states[name]
}

// newTrack is that of a device that was never folded.
func newTrack() *track {
	return &track{states: map[string][]byte{}, again: map[string][]byte{}, open: map[Output]tables.ETag{},
		ledger: &Ledger{}}
}

// claimed is the merge that claims the row. The fence outranks every earlier writer's, also those of a row that was
// deleted and made anew.
func (t *track) claimed(m schema.Member, fence tables.Ticks, h hold) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackFence, tables.Int64(int64(fence)))
	h.set(&e)
	if t.etag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.etag)
}

// committed is the merge that moves the checkpoint, on the claim's version. It leaves the claim's id as a sign that it
// was done.
func (t *track) committed(m schema.Member, claim string) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackCommitted, tables.String(claim))
	if t.hold.takeovers > 0 {
		e.Set(schema.TrackTakeovers, tables.Int64(0))
	}
	e.Set(schema.TrackCheckpoint, tables.String(t.last))
	e.Set(schema.TrackRows, tables.Int64(t.rows))
	e.Set(schema.TrackRejects, tables.Int64(t.rejects))
	e.Set(schema.TrackLedger, tables.Binary(t.ledger.Append(nil)))
	e.Set(schema.TrackOpen, tables.Binary(appendOpen(nil, t.open)))
	e.Set(schema.TrackGeneration, tables.Int64(t.generation))
	e.Set(schema.TrackSettings, tables.String(t.settings))
	e.Set(schema.TrackLedgerFrom, tables.Int64(int64(t.floor)))
	e.Set(schema.TrackLate, tables.Int64(t.late))
	t.setMarks(&e)
	t.setStream(&e)
	setStates(&e, schema.TrackStates, t.states)
	schema.SetFormat(&e, t.format)
	return tables.Merge(e, t.etag)
}

// setMarks gives e the marks that differ from the row's. One that is taken away becomes the earliest time that storage
// has, as a merge leaves nothing out.
func (t *track) setMarks(e *tables.Entity) {
	if t.attempts != t.read.attempts {
		e.Set(schema.TrackAttempts, tables.Int64(int64(t.attempts)))
	}
	if t.held != t.read.held {
		e.Set(schema.TrackHeld, tables.String(t.held))
	}
	if t.heldUntil != t.read.heldUntil {
		e.Set(schema.TrackHeldUntil, tables.DateTime(max(t.heldUntil, firstDateTime)))
	}
	if t.chain != t.read.chain {
		t.chain.setChain(e)
	}
	if t.refoldMark != t.read.refoldMark {
		t.refoldMark.setRefold(e)
	}
}

// firstDateTime is the start of 1601, before which storage keeps no time. learn.microsoft.com: "Understanding the Table
// service data model", Property types.
const firstDateTime tables.Ticks = 504911232000000000

// appendOpen encodes the outputs that later samples can change, with the versions that were written last.
func appendOpen(b []byte, open map[Output]tables.ETag) []byte {
	b = pack.Int(b, len(open))
	for _, o := range sortedOutputs(open) {
		for _, text := range [...]string{o.Table, o.PartitionKey, o.RowKey, string(open[o])} {
			b = pack.Text(b, text)
		}
	}
	return b
}

func parseOpen(b []byte) (map[Output]tables.ETag, error) {
	open := map[Output]tables.ETag{}
	if len(b) == 0 {
		return open, nil
	}
	r := pack.NewReader(b)
	for range r.Count() {
		o := Output{Table: r.Text(), PartitionKey: r.Text(), RowKey: r.Text()}
		open[o] = tables.ETag(r.Text())
	}
	return open, r.Err()
}
