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
		if last, from, to := all.After(known, now, now); [3]tables.Ticks{last, from, to} != want {
			t.Errorf("after %d: %d, %d to %d; want %v", known, last, from, to, want)
		}
	}
	now = open.Add(2 * time.Minute)
	if last, from, to := all.After(2, now, now); last != 4 || from != 5 || to != 90 {
		t.Errorf("after the lease: %d, %d to %d", last, from, to)
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
		if last, from, to := all.After(known, now, now); last != 40 || from > 1000+known*10 || to != 1395 {
			t.Errorf("after %d: %d, %d to %d", known, last, from, to)
		}
	}
	if all = all.With(Import{ID: 41, From: 0, To: 5000}, now); len(all) != 1 {
		t.Errorf("beside a note of everything there are %v", all)
	}
}
