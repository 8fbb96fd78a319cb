package tracking

import (
	"fmt"
	"strings"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// An olderForm is a coverage as versions store and read it that do not know its own form: they have one window that is
// to be made again, and seal all days below a time. It says less, and nothing that the coverage does not: all days that
// are not right lie in the window, and all days below the floor are sealed. It is stored beside the coverage, so that
// both versions can work on a device, one after the other; whoever reads a coverage that another form contradicts goes
// by the latter.
type olderForm struct {
	Floor                       tables.Ticks
	Refold, Regained, Importing string
	Settled                     bool
}

// older returns the older form of the row's coverage.
func (t *Row) older() (o olderForm) {
	c := t.Coverage
	o.Floor, _ = c.SealedTo()
	all := c.Hull(coverage.Any)
	if o.Refold = t.cursor(all); o.Refold != "" && c.RebuildTo != 0 {
		o.Refold += rebuildSuffix
	}
	o.Regained, o.Importing = cursor(c.Hull(coverage.Uncounted)), cursor(c.Hull(coverage.Import|coverage.Move))
	end := t.Spans.End()
	open, _ := c.Open(end)
	o.Settled = end != 0 && open == end
	return o
}

// cursor returns a window up to the checkpoint as it is stored.
func (t *Row) cursor(w coverage.Window) string {
	return cursor(coverage.Window{From: w.From, To: min(w.To, tables.TicksBefore(t.Last)+1)})
}

func cursor(w coverage.Window) string {
	if w.Empty() {
		return ""
	}
	return w.From.String() + "-" + w.To.String()
}

const rebuildSuffix = "-rebuild"

func parseCursor(s string) (w coverage.Window, rebuild bool, err error) {
	if s == "" {
		return w, false, nil
	}
	text, rebuild := strings.CutSuffix(s, rebuildSuffix)
	from, to, _ := strings.Cut(text, "-")
	w.From, err = tables.ParseTicks(from)
	if err == nil {
		w.To, err = tables.ParseTicks(to)
	}
	if err != nil {
		return w, false, fmt.Errorf("refold cursor %s: %w", tables.Quote(s), err)
	}
	return w, rebuild, nil
}

// olderOf reads the older form.
func olderOf(f *tables.Fields) olderForm {
	return olderForm{tables.Ticks(f.Int(schema.TrackLedgerFrom)), f.String(schema.TrackRefold),
		f.String(schema.TrackRegained), f.String(schema.TrackImporting), f.Boolean(schema.TrackSettled)}
}

// coverage returns what the older form says. The row has its spans.
func (o olderForm) coverage(t *Row) (c coverage.Coverage, err error) {
	sealed := o.Floor
	if o.Settled {
		sealed = max(sealed, t.Spans.End().Ceil(tables.Day))
	}
	c.Seal(coverage.Window{To: sealed}, coverage.Known{})
	refold, rebuild, err := parseCursor(o.Refold)
	if err != nil {
		return c, err
	}
	if rebuild {
		c.Stale(refold, coverage.Joined|coverage.Rebuild)
		c.RebuildTo = refold.To
	} else if !refold.Empty() {
		c.Stale(refold, coverage.Joined)
	}
	for text, why := range map[string]coverage.Reason{o.Regained: coverage.Uncounted, o.Importing: coverage.Import} {
		w, _, err := parseCursor(text)
		if err != nil {
			return c, err
		}
		if w.Empty() {
			continue
		}
		if why == coverage.Uncounted {
			c.Reopen(w, why)
		} else {
			c.Stale(w, why)
		}
	}
	return c, nil
}

// readCoverage reads the row's coverage. Its spans and its checkpoint are read.
func (t *Row) readCoverage(f *tables.Fields) (err error) {
	stored, older := f.Binary(schema.TrackCoverage), olderOf(f)
	if t.Coverage, err = coverage.Parse(stored); err != nil || t.older() != older {
		t.Coverage, err = older.coverage(t)
	}
	t.Coverage.Raise(tables.Ticks(f.Int(schema.TrackWatermark)))
	return err
}

// setCoverage sets both forms of the coverage.
func (t *Row) setCoverage(e *tables.Entity) {
	o := t.older()
	e.Set(schema.TrackCoverage, tables.Binary(t.Coverage.Append(nil)))
	e.Set(schema.TrackLedgerFrom, tables.Int64(int64(o.Floor)))
	e.Set(schema.TrackRefold, tables.String(o.Refold))
	e.Set(schema.TrackRegained, tables.String(o.Regained))
	e.Set(schema.TrackImporting, tables.String(o.Importing))
	e.Set(schema.TrackSettled, tables.Boolean(o.Settled))
}
