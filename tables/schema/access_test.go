package schema

import (
	"fmt"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

func TestAccessReadsBackAsItWasStored(t *testing.T) {
	a := Access{Name: "alice@contoso.example", Role: Operator, Tenant: "Contoso / Süd", Hash: TokenHash("token"),
		By:      "root",
		Created: tables.TicksOf(time.Date(2026, 11, 22, 9, 0, 0, 0, time.UTC))}
	e := must.Have(a.Entity())(t)
	if got, err := AccessOf(e); err != nil || got != a {
		t.Errorf("%+v is read back as %+v, %v", a, got, err)
	}
	e.RowKey = "bob"
	if _, err := AccessOf(e); err == nil {
		t.Error("a row under another name's key is taken")
	}
	for _, wrong := range []Access{{}, {Name: "a", Role: "king", Hash: a.Hash}, {Name: "a", Role: Viewer, Hash: "abc"},
		{Name: " a", Role: Viewer, Hash: a.Hash}, {Name: "a", Role: Viewer, Hash: a.Hash, Tenant: ".."}} {
		if _, err := wrong.Entity(); err == nil {
			t.Errorf("%+v is stored", wrong)
		}
	}
}

func TestRolesIncludeThoseBefore(t *testing.T) {
	for i, r := range Roles() {
		for j, needed := range Roles() {
			if r.May(needed) != (i >= j) {
				t.Errorf("%s may do what %s may: %v", r, needed, r.May(needed))
			}
		}
	}
	if Role("").May(Viewer) || Role("king").May(Viewer) {
		t.Error("an unknown role may look")
	}
}

// TestActsOfATimeAreOneRangeOfEachMonth compares the ranges with the times, at the edges too.
func TestActsOfATimeAreOneRangeOfEachMonth(t *testing.T) {
	from, to := time.Date(2026, 11, 3, 0, 0, 0, 0, time.UTC), time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	rows := ActRows(tables.TicksOf(from), tables.TicksOf(to))
	last := ""
	for _, at := range []time.Time{to, to.Add(-100), to.Add(-time.Hour), from.Add(100), from, from.Add(-100)} {
		for _, tenant := range []Tenant{"", "fleet", "Contoso / Süd"} {
			a := Act{ID: "ABC", At: tables.TicksOf(at), Who: "alice", From: "dashboard", What: "device revoke", Device: "pump-7",
				Tenant: tenant, Detail: "x", Outcome: "y", Failed: true}
			e := must.Have(a.Entity())(t)
			if got, err := ActOf(e); err != nil || got != a {
				t.Errorf("%+v is read back as %+v, %v", a, got, err)
			}
			if want := !at.Before(from) && at.Before(to); rows.Contains(e.RowKey) != want {
				t.Errorf("%s is in the range: %v, want %v", at, !want, want)
			}
			month := at.Format("2006-01")
			if want := fmt.Sprintf("%s!%s", month, tenant.Key()); e.PartitionKey != want ||
				ActsOfMonth(at).Partitions.Contains(e.PartitionKey) != true ||
				ActsOfMonth(at.AddDate(0, 1, 0)).Partitions.Contains(e.PartitionKey) {
				t.Errorf("its partition is %s, want %s", e.PartitionKey, want)
			}
			if e.RowKey < last {
				t.Errorf("%s comes after a newer act", at)
			}
			last = e.RowKey
		}
	}
}
