package tracking

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"furrow/jobs/coverage"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestStatesComeBackWhateverWasThere: a row is merged again and again with states that grow and shrink.
func TestStatesComeBackWhateverWasThere(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	row := tables.Entity{PartitionKey: "2026-11", RowKey: "d"}
	for range 200 {
		states := map[string][]byte{"latest": nil, "rollup": nil, "a1": nil}
		for name := range states {
			b := make([]byte, r.IntN(3)*r.IntN(100<<10))
			for i := range b {
				b[i] = byte(r.Uint32())
			}
			states[name] = b
		}
		e := tables.Entity{PartitionKey: "2026-11", RowKey: "d"}
		SetStates(&e, schema.TrackStates, states)
		for _, p := range e.Properties {
			row.Set(p.Name, p.Value)
		}
		must.Succeed(t, row.Check())
		got, err := statesOf(&row, schema.TrackStates)
		maps.DeleteFunc(states, func(_ string, b []byte) bool { return len(b) == 0 }) // is none
		if err != nil || !maps.EqualFunc(got, states, bytes.Equal) {
			t.Fatalf("states come back as others, %v", err)
		}
	}
}

func TestDamagedStatesAreErrors(t *testing.T) {
	for _, b := range [][]byte{{}, {0, 0, 0}, {0, 0, 0, 2, 1}, {255, 255, 255, 255, 1}} {
		e := tables.Entity{}
		e.Set("State_latest", tables.Binary(b))
		if got, err := statesOf(&e, schema.TrackStates); err == nil {
			t.Errorf("%x is read as %v", b, got)
		}
	}
}

// TestTrackingRowOfTheLargestDeviceFits: all states twice, the longest ledger twice, and every open output in all its
// parts.
func TestTrackingRowOfTheLargestDeviceFits(t *testing.T) {
	now := tables.TicksOf(time.Date(2026, 11, 20, 23, 59, 0, 0, time.UTC))
	l := &Ledger{}
	for at := now.Add(-schema.MaxBackfill - schema.MaxLife); at < now; at += tables.Hour {
		l.add(at, 3600)
	}
	l.Compact(now)
	state := func(kib int) []byte { return make([]byte, kib<<10) }
	track := New()
	track.Ledger, track.Last, track.Settings, track.Held = l, strings.Repeat("9", 80), strings.Repeat("s",
		200), strings.Repeat("h", MaxHeld)
	track.States = map[string][]byte{"latest": state(128), "rollup": state(304), "rate": state(48)}
	for n := range tables.Ticks(coverage.MaxParts) {
		day := now.Floor(tables.Day) - 2*n*tables.Day
		track.Coverage.Stale(coverage.Window{From: day, To: day + 1}, coverage.Rebuild)
	}
	track.Again, track.Rebuilt = map[string][]byte{"latest": state(128)}, true
	track.Stream = Stream{Row: strings.Repeat("9", 80), Counted: &Ledger{}, States: map[string][]byte{"rollup": state(304),
		"rate": state(48)}}
	for n := range int64(schema.RejectSlots) {
		track.Stream.Rejects.Add(schema.Reject{Row: strings.Repeat("r", int(n)), Reading: strings.Repeat("\x01", 16<<10)})
		track.Stream.Rejects.Known.Learn([]string{fmt.Sprint(n, strings.Repeat("k", 600))}, n+1)
	}
	for n := range 12 {
		o := fold.Output{Table: "rollups", PartitionKey: strings.Repeat("p", 200),
			RowKey: fmt.Sprint(n, strings.Repeat("r", 150))}
		for part := range fold.MaxParts {
			track.Open[o.Part(part+1)] = tables.ETag(strings.Repeat("e", 60))
		}
	}
	op := track.Committed(schema.Member{Month: schema.Month{Year: 2026, Month: 11},
		Device: schema.DeviceID(strings.Repeat("d", 128))}, strings.Repeat("c", 26))
	if err := op.Entity.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d bytes", op.Entity.Size(), tables.MaxEntity)
}

// TestCarriedRejectsHaveShorterTextsTheMoreThereAre, and are the newest that fit where their keys are too long for
// that. All of them are counted.
func TestCarriedRejectsHaveShorterTextsTheMoreThereAre(t *testing.T) {
	today := tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)).Floor(tables.Day)
	for _, test := range []struct{ key, least, most int }{{1, 54, 54}, {400, 10, 53}} {
		var r Rejects
		for n := range 150 {
			at := today - tables.Day + tables.Ticks(n)*tables.Hour/4 // 96 of the day before, then 54
			r.Add(schema.Reject{Row: at.String() + strings.Repeat("x", test.key), Reason: fmt.Sprint(n),
				Reading: strings.Repeat("v", 20*n)})
		}
		before, of := r.Split(today)
		if before.Count != 96 || len(before.Kept) != 96 || of.Count != 54 || len(of.Kept) != 54 ||
			of.Kept[0].Reason != "96" {
			t.Errorf("%d and %d rejects; %d and %d are kept", before.Count, of.Count, len(before.Kept), len(of.Kept))
		}
		b := of.append(nil)
		got, err := parseRejects(b)
		if n := len(got.Kept); err != nil || len(b) > maxCarried+8 || got.Count != 54 || got.day != today ||
			n < test.least || n > test.most {
			t.Fatalf("%d bytes: %d of %d rejects, %v", len(b), n, got.Count, err)
		}
		newest := (today + 53*tables.Hour/4).String()
		last := got.Kept[len(got.Kept)-1]
		if !strings.HasPrefix(last.Row, newest) || len(last.Reading) > maxCarriedText+len("…") {
			t.Errorf("the last one is %+v", last)
		}
	}
}

// TestKnownRejectsThatDoNotFitAreCounted: of rows that are not carried to the next portion, so many are taken for those
// that were counted.
func TestKnownRejectsThatDoNotFitAreCounted(t *testing.T) {
	var ring []string
	for n := range schema.RejectSlots {
		ring = append(ring, fmt.Sprintf("%02d%s", n, strings.Repeat("x", 300)))
	}
	var k Known
	k.Learn(ring, 150)
	k = k.after("49y")
	b := k.append(nil)
	got, err := parseKnown(b)
	if n := len(got.rows); err != nil || len(b) > maxKnown+100 || n == 0 || int(got.lacks)+n != 100 {
		t.Fatalf("%d bytes: %d rows, and %d that are lacking, %v", len(b), n, got.lacks, err)
	}
	got.Learn(ring, 150)
	if n := got.Uncounted(200); n != 200-(100-int64(len(got.rows)-50)) && n < 100 {
		t.Errorf("of 200 unknown rejects %d are new", n)
	}
}
