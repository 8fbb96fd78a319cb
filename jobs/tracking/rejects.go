package tracking

import (
	"slices"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// Rejects are the readings of one device with rejected values in a job.
type Rejects struct {
	Known map[string]bool // rows in the ring, which a refold meets again
	Whole bool            // Known has all that were ever counted
	Count int64           // of readings
	Kept  []schema.Reject // the newest of them

	day    tables.Ticks // day of the newest
	before int64        // how many of count are of earlier days
}

// Add adds a reading's reject, and returns the change of weight.
func (r *Rejects) Add(e schema.Reject) (weight int) {
	if r.Known[e.Row] {
		return 0
	}
	if today := tables.TicksBefore(e.Row).Floor(tables.Day); today > r.day {
		r.day, r.before = today, r.Count
	}
	r.Count++
	if len(r.Kept) == schema.RejectSlots {
		weight -= weighReject(r.Kept[0])
		r.Kept = slices.Delete(r.Kept, 0, 1)
	}
	r.Kept = append(r.Kept, e)
	return weight + weighReject(e)
}

// AtMost keeps the newest n.
func (r *Rejects) AtMost(n int64) {
	r.Count = min(r.Count, max(n, 0))
	r.Kept = r.Kept[max(0, len(r.Kept)-int(r.Count)):]
}

// Split returns the rejects before the start of a day, and those of that day, which must be the last.
func (r *Rejects) Split(start tables.Ticks) (before, of Rejects) {
	if r.day < start {
		return *r, Rejects{}
	}
	of = Rejects{Count: r.Count - r.before, Kept: slices.Clone(r.Kept), day: r.day}
	of.AtMost(of.Count)
	return Rejects{Count: r.before, Kept: r.Kept[:len(r.Kept)-len(of.Kept)]}, of
}

// Bounds of the rejects that a tracking row carries from one portion of a day to the next, in bytes: of all of them,
// and of each of their texts.
const (
	maxCarried     = 15 << 10
	maxCarriedText = 1 << 10
)

// append encodes the number of rejects, and the newest of them that fit.
func (r *Rejects) append(b []byte) []byte {
	var kept [][]byte
	left := maxCarried
	for _, e := range slices.Backward(r.Kept) {
		var one []byte
		for _, text := range []string{e.Row, e.Sensor, e.Reason, e.Value, e.Reading} {
			one = pack.Text(one, tables.Clip(text, maxCarriedText))
		}
		if left -= len(one); left < 0 {
			break
		}
		kept = append(kept, one)
	}
	b = pack.Int(pack.Int(b, r.Count), len(kept))
	for _, one := range slices.Backward(kept) {
		b = append(b, one...)
	}
	return b
}

// parseRejects reads what append wrote. No bytes are no rejects.
func parseRejects(b []byte) (r Rejects, err error) {
	if len(b) == 0 {
		return r, nil
	}
	from := pack.NewReader(b)
	r.Count = from.Int()
	for range from.Count() {
		e := schema.Reject{Row: from.Text(), Sensor: from.Text(), Reason: from.Text(), Value: from.Text(),
			Reading: from.Text()}
		r.Kept, r.day = append(r.Kept, e), tables.TicksBefore(e.Row).Floor(tables.Day)
	}
	return r, from.Err()
}

func weighReject(r schema.Reject) int { return len(r.Reason) + len(r.Value) + len(r.Reading) }
