package tracking

import (
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/tables"
	"furrow/tables/schema"
)

// stored returns a row of the tracking table that a commit has written.
func stored(t *testing.T, row *Row) tables.Entity {
	t.Helper()
	if row.Was == nil {
		row.Remember()
	}
	return row.Committed(schema.Member{Month: schema.Month{Year: 2026, Month: 11}, Device: "d"}, "c").Entity
}

func without(e tables.Entity, property string) (left tables.Entity) {
	left = tables.Entity{PartitionKey: e.PartitionKey, RowKey: e.RowKey, ETag: e.ETag}
	for _, p := range e.Properties {
		if p.Name != property {
			left.Set(p.Name, p.Value)
		}
	}
	return left
}

func read(t *testing.T, e tables.Entity) *Row {
	t.Helper()
	row, err := RowOf(e)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// TestOlderFormLosesNothing: a version that knows the older form alone takes no day for sealed that is not, and makes
// all stale days again. What it has changed counts, and not what the coverage beside it says.
func TestOlderFormLosesNothing(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	first := tables.TicksOf(time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC))
	for range 500 {
		row := New()
		row.Last = first.Add(60 * 24 * time.Hour).String()
		for range random.IntN(12) {
			from := first + tables.Ticks(random.IntN(60))*tables.Day
			to := from + tables.Ticks(1+random.IntN(9))*tables.Day
			w := coverage.Window{From: from, To: min(to, tables.TicksBefore(row.Last)+1)}
			switch random.IntN(5) {
			case 0:
				row.FoldAgain(w, coverage.Reason(1)<<random.IntN(6))
			case 1:
				row.Rebuild(coverage.Settings)
			case 2:
				row.Coverage.Made(row.Coverage.Next())
			default:
				row.Coverage.Seal(coverage.Window{To: w.To}, coverage.Known{At: w.To, Late: time.Hour})
			}
		}
		e := stored(t, row)
		if got := read(t, e); !got.Coverage.Equal(row.Coverage) {
			t.Fatalf("%+v is read as %+v", row.Coverage, got.Coverage)
		}
		older := read(t, without(e, schema.TrackCoverage)).Coverage
		if older.RebuildTo != row.Coverage.RebuildTo {
			t.Errorf("merging outputs are rebuilt up to %s, not %s", older.RebuildTo, row.Coverage.RebuildTo)
		}
		for day := first; day < first+61*tables.Day; day += tables.Day {
			today := coverage.Window{From: day, To: day + tables.Day}
			was, is := row.Coverage.Parts(today)[0], older.Parts(today)[0]
			if is.Sealed && !was.Sealed || was.Stale() && !is.Stale() {
				t.Fatalf("%s was %+v and is %+v, of %+v", day, was, is, row.Coverage)
			}
		}
		rewound := cursor(coverage.Window{From: first, To: first + 3}) // by an older version
		e.Set(schema.TrackRefold, tables.String(rewound))
		if next := read(t, e).Coverage.Next(); next.From != first {
			t.Fatalf("after a rewind by another version, %+v is made again", next)
		}
	}
}

// TestRowOfAnOlderVersionIsNotFoldedAgain: it has a ledger of 8 days, nothing is stale, and tokens admit what they did.
func TestRowOfAnOlderVersionIsNotFoldedAgain(t *testing.T) {
	now := tables.TicksOf(time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC))
	known := coverage.Known{At: now, Late: 8 * 24 * time.Hour}
	floor := now.Add(-known.Late).Floor(tables.Day)
	e := without(stored(t, &Row{Ledger: &Ledger{}, Last: now.String()}), schema.TrackCoverage)
	e.Set(schema.TrackLedgerFrom, tables.Int64(int64(floor)))
	c := read(t, e).Coverage
	if first, last := c.SealedTo(); first != floor || last != floor {
		t.Errorf("days are sealed up to %s, %s", first, last)
	}
	if reopened := c.Admit(known); reopened || !c.Next().Empty() {
		t.Errorf("%+v is made again", c.Next())
	}
	known.Late += 24 * time.Hour
	if reopened := c.Admit(known); !reopened || c.Next() != (coverage.Window{From: floor - tables.Day, To: floor}) {
		t.Errorf("where tokens admit a day more, %+v is made again", c.Next())
	}
	e.Set(schema.TrackSpans, tables.String(schema.Spans{{To: floor + 2*tables.Day}}.String()))
	e.Set(schema.TrackSettled, tables.Boolean(true))
	if open, _ := read(t, e).Coverage.Open(floor + 2*tables.Day); open != floor+2*tables.Day {
		t.Errorf("a membership for which nothing was left to do is open from %s on", open)
	}
}
