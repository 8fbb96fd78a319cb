package jobs

import (
	"slices"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// rejects are the readings of one device with rejected values in a job.
type rejects struct {
	known map[string]bool // rows in the ring, which a refold meets again
	count int64           // of readings
	kept  []schema.Reject // the newest of them

	day    tables.Ticks // day of the newest
	before int64        // how many of count are of earlier days
}

// add adds a reading's reject, and returns the change of weight.
func (r *rejects) add(e schema.Reject) (weight int) {
	if r.known[e.Row] {
		return 0
	}
	if today := floorTo(TicksBefore(e.Row), day); today > r.day {
		r.day, r.before = today, r.count
	}
	r.count++
	if len(r.kept) == schema.RejectSlots {
		weight -= weighReject(r.kept[0])
		r.kept = slices.Delete(r.kept, 0, 1)
	}
	r.kept = append(r.kept, e)
	return weight + weighReject(e)
}

// atMost keeps the newest n.
func (r *rejects) atMost(n int64) {
	r.count = min(r.count, max(n, 0))
	r.kept = r.kept[max(0, len(r.kept)-int(r.count)):]
}

// split returns the rejects before the start of a day, and those of that day, which must be the last.
func (r *rejects) split(start tables.Ticks) (before, of rejects) {
	if r.day < start {
		return *r, rejects{}
	}
	of = rejects{count: r.count - r.before, kept: slices.Clone(r.kept), day: r.day}
	of.atMost(of.count)
	return rejects{count: r.before, kept: r.kept[:len(r.kept)-len(of.kept)]}, of
}

// Bounds of the rejects that a tracking row carries from one portion of a day to the next, in bytes: of all of them,
// and of each of their texts.
const (
	maxCarried     = 16 << 10
	maxCarriedText = 1 << 10
)

// append encodes the number of rejects, and the newest of them that fit.
func (r *rejects) append(b []byte) []byte {
	var kept [][]byte
	left := maxCarried
	for _, e := range slices.Backward(r.kept) {
		var one []byte
		for _, text := range []string{e.Row, e.Sensor, e.Reason, e.Value, e.Reading} {
			one = pack.Text(one, tables.Clip(text, maxCarriedText))
		}
		if left -= len(one); left < 0 {
			break
		}
		kept = append(kept, one)
	}
	b = pack.Int(pack.Int(b, r.count), len(kept))
	for _, one := range slices.Backward(kept) {
		b = append(b, one...)
	}
	return b
}

// parseRejects reads what append wrote. No bytes are no rejects.
func parseRejects(b []byte) (r rejects, err error) {
	if len(b) == 0 {
		return r, nil
	}
	from := pack.NewReader(b)
	r.count = from.Int()
	for range from.Count() {
		e := schema.Reject{Row: from.Text(), Sensor: from.Text(), Reason: from.Text(), Value: from.Text(),
			Reading: from.Text()}
		r.kept, r.day = append(r.kept, e), floorTo(TicksBefore(e.Row), day)
	}
	return r, from.Err()
}
