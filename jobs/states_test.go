package jobs

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"testing"

	"furrow/tables"
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
		if err := row.Check(); err != nil {
			t.Fatal(err)
		}
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
