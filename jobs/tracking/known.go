package tracking

import (
	"maps"
	"slices"

	"furrow/jobs/internal/pack"
)

// Known says which rejects were counted before a redo, which meets their rows again. The ring has only the newest. Of
// the others only the number is known: the redo takes its first unknown rejects for those, and counts the rest. It
// carries this from portion to portion, so counts and ring do not depend on how the work was cut.
type Known struct {
	rows    map[string]bool
	lacks   int64 // rejects that were counted, and whose rows are not known
	counted int64 // rejects that the ring was read with
}

// Learn takes in the rows in the ring, when so many rejects are counted.
func (k *Known) Learn(ring []string, counted int64) {
	was := len(k.rows)
	k.rows = maps.Clone(k.rows)
	if k.rows == nil {
		k.rows = map[string]bool{}
	}
	for _, row := range ring {
		k.rows[row] = true
	}
	if k.counted >= 0 {
		k.lacks = max(0, k.lacks+counted-k.counted-int64(len(k.rows)-was))
	}
	k.counted = counted
}

// Uncounted returns how many of so many unknown rejects were never counted, and takes the others as known.
func (k *Known) Uncounted(unknown int64) int64 {
	old := min(k.lacks, unknown)
	k.lacks -= old
	return unknown - old
}

// after returns what is still to be known of the rows after one.
func (k *Known) after(row string) Known {
	rest := Known{rows: map[string]bool{}, lacks: k.lacks, counted: -1}
	for known := range k.rows {
		if known > row {
			rest.rows[known] = true
		}
	}
	return rest
}

// maxKnown bounds the rows that a tracking row carries to the next portion, in bytes.
const maxKnown = 5 << 10

// append encodes what the ring, which redone days have filled since, need not have. Of rows that do not fit, the number
// is enough.
func (k *Known) append(b []byte) []byte {
	left, lacks := maxKnown, k.lacks
	var fit []string
	for _, row := range slices.Sorted(maps.Keys(k.rows)) {
		if left -= len(row); left < 0 {
			lacks++
			continue
		}
		fit = append(fit, row)
	}
	b = pack.Int(pack.Int(b, lacks), len(fit))
	for _, row := range fit {
		b = pack.Text(b, row)
	}
	return b
}

// parseKnown reads what append wrote. No bytes are of a version that knew only the ring.
func parseKnown(b []byte) (k Known, err error) {
	if len(b) == 0 {
		return k, nil
	}
	from := pack.NewReader(b)
	k = Known{rows: map[string]bool{}, lacks: from.Int(), counted: -1}
	for range from.Count() {
		k.rows[from.Text()] = true
	}
	return k, from.Err()
}
