package jobstest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"furrow/jobs"
	"furrow/jobs/processors"
	"furrow/tables"
	"furrow/tables/schema"
)

// Ends are all outputs and checkpoints, but for what tells who wrote them when.
func (f *Fleet) Ends(t *testing.T) map[string]string {
	t.Helper()
	client, out := f.World.Connect(t, nil), map[string]string{}
	for _, name := range append(processors.Outputs(f.Names), f.Names.Partitions("live"), f.Names.Rejects()) {
		for page, err := range client.Table(name).Rows(t.Context(), tables.Query{}) {
			Must(t, err)
			for _, e := range page.Rows {
				key := e.RowKey
				if name == f.Names.Rejects() { // slots follow from who came first
					key = e.Get("Row").Text()
				}
				values := map[string]string{}
				for _, p := range e.Properties {
					switch p.Name {
					case schema.TrackFence, schema.TrackGeneration, schema.TrackClaim, schema.TrackClaimUntil, schema.TrackTakeovers,
						schema.TrackCommitted, schema.TrackOpen, schema.TrackChainMark, schema.TrackChainUntil, schema.TrackRefoldMark,
						schema.TrackRefoldUntil, schema.TrackRefoldRow, schema.TrackRefoldLedger, schema.TrackRefoldRejects,
						schema.TrackRegained, "At", "Number", jobs.FenceProperty:
						continue
					case schema.TrackAttempts, schema.TrackHeld, schema.TrackHeldUntil:
						if row := e.Get(schema.TrackAttempts); row.Int() == 0 {
							continue // it has failed, and is well
						}
					}
					if strings.HasPrefix(p.Name, schema.TrackRefolded) || strings.HasPrefix(p.Name, schema.TrackRebuilt) {
						continue // how far a refold has got
					}
					values[p.Name] = p.Value.String()
					if b := p.Value.Binary(); b != nil {
						values[p.Name] = fmt.Sprintf("%x", b)
					}
				}
				if len(values) == 0 {
					continue // an output without sensors
				}
				var text strings.Builder
				for _, n := range slices.Sorted(maps.Keys(values)) {
					fmt.Fprintf(&text, " %s=%s", n, values[n])
				}
				key = strings.TrimPrefix(name, f.Names.Fleet()[:len(f.Names.Fleet())-len("fleet")]) + "/" + e.PartitionKey + "/" +
					key
				out[key] = strings.TrimPrefix(out[key]+" and again"+text.String(), " and again")
			}
		}
	}
	return out
}

// Differ names the first difference between two ends.
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

// Calmly leaves out of the ends what says how they came about.
func Calmly(ends map[string]string) map[string]string {
	how := regexp.MustCompile(` (State_\w+|Late|LedgerFrom|Refold|Attempts|Held|HeldUntil)=\S*`)
	for k, v := range ends {
		if strings.HasPrefix(k, "partitions") {
			ends[k] = how.ReplaceAllString(v, "")
		}
	}
	return ends
}
