package tracking

import (
	"slices"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// Rejects are the readings of one device with rejected values in a job.
type Rejects struct {
	Known Known           // of those that were counted before
	Count int64           // of readings
	Kept  []schema.Reject // the newest of them, and the newest before their last day

	day    tables.Ticks // day of the newest
	before int64        // how many of count are of earlier days
	older  int          // how many of kept are
}

// Add adds a reading's reject, and returns the change of weight.
func (r *Rejects) Add(e schema.Reject) (weight int) {
	if r.Known.rows[e.Row] {
		return 0
	}
	if today := tables.TicksBefore(e.Row).Floor(tables.Day); today > r.day {
		r.Kept = r.Newest()
		r.day, r.before, r.older = today, r.Count, len(r.Kept)
	}
	r.Count++
	if len(r.Kept)-r.older == schema.RejectSlots {
		weight -= weighReject(r.Kept[r.older])
		r.Kept = slices.Delete(r.Kept, r.older, r.older+1)
	}
	r.Kept = append(r.Kept, e)
	return weight + weighReject(e)
}

// Newest returns those that the ring has room for.
func (r *Rejects) Newest() []schema.Reject { return r.Kept[max(0, len(r.Kept)-schema.RejectSlots):] }

// AtMost keeps the newest n.
func (r *Rejects) AtMost(n int64) {
	r.Count = min(r.Count, max(n, 0))
	r.Kept = r.Kept[max(0, len(r.Kept)-int(r.Count)):]
}

// Split returns the rejects before the start of a day, and those of that day, which must be the last.
func (r *Rejects) Split(start tables.Ticks) (before, of Rejects) {
	before = *r
	if r.day >= start {
		before = Rejects{Known: r.Known, Count: r.before, Kept: r.Kept[:r.older]}
		of = Rejects{Count: r.Count - r.before, Kept: slices.Clone(r.Kept[r.older:]), day: r.day}
	}
	of.Known = r.Known
	of.Known.Uncounted(before.Count)
	return before, of
}

// Bounds of the rejects that a tracking row carries from one portion of a day to the next, in bytes: of all of them,
// and of each of their texts, which are the shorter the more there are.
const (
	maxCarried       = 10 << 10
	maxCarriedText   = 1 << 10
	leastCarriedText = 8
)

// append encodes the number of rejects, and the newest of them that fit.
func (r *Rejects) append(b []byte) []byte {
	var kept [][]byte
	for most, fits := maxCarriedText, false; !fits && most >= leastCarriedText; most /= 2 {
		kept, fits = r.encode(most)
	}
	b = pack.Int(pack.Int(b, r.Count), len(kept))
	for _, one := range slices.Backward(kept) {
		b = append(b, one...)
	}
	return b
}

// encode returns the newest rejects that fit if their texts have at most so many bytes, and whether these are all.
func (r *Rejects) encode(most int) (kept [][]byte, all bool) {
	left := maxCarried
	for _, e := range slices.Backward(r.Kept) {
		one := pack.Text(nil, e.Row)
		for _, text := range []string{e.Sensor, e.Reason, e.Value, e.Reading} {
			one = pack.Text(one, tables.Clip(text, most))
		}
		if left -= len(one); left < 0 {
			return kept, false
		}
		kept = append(kept, one)
	}
	return kept, true
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
