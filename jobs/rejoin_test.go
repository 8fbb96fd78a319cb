package jobs_test

import (
	"testing"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestImportsOfADeviceThatRejoinsAreFolded: an import has ended. Before the next run, the device is removed, its data
// kept, and registers again.
func TestImportsOfADeviceThatRejoinsAreFolded(t *testing.T) {
	t.Parallel()
	for name, rejoins := range map[string]bool{"stays": false, "rejoins": true} {
		t.Run(name, func(t *testing.T) {
			w := jobstest.NewWorldSince(t, 20*days, 1, 200)
			imported := func(n int) bool { return n >= 60 && n < 70 }
			readings := "rejoin" + name
			w.Insert(t, readings, func(n int) bool { return !imported(n) })
			f := w.NewFleetOf(t, readings)
			p := f.Pipeline(t, nil)
			must.Succeed(t, f.Settle(t.Context(), p))
			withRecords(t, f)
			registry := sas.NewRegistry(f.World.Connect(t, nil), f.Names)
			device := must.Have(registry.Get(t.Context(), w.Devices[0]))(t)
			from, to := tables.TicksBefore(w.Rows[0][60].RowKey), tables.TicksBefore(w.Rows[0][70].RowKey)
			note := must.Have(registry.NoteImport(t.Context(), device, schema.Import{From: from, To: to}, false))(t)
			w.Insert(t, readings, imported)
			must.Have(registry.NoteImport(t.Context(), device, note, true))(t)
			if rejoins { // what Policies.Remove and Registry.Left do
				members := membersOf(t, f)
				must.Have(registry.Update(t.Context(), device.ID, func(d *schema.Device) error {
					d.Status, d.Kept = schema.Removed, schema.KeptOf(members)
					return nil
				}))(t)
				for _, m := range members {
					must.Have(registry.Fleet.Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)))(t)
				}
				back := device
				back.ETag, back.Status = "", schema.Active
				must.Have(registry.Register(t.Context(), back))(t)
				t.Log(membersOf(t, f))
			}
			must.Succeed(t, f.Settle(t.Context(), p))
			calm := w.NewFleetOf(t, readings)
			calm.Batch = f.Batch
			must.Succeed(t, calm.Settle(t.Context(), calm.Pipeline(t, nil)))
			want := outputsOf(t, calm)
			must.Succeed(t, f.Drain(t.Context(), retaining(t, f, nil, p)))
			t.Logf("rows are left from %s on; imported were up to %s", rowsOf(t, f, device.ID)[0], w.Rows[0][69].RowKey)
			jobstest.SameEnds(t, outputsOf(t, f), want, "after the import")
		})
	}
}
