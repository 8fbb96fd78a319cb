package jobs

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest"
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
		setStates(&e, schema.TrackStates, states)
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
	for at := now.Add(-schema.MaxBackfill - schema.MaxLife); at < now; at += hour {
		l.add(at, 3600)
	}
	l.Compact(now)
	state := func(kib int) []byte { return make([]byte, kib<<10) }
	track := newTrack()
	track.ledger, track.last, track.settings, track.held = l, strings.Repeat("9", 80), strings.Repeat("s",
		200), strings.Repeat("h", maxHeldText)
	track.states = map[string][]byte{"latest": state(128), "rollup": state(304), "rate": state(48)}
	track.refold = cursor{window{1, 2}, true}
	track.again, track.rebuilt = map[string][]byte{"latest": state(128)}, true
	track.stream = stream{row: strings.Repeat("9", 80), counted: &Ledger{}, states: map[string][]byte{"rollup": state(304),
		"rate": state(48)}}
	for n := range int64(schema.RejectSlots) {
		track.stream.rejects.add(schema.Reject{Row: strings.Repeat("r", int(n)), Reading: strings.Repeat("\x01", maxRowText)})
	}
	for n := range 12 {
		o := fold.Output{Table: "rollups", PartitionKey: strings.Repeat("p", 200),
			RowKey: fmt.Sprint(n, strings.Repeat("r", 150))}
		for part := range fold.MaxParts {
			track.open[o.Part(part+1)] = tables.ETag(strings.Repeat("e", 60))
		}
	}
	op := track.committed(schema.Member{Month: schema.Month{Year: 2026, Month: 11},
		Device: schema.DeviceID(strings.Repeat("d", 128))}, strings.Repeat("c", 26))
	if err := op.Entity.Check(); err != nil {
		t.Error(err)
	}
	t.Logf("%d of %d bytes", op.Entity.Size(), tables.MaxEntity)
}

// TestCarriedRejectsAreTheNewestThatFit, and all of them are counted.
func TestCarriedRejectsAreTheNewestThatFit(t *testing.T) {
	var r rejects
	today := floorTo(tables.TicksOf(time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC)), day)
	for n := range 150 {
		at := today - day + tables.Ticks(n)*hour/4 // 96 of the day before, then 54
		r.add(schema.Reject{Row: at.String() + "x", Reason: fmt.Sprint(n), Reading: strings.Repeat("v", 20*n)})
	}
	before, of := r.split(today)
	if before.count != 96 || len(before.kept) != 46 || of.count != 54 || len(of.kept) != 54 || of.kept[0].Reason != "96" {
		t.Errorf("%d and %d rejects; %d and %d are kept", before.count, of.count, len(before.kept), len(of.kept))
	}
	b := of.append(nil)
	got, err := parseRejects(b)
	if n := len(got.kept); err != nil || len(b) > maxCarried+8 || got.count != 54 || got.day != today || n < 10 ||
		n == 54 {
		t.Fatalf("%d bytes: %d of %d rejects, %v", len(b), n, got.count, err)
	}
	if last := got.kept[len(got.kept)-1]; last.Reason != "149" || len(last.Reading) > maxCarriedText+len("…") {
		t.Errorf("the last one is %+v", last)
	}
}

// counted counts requests, and the rows that they ask for at most.
type counted struct{ requests, rows int }

func (c *counted) Do(r *http.Request) (*http.Response, error) {
	c.requests++
	if top, err := strconv.Atoi(r.URL.Query().Get("$top")); err == nil {
		c.rows += top
	}
	return http.DefaultClient.Do(r)
}

// TestConflictReadsTheKeysConcerned: of a partition with the minutes of many devices, in which the keys of a
// transaction lie far apart.
func TestConflictReadsTheKeysConcerned(t *testing.T) {
	const devices, minutes = 20, 200
	in := azuretest.Local(t)
	account := must.Have(tables.ParseAccount(in.ConnectionString()))(t)
	through := &counted{}
	client := must.Have(tables.Connect(tables.Config{Account: account, Transport: through}))(t)
	table := client.Table("minutes")
	must.Succeed(t, table.Create(t.Context()))
	var ops []tables.Op
	var keys []string
	for d := range devices {
		for n := range minutes {
			e := tables.Entity{PartitionKey: "p", RowKey: fmt.Sprintf("d%02d!%04d", d, n)}
			ops = append(ops, tables.Insert(e))
		}
		// one that is there, one that is not
		keys = append(keys, fmt.Sprintf("d%02d!%04d", d, minutes-1), fmt.Sprintf("d%02d!%04d", d, minutes))
	}
	groups := must.Have(tables.Cut(ops))(t)
	for _, g := range groups {
		must.Have(table.Submit(t.Context(), g))(t)
	}
	*through = counted{}
	found, err := find(t.Context(), table, "p", keys)
	if err != nil || len(found) != devices {
		t.Fatalf("%d rows are found, %v", len(found), err)
	}
	if through.requests > devices+1 || through.rows > devices*(2*devices+8) {
		t.Errorf("%d requests for up to %d rows, of %d keys among %d rows", through.requests, through.rows, len(keys),
			len(ops))
	}
	t.Logf("%d requests for up to %d rows", through.requests, through.rows)
}

func TestChunksAreBoundedInRowsAndBytes(t *testing.T) {
	rows := func(n, bytes int) (all []tables.Entity) {
		for range n {
			e := tables.Entity{PartitionKey: "d", RowKey: "0639308160000000000"}
			e.Set("a", tables.String(strings.Repeat("x", bytes/2)))
			all = append(all, e)
		}
		return all
	}
	for _, c := range []struct{ rows, bytes, want int }{{0, 0, 0}, {1, 60 << 10, 1}, {5, 60 << 10, 1}, {50, 400, 50},
		{1000, 400, 100}, {1000, 6 << 10, 10}} {
		if got := chunkOf(rows(c.rows, c.bytes)); got != c.want {
			t.Errorf("of %d rows of %d bytes %d are a chunk, want %d", c.rows, c.bytes, got, c.want)
		}
	}
}
