package verify

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A track is what a pipeline's tracking row says of a device.
type track struct {
	schema.Track
	version   version
	settings  string
	spans     schema.Spans
	imported  tables.Ticks
	watermark tables.Ticks
	counted   []counted // the ledger
	days      []days    // the coverage: those that are sealed or stale; all others are right, and in the ledger
	again     days      // to be made again once more
	known     known     // what the last audit knew that sealed days
}

// A version of a tracking row. Whoever writes outputs raises the fence before, and says when that is committed.
type version struct {
	fence     int64
	committed string
	etag      tables.ETag
}

// counted is how many rows the checkpoint has passed in an hour or a day.
type counted struct {
	from, to tables.Ticks
	rows     int64
}

// days are successive ones that are alike in the coverage.
type days struct {
	from, to tables.Ticks
	sealed   bool
	why      int64 // they are to be made again, if it is not 0
}

// known is when an audit began, by the earliest of all clocks, and how old rows were that tokens admitted then.
type known struct {
	at   tables.Ticks
	late time.Duration
}

// Bits of why days are to be made again, as coverages are stored.
const (
	whyLate    = 1 << 0
	whyMove    = 1 << 3
	whySealed  = 1 << 5                                   // and rows may have come since
	uncounted  = 1<<2 | whyMove | whySealed | 1<<8 | 1<<9 // imports, moves, broken seals, joined days, clocks
	versionOne = 1
)

// readTrack reads the tracking row of a membership, and the time of the service.
func readTrack(ctx context.Context, t *tables.Table, m schema.Member) (row track, now tables.Ticks, err error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(m.Month.String()), Rows: tables.Is(string(m.Key()))},
		Select: trackProperties()}
	for page, err := range t.Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return row, now, nil
		}
		if err != nil {
			return row, now, err
		}
		now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			if row, err = trackOf(e); err != nil {
				return row, now, err
			}
		}
	}
	return row, now, nil
}

func trackProperties() []string {
	return append(schema.TrackProperties(), schema.TrackFence, schema.TrackSettings, schema.TrackLedger,
		schema.TrackCoverage, schema.TrackWatermark, schema.TrackRest)
}

func trackOf(e tables.Entity) (t track, err error) {
	if t.Track, err = schema.TrackOf(e); err != nil {
		return t, err
	}
	f := e.Fields()
	t.version, t.settings = version{f.Int(schema.TrackFence), t.Committed, e.ETag}, f.String(schema.TrackSettings)
	t.imported, t.watermark = tables.Ticks(f.Int(schema.TrackImported)), tables.Ticks(f.Int(schema.TrackWatermark))
	var errSpans, errLedger, errCoverage error
	t.spans, errSpans = schema.ParseSpans(f.String(schema.TrackSpans))
	t.counted, errLedger = ledgerOf(f.Binary(schema.TrackLedger))
	errCoverage = t.readCoverage(f.Binary(schema.TrackCoverage))
	if err := errors.Join(errSpans, errLedger, errCoverage, f.Err()); err != nil {
		return t, fmt.Errorf("tracking row of %s: %w", t.Place.Device(), err)
	}
	return t, nil
}

// A numbers is a list of whole numbers in a property, after a byte with its version.
type numbers struct {
	rest []byte
	bad  bool
}

func (n *numbers) next() int64 {
	i, size := binary.Varint(n.rest)
	if size <= 0 {
		n.rest, n.bad = nil, true
		return 0
	}
	n.rest = n.rest[size:]
	return i
}

func numbersOf(b []byte) (*numbers, error) {
	if b[0] != versionOne {
		return nil, fmt.Errorf("version %d of a ledger or a coverage is unknown: a newer furrow has written it", b[0])
	}
	return &numbers{rest: b[1:]}, nil
}

var errNumbers = errors.New("a ledger or a coverage is damaged")

// ledgerOf decodes a ledger: for each span hours since the start of the one before, whether it is a day, and rows.
func ledgerOf(b []byte) (all []counted, err error) {
	if len(b) == 0 {
		return nil, nil
	}
	n, err := numbersOf(b)
	if err != nil {
		return nil, err
	}
	var at tables.Ticks
	for left := n.next(); left > 0 && !n.bad; left-- {
		at += tables.Ticks(n.next()) * tables.Hour
		c := counted{from: at, to: at + tables.Hour}
		if n.next() == 1 {
			c.to = at + tables.Day
		}
		c.rows = n.next()
		all = append(all, c)
	}
	if n.bad || len(n.rest) > 0 {
		return nil, errNumbers
	}
	return all, nil
}

// readCoverage decodes a coverage.
func (t *track) readCoverage(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	n, err := numbersOf(b)
	if err != nil {
		return err
	}
	n.next() // events
	t.known = known{at: tables.Ticks(n.next()), late: time.Duration(n.next())}
	t.again = days{from: ticksOfDays(n.next()), to: ticksOfDays(n.next())}
	n.next() // when they are made again
	n.next() // up to where merging outputs are rebuilt
	var at tables.Ticks
	for left := n.next(); left > 0 && !n.bad; left-- {
		d := days{from: at + ticksOfDays(n.next())}
		d.to = d.from + ticksOfDays(n.next())
		flags := n.next()
		d.sealed, d.why, at = flags&1 == 1, flags>>1, d.to
		t.days = append(t.days, d)
	}
	if n.bad || len(n.rest) > 0 {
		return errNumbers
	}
	return nil
}

// ticksOfDays returns so many days, limited to all time.
func ticksOfDays(n int64) tables.Ticks {
	return tables.Ticks(min(max(n, 0), int64((tables.MaxTicks+1)/tables.Day))) * tables.Day
}

// over returns what the coverage says of a time: the reasons for which any of its days is to be made again, and
// whether all of them are sealed.
func (t *track) over(from, to tables.Ticks) (why int64, sealed bool) {
	at, sealed := from, true
	for _, d := range t.days {
		if d.from >= to || d.to <= from {
			continue
		}
		why |= d.why
		sealed = sealed && d.sealed && d.from <= at
		at = d.to
	}
	return why, sealed && at >= to
}

// unfinished reports whether a job may have written outputs above the checkpoint: it has claimed the row and not
// committed, or was told to stop in between and has given the row back.
func (t *track) unfinished() bool {
	return t.Claimed() || t.Claim == "" && t.version.fence != 0
}

// done reports whether what ends at a time is written: a row from then on is folded, or the device rests for longer.
func (t *track) done(at tables.Ticks) bool {
	return tables.TicksBefore(t.Checkpoint) >= at || t.Rest.Next > at
}

// has reports whether the checkpoint has passed a row.
func (t *track) has(row string) bool { return row <= t.Checkpoint }

// lateAt reports whether storage may have accepted a row after the checkpoint had passed it. A row that was there
// before its settle time was over cannot be: no run reads up to a time before that is over.
func lateAt(r *reading, settle time.Duration) bool {
	return r.stored > tables.TicksBefore(r.row).Add(settle)
}
