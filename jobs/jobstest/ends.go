package jobstest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/schema"
)

// Ends returns all outputs and checkpoints, without what depends on who wrote them when.
func (f *Fleet) Ends(t testing.TB) map[string]string {
	t.Helper()
	client, out := f.World.Connect(t, nil), map[string]string{}
	for _, name := range append(processors.Outputs(f.Names), f.Names.Partitions("live"), f.Names.Rejects()) {
		for _, e := range Rows(t, client.Table(name), tables.Query{}) {
			key := e.RowKey
			if name == f.Names.Rejects() { // slots follow from who came first
				key = e.Get(schema.RejectRow).Text()
			}
			text := lasting(&e)
			if text == "" {
				continue // an output without sensors
			}
			key = strings.TrimPrefix(name, strings.TrimSuffix(f.Names.Fleet(), "fleet")) + "/" + e.PartitionKey + "/" + key
			out[key] = strings.TrimPrefix(out[key]+" and again"+text, " and again")
		}
	}
	return out
}

// lasting is the properties of a row that do not depend on who wrote it when.
func lasting(e *tables.Entity) string {
	var all []string
	for _, p := range e.Properties {
		switch p.Name {
		case schema.TrackFence, schema.TrackGeneration, schema.TrackClaim, schema.TrackClaimUntil, schema.TrackTakeovers,
			schema.TrackCommitted, schema.TrackOpen, schema.TrackChainMark, schema.TrackChainUntil, schema.TrackRefoldMark,
			schema.TrackRefoldUntil, schema.TrackCoverage, schema.TrackRefoldRow, schema.TrackRefoldLedger,
			schema.TrackRefoldRejects, schema.TrackRefoldKnown,
			schema.TrackRegained, schema.TrackImported, schema.TrackImporting, schema.TrackUncut, schema.TrackBatchRows,
			schema.TrackBatchTook, schema.TrackRecounted, "At",
			schema.RejectNumber, fold.FenceProperty:
			continue
		case schema.TrackAttempts, schema.TrackHeld, schema.TrackHeldUntil:
			if row := e.Get(schema.TrackAttempts); row.Int() == 0 {
				continue // it has failed, and is well
			}
		}
		if strings.HasPrefix(p.Name, schema.TrackRefolded) || strings.HasPrefix(p.Name, schema.TrackRebuilt) {
			continue // how far a refold has got
		}
		value := p.Value.String()
		if b := p.Value.Binary(); b != nil {
			value = fmt.Sprintf("%x", b)
		}
		all = append(all, fmt.Sprintf(" %s=%s", p.Name, value))
	}
	slices.Sort(all)
	return strings.Join(all, "")
}

// SameEnds ends the test where two ends differ.
func SameEnds(t testing.TB, got, want map[string]string, about ...any) {
	t.Helper()
	if d := Differ(got, want); d != "" {
		t.Fatal(fmt.Sprint(about...), ": ", d)
	}
}

// Differ describes the first difference between two ends.
func Differ(got, want map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			return fmt.Sprintf("%s is\n%s\nwant\n%s", k, got[k], want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			return k + " should not be there"
		}
	}
	return ""
}

// WithoutHistory removes from ends how they came about.
func WithoutHistory(ends map[string]string) map[string]string {
	how := regexp.MustCompile(` (State_\w+|Late|LedgerFrom|Refold|Attempts|Held|HeldUntil)=\S*`)
	for k, v := range ends {
		if strings.HasPrefix(k, "partitions") {
			ends[k] = how.ReplaceAllString(v, "")
		}
	}
	return ends
}
