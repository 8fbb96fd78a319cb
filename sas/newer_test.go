package sas

import (
	"errors"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A row that a newer program wrote is refused with an error that says so, and others still work.
func TestNewerEnrollmentIsRefusedAlone(t *testing.T) {
	n, _ := newEnrollments(t)
	for _, id := range []schema.EnrollmentID{"line4", "line5"} {
		must.Have(n.Add(t.Context(), plant(id), nil, nil))(t)
	}
	row := tables.Entity{PartitionKey: "line4", RowKey: schema.EnrollmentRow}
	schema.SetFormat(&row, schema.Format+1)
	must.Have(n.Table.Do(t.Context(), tables.Merge(row, tables.AnyETag)))(t)
	if _, err := n.Get(t.Context(), "line4"); !errors.Is(err, schema.ErrNewer) {
		t.Errorf("Get: %v", err)
	}
	if _, err := n.Find(t.Context(), "line4"); !errors.Is(err, schema.ErrNewer) {
		t.Errorf("Find: %v", err)
	}
	if _, err := n.Find(t.Context(), "line5"); err != nil {
		t.Errorf("Find of another: %v", err)
	}
	if all, err := n.All(t.Context()); !errors.Is(err, schema.ErrNewer) || len(all) != 1 || all[0].ID != "line5" {
		t.Errorf("All: %v, %v", all, err)
	}
	_, err := n.Change(t.Context(), "line4", func(e *schema.Enrollment) error { e.Disabled = true; return nil })
	if !errors.Is(err, schema.ErrNewer) {
		t.Errorf("Change: %v", err)
	}
}
