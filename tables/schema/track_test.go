package schema

import (
	"slices"
	"strings"
	"testing"

	"furrow/tables"
)

func TestTrackPropertiesAreAllThatTrackOfReads(t *testing.T) {
	whole := tables.Entity{PartitionKey: "2026-11", RowKey: "t!pump-7"}
	for _, name := range []string{TrackCheckpoint, TrackHeld, TrackClaim, TrackCommitted, TrackRefold} {
		whole.Set(name, tables.String(name))
	}
	for i, name := range []string{TrackRows, TrackRejects, TrackLate, TrackAttempts} {
		whole.Set(name, tables.Int64(int64(i+1)))
	}
	for i, name := range []string{TrackHeldUntil, TrackChainUntil} {
		whole.Set(name, tables.DateTime(tables.Ticks(i+7e17)))
	}
	selected := whole
	selected.Properties = slices.DeleteFunc(slices.Clone(whole.Properties), func(p tables.Property) bool {
		return !slices.Contains(TrackProperties(), p.Name)
	})
	want, err := TrackOf(whole)
	got, err2 := TrackOf(selected)
	if err != nil || err2 != nil || got != want || !got.Failing() || !got.Claimed() || got.Rows != 1 || got.Late != 3 ||
		got.BehindUntil != 7e17+1 {
		t.Errorf("%+v, %v\n%+v, %v", got, err2, want, err)
	}
}

func TestErrorsOfInvalidTracksSayWhy(t *testing.T) {
	for want, e := range map[string]tables.Entity{
		"2026-13": {PartitionKey: "2026-13", RowKey: "t!pump-7"},
		"a copy":  {PartitionKey: "2026-11", RowKey: "t!a copy"},
		"Rows": {PartitionKey: "2026-11", RowKey: "t!pump-7",
			Properties: []tables.Property{{Name: TrackRows, Value: tables.String("many")}}},
	} {
		if _, err := TrackOf(e); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("of %q: %v", want, err)
		}
	}
}
