package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestNoImportEndsForAClockAhead: while it writes, one run sees storage an hour ahead, and takes the import for ended.
func TestNoImportEndsForAClockAhead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		ahead time.Duration
	}{{"right clocks", 0}, {"storage an hour ahead", time.Hour}} {
		t.Run(c.name, func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 20*days, 1, 200)
			imported := func(n int) bool { return n >= 60 && n < 70 } // 14 to 13 days ago
			w.Insert(t, "importing", func(n int) bool { return !imported(n) })
			f := w.NewFleetOf(t, "importing")
			p := f.Pipeline(t, nil)
			must.Succeed(t, f.Settle(t.Context(), p))
			withRecords(t, f)
			registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
			device := must.Have(registry.Get(t.Context(), f.World.Devices[0]))(t)
			from := tables.TicksBefore(w.Rows[0][60].RowKey)
			to := tables.TicksBefore(w.Rows[0][70].RowKey)
			note := must.Have(registry.NoteImport(t.Context(), device, schema.Import{From: from, To: to}, false))(t)
			must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, later(c.ahead))))
			note = must.Have(registry.NoteImport(t.Context(), device, note, false))(t) // the lease is extended in time
			w.Insert(t, "importing", imported)
			must.Have(registry.NoteImport(t.Context(), device, note, true))(t)
			must.Succeed(t, f.Settle(t.Context(), p))
			calm := w.NewFleetOf(t, "importing")
			calm.Batch = f.Batch
			must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
			want := outputsOf(t, calm)
			r := retaining(t, f, nil, p)
			must.Succeed(t, f.Drain(t.Context(), r))
			jobstest.SameEnds(t, outputsOf(t, f), want, "after the import")
		})
	}
}

// TestAnImportThatBeganWhileAClockWasAheadEnds: it begins while storage is a year ahead, and is killed. Clocks are
// right again; another import is done.
func TestAnImportThatBeganWhileAClockWasAheadEnds(t *testing.T) {
	t.Parallel()
	w := jobstest.NewWorldSince(t, 20*days, 1, 200)
	imported := func(n int) bool { return n >= 120 && n < 130 }
	w.Insert(t, "importahead", func(n int) bool { return !imported(n) })
	f := w.NewFleetOf(t, "importahead")
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Settle(t.Context(), p))
	withRecords(t, f)
	device := must.Have(sas.NewRegistry(f.World.Connect(t, nil), f.Names).Get(t.Context(), f.World.Devices[0]))(t)
	from := tables.TicksBefore(w.Rows[0][60].RowKey)
	to := tables.TicksBefore(w.Rows[0][70].RowKey)
	wrong := sas.NewRegistry(f.World.Connect(t, ahead()), f.Names)
	must.Have(wrong.NoteImport(t.Context(), device, schema.Import{From: from, To: to}, false))(t)
	// right clocks from here on
	registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
	from, to = tables.TicksBefore(w.Rows[0][120].RowKey), tables.TicksBefore(w.Rows[0][130].RowKey)
	note := must.Have(registry.NoteImport(t.Context(), device, schema.Import{From: from, To: to}, false))(t)
	w.Insert(t, "importahead", imported)
	must.Have(registry.NoteImport(t.Context(), device, note, true))(t)
	q := hence(t, f, f.Pipeline(t, nil), 100*days) // a hundred days later
	must.Succeed(t, f.Settle(t.Context(), q))
	calm := w.NewFleetOf(t, "importahead")
	calm.Batch = f.Batch
	must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
	want := outputsOf(t, calm)
	r := retaining(t, f, nil, p)
	must.Succeed(t, f.Drain(t.Context(), r))
	if left := rowsOf(t, f, device.ID); left[0] < nineDaysAgo() {
		t.Errorf("rows from %s on are left: retention waits for the import of next year", left[0])
	}
	_, err := registry.Move(t.Context(), sas.Move{Device: device.ID, To: "t9"})
	if err != nil {
		t.Errorf("move: %v", err)
	}
	jobstest.SameEnds(t, outputsOf(t, f), want, "a hundred days after the import")
}
