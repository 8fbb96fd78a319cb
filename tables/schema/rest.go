package schema

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
)

// A Rest is what a commit says of the runs after it: until when none need look at the device, if nothing changes. It
// is a property of the tracking row, and stands for that commit alone: whoever commits next without one ends it, an
// older version of the program as well.
type Rest struct {
	Claim string // of the commit
	// Of is the Fingerprint of the membership and the settings that it was made with; 0: the next run looks all the same,
	// as a row may come with the last change of the membership.
	Of uint64
	// Until is the Awake of the membership whose rows are all folded. While it is that of the membership, the device
	// has had no token since, and nothing of it can have come.
	Until tables.Ticks
	Next  tables.Ticks // then something is to be done without a row: a bucket ends, a device is silent
	// Expected is when the next row is expected, by the arrival of the last one and the stated interval; 0: nobody
	// states one.
	Expected tables.Ticks
}

// TrackRest is the property of a tracking row that holds a Rest.
const TrackRest = "Rest"

// String returns the property.
func (r Rest) String() string {
	return fmt.Sprintf("%s %x %d %d %d", r.Claim, r.Of, r.Until, r.Next, r.Expected)
}

// RestOf returns the Rest of a tracking row, if it has one that stands: that of its last commit, after which nobody has
// claimed the row. Of one that does not, as an audit has committed since, it returns when the next row is expected.
func RestOf(track *tables.Entity) (r Rest, stands bool) {
	parts := strings.Split(track.Get(TrackRest).Text(), " ")
	if len(parts) != 5 || parts[0] == "" {
		return Rest{}, false
	}
	of, err := strconv.ParseUint(parts[1], 16, 64)
	if err != nil {
		return Rest{}, false
	}
	r.Claim, r.Of = parts[0], of
	for i, t := range []*tables.Ticks{&r.Until, &r.Next, &r.Expected} {
		n, err := strconv.ParseInt(parts[2+i], 10, 64)
		if err != nil {
			return Rest{}, false
		}
		*t = tables.Ticks(n)
	}
	if parts[0] != track.Get(TrackCommitted).Text() || parts[0] != track.Get(TrackClaim).Text() {
		return Rest{Expected: r.Expected}, false
	}
	return r, true
}

// Fingerprint stands for everything in the row of a device, and in the configuration, that its jobs heed besides rows
// and the time: where it differs, a job looks. A note of a token is one of these, so that a device which wakes before
// its time is looked at. The watermark does not count: the next job that folds a row heeds it before.
func (m Member) Fingerprint(settings string, generation int64, every time.Duration) uint64 {
	h := fnv.New64a()
	b := make([]byte, 0, 512)
	text := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for _, s := range []string{settings, m.Spans.String(), m.Readings, string(m.Enrollment), string(m.Site), m.Model} {
		text(s)
	}
	for _, name := range slices.Sorted(maps.Keys(m.Labels)) {
		text(name)
		text(m.Labels[name])
	}
	for _, i := range m.Imports {
		for _, t := range []tables.Ticks{i.ID, i.From, i.To, i.Until} {
			b = binary.AppendVarint(b, int64(t))
		}
	}
	for _, n := range []int64{generation, int64(every), int64(m.Awake)} {
		b = binary.AppendVarint(b, n)
	}
	if m.Revoked {
		b = append(b, 1)
	}
	_, _ = h.Write(b) // a hash takes everything
	return h.Sum64()
}
