package schema

import (
	"slices"
	"time"

	"furrow/tables"
)

// An Import is a note on a membership: somebody writes rows of the device's past, wherever the checkpoints of pipelines
// are. It is stored before the first of these rows and ends after the last one. Every pipeline folds [From, To) again
// once the import has ended.
type Import struct {
	ID    tables.Ticks `json:"id"` // ascending; the time of the service when it began, as far as that is possible
	From  tables.Ticks `json:"from"`
	To    tables.Ticks `json:"to"`
	Until tables.Ticks `json:"until,omitzero"` // while it writes: it ends by itself then, unless it is extended
	// Late says that no import wrote them: the device has said that it stored rows late, which have to be folded again.
	Late bool `json:"late,omitempty"`
}

// Imports are those of a membership, in the order of their IDs. Each pipeline remembers the last one that it knows.
type Imports []Import

// MemberImports is the property of a membership that holds them.
const MemberImports = "Imports"

// Set sets the notes in a row of the table fleet.
func (all Imports) Set(e *tables.Entity) error {
	value, err := packed(all, len(all))
	e.Set(MemberImports, value)
	return err
}

// ImportLease is how long a note of an import holds without being extended. Whoever writes rows under it must extend it
// in time, and no request may last beyond it.
const ImportLease = 5 * time.Minute

// importGrace is how long after the end of an import that was killed its last request may still arrive.
const importGrace = time.Minute

// Ended reports whether an import writes no more rows: its lease is over by the earliest of clocks, or further ahead
// than any import takes one, as a clock was wrong when it did.
func (i Import) Ended(sure, latest tables.Ticks) bool {
	return i.Until == 0 || i.Until.Add(importGrace) < sure || i.Until > latest.Add(ImportLease+importGrace)
}

// WriteUntil returns when the last of the imports that have not ended writes no more, at the latest; zero: all have.
func (all Imports) WriteUntil(now tables.Ticks) (last tables.Ticks) {
	for _, i := range all {
		if !i.Ended(now, now) {
			last = max(last, i.Until.Add(importGrace))
		}
	}
	return last
}

// maxImports bounds the notes on a membership.
const maxImports = 16

// With returns the notes with another one, or with the one of this ID changed. Notes that say no more than a later one
// are left out, and the oldest are joined where there are too many: a pipeline that knew only some of these folds more
// than it must, and never less.
func (all Imports) With(i Import, now tables.Ticks) Imports {
	out := slices.DeleteFunc(slices.Clone(all), func(old Import) bool {
		return old.ID == i.ID || i.Until == 0 && old.Ended(now, now) && old.ID < i.ID && old.From >= i.From &&
			old.To <= i.To && (old.Late || !i.Late)
	})
	out = append(out, i)
	slices.SortFunc(out, func(a, b Import) int { return int(min(max(a.ID-b.ID, -1), 1)) })
	for more := true; more && len(out) > maxImports; {
		out, more = out.joinOldest(now)
	}
	return out
}

// joinOldest joins the oldest two notes of a kind that have ended, and reports whether there are any. Late rows are
// never joined with an import: it would then cover all rows of the device, also those to come.
func (all Imports) joinOldest(now tables.Ticks) (rest Imports, joined bool) {
	for i, old := range all {
		for j := i + 1; j < len(all); j++ {
			next := &all[j]
			if old.Late == next.Late && old.Ended(now, now) && next.Ended(now, now) {
				next.From, next.To = min(old.From, next.From), max(old.To, next.To)
				return slices.Delete(all, i, i+1), true
			}
		}
	}
	return all, false
}

// After returns what the imports say together that have ended, from the first that is later than a known one up to the
// first that still writes. The ID is that of the last of them; without any, it is the known one.
func (all Imports) After(known, sure, latest tables.Ticks) (sum Import) {
	sum.ID = known
	for _, i := range all {
		switch {
		case i.ID <= known:
			continue
		case !i.Ended(sure, latest):
			return sum
		case sum.ID == known:
			sum = Import{From: i.From, To: i.To, Late: i.Late}
		}
		sum = Import{ID: i.ID, From: min(sum.From, i.From), To: max(sum.To, i.To), Late: sum.Late && i.Late}
	}
	return sum
}

// Cover reports whether an import may have written the row of a time.
func (all Imports) Cover(at tables.Ticks) bool {
	return slices.ContainsFunc(all, func(i Import) bool { return !i.Late && i.From <= at && at < i.To })
}

// Unknown reports whether there is an import later than a known one.
func (all Imports) Unknown(known tables.Ticks) bool {
	return len(all) > 0 && all[len(all)-1].ID > known
}
