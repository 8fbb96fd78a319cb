package jobs

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"strings"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// A track is a row of the partition-tracking table: how far a pipeline has got with a device, and everything that must
// change together with that. It is read, claimed and committed as one entity.
type track struct {
	etag    tables.ETag // empty if there is no row
	last    string      // LastReadRowKey: rows up to it are folded and counted
	fence   tables.Ticks
	hold    hold
	states  map[string][]byte // by processor
	open    map[fold.Output]tables.ETag
	ledger  *Ledger
	rows    int64 // folded since the beginning
	rejects int64 // rows with rejected values since the beginning; sets the ring's position

	format     int64 // newest format of the row or an output of its device
	generation int64 // newest configuration that committed the row

	settings string // Pipeline.Settings of the last fold
	refold   cursor
	stream   stream            // progress of the refold cursor
	again    map[string][]byte // states of merging processors from the rows that the cursor has passed; nil removes one
	rebuilt  bool              // again has changed since the row was read
	gap      window            // days that the ledger covers again, and that are not counted yet
	floor    tables.Ticks      // start of the ledger and of every audit
	late     int64             // late rows that audits have found

	// watermark is the time below which rows may be gone. The cursor, the floor and the checkpoint of whoever begins
	// never lie below it.
	watermark tables.Ticks

	imported  tables.Ticks // ID of the last import that the pipeline knows
	importing window       // rows of imports and moves that the cursor has not passed yet: they are not late

	spans   schema.Spans // of the membership, as the rows are folded or will be when the cursor has passed
	uncut   tables.Ticks // an attempt that knew other spans or settings may have left outputs of rows up to here
	settled bool         // the membership has ended, and nothing is left to do

	waits wait // of retention

	marks
	read struct { // what the row said
		marks
		refold    cursor
		row       string
		gap       window
		imported  tables.Ticks
		importing window
		spans     string
		uncut     tables.Ticks
		settled   bool
		waits     wait
	}
}

// marks say that other jobs should pass over a device, and why, or who continues with it.
type marks struct {
	attempts   int          // failures in a row
	held       string       // reason of the last one
	heldUntil  tables.Ticks // it is passed over until then
	chain      mark         // of a chain for a device far behind
	refoldMark mark         // of the message that works off the refold cursor
}

// heldAt reports whether jobs pass over the device at a moment.
func (m marks) heldAt(now tables.Ticks) bool {
	return schema.Expected(m.heldUntil, now, schema.LongestPause)
}

// String returns the cursor as stored on the tracking row, empty if there is nothing to fold.
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
		return c, fmt.Errorf("refold cursor %s: %w", tables.Quote(s), err)
	}
	return c, nil
}

// with returns a cursor that covers both.
func (c cursor) with(o cursor) cursor {
	switch {
	case c.empty():
		return o
	case o.empty():
		return c
	}
	return cursor{window{min(c.from, o.from), max(c.to, o.to)}, c.rebuild || o.rebuild}
}

// trackOf reads a row of the tracking table. If the row cannot be read, it still returns what is needed to count the
// failure: version, marks and claim.
func trackOf(e tables.Entity) (*track, error) {
	if err := schema.CheckFormat(schema.FormatOf(&e)); err != nil {
		return &track{etag: e.ETag}, err
	}
	f := e.Fields()
	t := &track{
		format: schema.FormatOf(&e),
		etag:   e.ETag, last: f.String(schema.TrackCheckpoint), fence: tables.Ticks(f.Int(schema.TrackFence)),
		hold: hold{f.String(schema.TrackClaim), f.String(schema.TrackCommitted), f.Ticks(schema.TrackClaimUntil),
			int(f.Int(schema.TrackTakeovers))},
		rows: f.Int(schema.TrackRows), rejects: f.Int(schema.TrackRejects), late: f.Int(schema.TrackLate),
		generation: f.Int(schema.TrackGeneration), settings: f.String(schema.TrackSettings),
		floor:     max(tables.Ticks(f.Int(schema.TrackLedgerFrom)), tables.Ticks(f.Int(schema.TrackWatermark))),
		watermark: tables.Ticks(f.Int(schema.TrackWatermark)), imported: tables.Ticks(f.Int(schema.TrackImported)),
		marks: marks{attempts: int(f.Int(schema.TrackAttempts)), held: f.String(schema.TrackHeld),
			heldUntil:  timeOf(f, schema.TrackHeldUntil),
			chain:      mark{f.String(schema.TrackChainMark), timeOf(f, schema.TrackChainUntil)},
			refoldMark: mark{f.String(schema.TrackRefoldMark), timeOf(f, schema.TrackRefoldUntil)}},
	}
	t.read.marks, t.read.imported = t.marks, t.imported
	t.settled, t.read.spans = f.Boolean(schema.TrackSettled), f.String(schema.TrackSpans)
	t.read.settled, t.read.uncut = t.settled, tables.Ticks(f.Int(schema.TrackUncut))
	if t.uncut = t.read.uncut; t.hold.unfinished() {
		t.uncut = max(t.uncut, t.fence)
	}
	t.waits = wait{Cause(f.String(schema.TrackWaits)), tables.Ticks(f.Int(schema.TrackWaitsFrom))}
	t.read.waits = t.waits
	var err error
	if t.refold, err = parseCursor(f.String(schema.TrackRefold)); err != nil {
		return t, err
	}
	t.read.refold = t.refold
	if t.spans, err = schema.ParseSpans(t.read.spans); err != nil {
		return t, err
	}
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

// state returns a processor's state, or nil.
func (t *track) state(name string) []byte {
	if len(t.states[name]) == 0 {
		return nil
	}
	return t.states[name]
}

// newTrack returns the track of a device that was never folded.
func newTrack() *track {
	return &track{states: map[string][]byte{}, again: map[string][]byte{}, open: map[fold.Output]tables.ETag{},
		ledger: &Ledger{}}
}

// claimed returns the merge that claims the row. The fence outranks every earlier writer, even those of a row that was
// deleted and created again.
func (t *track) claimed(m schema.Member, fence tables.Ticks, h hold) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Key())}
	e.Set(schema.TrackFence, tables.Int64(int64(fence)))
	h.set(&e)
	if t.etag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.etag)
}

// committed returns the merge that moves the checkpoint, on the claim's version. It records the claim's ID to show that
// it was done.
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
	t.setImports(&e)
	t.setSpans(&e)
	t.setWaits(&e)
	setStates(&e, schema.TrackStates, t.states)
	schema.SetFormat(&e, t.format)
	return tables.Merge(e, t.etag)
}

// setMarks sets the marks that have changed. A removed time becomes the earliest one that storage accepts, because a
// merge removes nothing.
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

// timeOf returns the time of a property that setMarks or mark.set has written; zero if it was removed.
func timeOf(f *tables.Fields, name string) tables.Ticks {
	if at := f.Ticks(name); at > firstDateTime {
		return at
	}
	return 0
}

// firstDateTime is the start of 1601, the earliest time that storage accepts. learn.microsoft.com: "Understanding the
// Table service data model", Property types.
const firstDateTime tables.Ticks = 504911232000000000

// appendOpen encodes the outputs that later samples can change, with the versions that were written last.
func appendOpen(b []byte, open map[fold.Output]tables.ETag) []byte {
	b = pack.Int(b, len(open))
	for _, o := range sortedOutputs(open) {
		for _, text := range [...]string{o.Table, o.PartitionKey, o.RowKey, string(open[o])} {
			b = pack.Text(b, text)
		}
	}
	return b
}

func parseOpen(b []byte) (map[fold.Output]tables.ETag, error) {
	open := map[fold.Output]tables.ETag{}
	if len(b) == 0 {
		return open, nil
	}
	r := pack.NewReader(b)
	for range r.Count() {
		o := fold.Output{Table: r.Text(), PartitionKey: r.Text(), RowKey: r.Text()}
		open[o] = tables.ETag(r.Text())
	}
	return open, r.Err()
}

// trackRows reads a range of the tracking table beside that of the fleet. Both are in the order of their keys, so each
// is read once, page by page.
type trackRows struct {
	next func() (tables.Page, error, bool)
	stop func()
	rows []tables.Entity // remaining rows of the current page
	done bool
	seen map[string]*seenGroups // of the partitions so far
}

// newTrackRows reads the properties that a plan needs. The states would be many times as much.
func newTrackRows(ctx context.Context, table *tables.Table, part tables.Range) *trackRows {
	q := tables.Query{Range: part, Select: append(schema.TrackProperties(), schema.GroupTurnProperties()...)}
	t := &trackRows{}
	t.next, t.stop = iter.Pull2(table.Rows(ctx, q))
	return t
}

// of returns the tracking row with the keys of a row of the fleet, which must come after that of the last call. If
// there is none, the entity has no properties. Rows of devices outside the fleet are skipped.
func (t *trackRows) of(member tables.Entity) (tables.Entity, error) {
	for {
		for len(t.rows) > 0 && compareKeys(t.rows[0], member) < 0 {
			t.see(t.rows[0])
			t.rows = t.rows[1:]
		}
		switch {
		case len(t.rows) > 0 && compareKeys(t.rows[0], member) == 0:
			return t.rows[0], nil
		case len(t.rows) > 0 || t.done:
			return tables.Entity{}, nil
		}
		page, err, more := t.next()
		if err != nil {
			return tables.Entity{}, err
		}
		t.rows, t.done = page.Rows, !more
	}
}

// see notes what a row says about the groups of its partition, if it is not that of a device.
func (t *trackRows) see(e tables.Entity) {
	if strings.HasPrefix(e.RowKey, schema.Separator) {
		if t.seen[e.PartitionKey] == nil {
			t.seen[e.PartitionKey] = &seenGroups{}
		}
		t.seen[e.PartitionKey].see(e)
	}
}

// compareKeys orders entities as storage does.
func compareKeys(a, b tables.Entity) int {
	return cmp.Or(strings.Compare(a.PartitionKey, b.PartitionKey), strings.Compare(a.RowKey, b.RowKey))
}
