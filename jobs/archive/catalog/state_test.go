package catalog_test

import (
	"errors"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/tables/azuretest/must"
)

// TestATableTellsWhatItHas, what each version changed, and since when one waits for being published.
func TestATableTellsWhatItHas(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAccount(t), "state")
	m := w.machine(t, nil)
	state := func(want catalog.State) {
		t.Helper()
		got := must.Have(m.table.State(t.Context()))(t)
		if waits := !got.Waiting.IsZero(); waits != (want.Published < want.Version) ||
			waits && time.Since(got.Waiting) > time.Minute {
			t.Errorf("versions wait since %v", got.Waiting)
		}
		if got.Waiting = want.Waiting; got != want {
			t.Errorf("it has %+v,\nwant %+v", got, want)
		}
	}
	state(catalog.State{Version: 2, Published: 1, Days: 1, First: day, Last: day, Files: 2, Rows: 8, Bytes: 30})
	must.Have(m.table.Pend(t.Context(), day))(t)
	must.Succeed(t, m.merge(t.Context()))
	state(catalog.State{Version: 3, Published: 1, Days: 1, First: day, Last: day, Files: 1, Rows: 8, Bytes: 31})
	must.Succeed(t, m.publish(t.Context()))
	must.Succeed(t, m.retire(t.Context()))
	must.Succeed(t, m.fresh(t.Context()))
	const fresh = 10_005
	state(catalog.State{Version: fresh, Published: fresh})
	var got []catalog.VersionSummary
	for v, err := range m.table.Versions(t.Context(), 0) {
		must.Succeed(t, err)
		if time.Since(v.At) > time.Minute || !v.Published {
			t.Errorf("version %+v", v)
		}
		v.At, v.Published = time.Time{}, false
		got = append(got, v)
	}
	want := []catalog.VersionSummary{
		{Operation: "CREATE TABLE", BeginsTheLog: true},
		{Number: 1, Operation: "WRITE", FilesAdded: 1, RowsAdded: 4},
		{Number: 2, Operation: "WRITE", FilesAdded: 1, RowsAdded: 4},
		{Number: 3, Operation: "MERGE", FilesAdded: 1, RowsAdded: 8, FilesGone: 2, RowsGone: 8},
		{Number: 4, Operation: "DELETE", FilesGone: 1, RowsGone: 8},
		{Number: fresh, Operation: "REPLACE TABLE", Why: "a fresh log", BeginsTheLog: true},
	}
	for i := range want {
		if i >= len(got) || got[i] != want[i] {
			t.Fatalf("its versions are %+v,\nwant %+v", got, want)
		}
	}
	for v, err := range m.table.Versions(t.Context(), 4) {
		must.Succeed(t, err)
		got = append(got, v)
	}
	if newest := got[len(want):]; len(newest) != 2 || newest[0].Number != 4 {
		t.Errorf("its versions from 4 on are %+v", newest)
	}
	must.Succeed(t, m.remove(t.Context()))
	state(catalog.State{Removed: true, Version: fresh, Published: fresh})
	if _, err := w.catalog(t, nil).Table(w.tenant, "other").State(t.Context()); !errors.Is(err, catalog.ErrAbsent) {
		t.Errorf("a table that there never was has a state: %v", err)
	}
}
