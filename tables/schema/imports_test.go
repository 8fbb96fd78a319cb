package schema

import (
	"testing"
	"time"

	"furrow/tables"
)

// TestImportsAreKnownWhenTheyHaveEnded: a note that still writes keeps itself and all later ones from being known.
func TestImportsAreKnownWhenTheyHaveEnded(t *testing.T) {
	now := tables.TicksOf(time.Now())
	open := now.Add(time.Minute)
	all := Imports{{ID: 1, From: 50, To: 60}, {ID: 2, From: 70, To: 80}, {ID: 3, From: 10, To: 20, Until: open},
		{ID: 4, From: 5, To: 90}}
	for known, want := range map[tables.Ticks][3]tables.Ticks{0: {2, 50, 80}, 1: {2, 70, 80}, 2: {2, 0, 0}, 3: {4, 5, 90},
		4: {4, 0, 0}} {
		if sum := all.After(known, now, now); [3]tables.Ticks{sum.ID, sum.From, sum.To} != want {
			t.Errorf("after %d: %+v; want %v", known, sum, want)
		}
	}
	now = open.Add(2 * time.Minute)
	if sum := all.After(2, now, now); sum != (Import{ID: 4, From: 5, To: 90}) {
		t.Errorf("after the lease: %+v", sum)
	}
}

// TestJoinedImportsLoseNoRow adds more notes than a membership keeps.
func TestJoinedImportsLoseNoRow(t *testing.T) {
	now := tables.TicksOf(time.Now())
	var all Imports
	for n := range tables.Ticks(40) {
		all = all.With(Import{ID: n + 1, From: 1000 + n*10, To: 1005 + n*10}, now)
	}
	if len(all) != maxImports {
		t.Fatalf("%d notes are kept", len(all))
	}
	for known := range tables.Ticks(40) {
		if sum := all.After(known, now, now); sum.ID != 40 || sum.From > 1000+known*10 || sum.To != 1395 {
			t.Errorf("after %d: %+v", known, sum)
		}
	}
	if all = all.With(Import{ID: 41, From: 0, To: 5000}, now); len(all) != 1 {
		t.Errorf("beside a note of everything there are %v", all)
	}
}

// TestLateRowsAreNoImport: what a device says of its own rows covers none, and no import is forgotten for it.
func TestLateRowsAreNoImport(t *testing.T) {
	now := tables.TicksOf(time.Now())
	all := Imports{}.With(Import{ID: 1, From: 50, To: 60}, now).With(Import{ID: 2, From: 10, To: 90, Late: true}, now)
	if len(all) != 2 || !all.Cover(55) || all.Cover(70) {
		t.Errorf("beside late rows there are %+v", all)
	}
	if sum := all.After(0, now, now); sum != (Import{ID: 2, From: 10, To: 90}) {
		t.Errorf("an import and late rows are %+v", sum)
	}
	if sum := all.After(1, now, now); !sum.Late {
		t.Errorf("late rows alone are %+v", sum)
	}
	if all = all.With(Import{ID: 3, From: 5, To: 90, Late: true}, now); len(all) != 2 || all[1].ID != 3 {
		t.Errorf("one says more than another, and both are there: %+v", all)
	}
	for n := range tables.Ticks(40) {
		all = all.With(Import{ID: n + 4, From: 1000 + n, To: 2000 + n, Late: true}, now)
	}
	if !all.Cover(55) {
		t.Error("many notes of late rows make one forget an import")
	}
	if all.Cover(1500) {
		t.Errorf("many notes of late rows make one an import of all that the device sends: %+v", all)
	}
}

// TestLateRowsAreFewNotesWhileAnImportWrites: each note would make the membership longer, until it took none any more.
func TestLateRowsAreFewNotesWhileAnImportWrites(t *testing.T) {
	now := tables.TicksOf(time.Now())
	all := Imports{}.With(Import{ID: 1, From: 50, To: 60, Until: now.Add(time.Minute)}, now)
	for n := range tables.Ticks(40) {
		all = all.With(Import{ID: n + 2, From: 1000 + n, To: 2000 + n, Late: true}, now)
	}
	if len(all) > maxImports || all[0].Until == 0 {
		t.Errorf("%d notes: %+v", len(all), all)
	}
	if sum := all.After(1, now, now); sum != (Import{ID: 41, From: 1000, To: 2039, Late: true}) {
		t.Errorf("together they say %+v", sum)
	}
}
