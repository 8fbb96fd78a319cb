package archive_test

import (
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestSettingsMarkEveryDayOnce: also days that have a mark already, such as one that is open and has hours. Two
// operations on one row make no transaction.
func TestSettingsMarkEveryDayOnce(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	m := x.maker(t, nil)
	must.Succeed(t, m.MakeDay(t.Context(), x.day))
	mark := schema.Mark{Month: x.day.Month, Kind: schema.ArchiveMark, Tenant: x.day.Tenant, Name: x.day.When()}
	must.Have(m.Source.Tracking().Do(t.Context(), tables.InsertOrReplace(mark.Entity())))(t)
	must.Succeed(t, m.Source.MarkAll(t.Context(), m, x.day.Month))
	all := must.Have(collected(m.Source.Marks(t.Context(), x.day.Month, schema.ArchiveMark)))(t)
	for i := range all {
		if all[i].Name == mark.Name && all[i].At == 0 {
			t.Error("the mark has no time")
		}
	}
	if len(all) != 2 { // and that for cleaning
		t.Errorf("marks %v", all)
	}
}
