package jobs

import (
	"fmt"
	"strings"

	"furrow/jobs/internal/pack"
	"furrow/tables"
)

// A track is a row of the partition-tracking table: how far a pipeline has got
// with a device, and all that must change together with that. It is read, claimed
// and committed as one entity.
type track struct {
	etag    tables.ETag // empty: there is no row
	last    string      // LastReadRowKey: rows up to it are folded, counted and never read again
	fence   tables.Ticks
	claim   string            // of the job that claimed it last
	states  map[string][]byte // by processor
	open    map[Output]tables.ETag
	ledger  *Ledger
	rows    int64 // folded since the beginning
	rejects int64 // values and rows refused since the beginning
}

// statePrefix begins the names of the properties that hold processors' states.
const statePrefix = "State_"

// trackOf reads a row of the tracking table.
func trackOf(e tables.Entity) (*track, error) {
	f := e.Fields()
	t := &track{
		etag: e.ETag, last: f.String("LastReadRowKey"), fence: tables.Ticks(f.Int("Fence")), claim: f.String("Claim"),
		rows: f.Int("Rows"), rejects: f.Int("Rejects"), states: map[string][]byte{},
	}
	var err error
	if t.ledger, err = ParseLedger(f.Binary("Ledger")); err != nil {
		return nil, err
	}
	if t.open, err = parseOpen(f.Binary("Open")); err != nil {
		return nil, err
	}
	for _, p := range e.Properties {
		if name, ok := strings.CutPrefix(p.Name, statePrefix); ok {
			t.states[name] = p.Value.Binary()
		}
	}
	return t, f.Err()
}

// newTrack is that of a device that was never folded.
func newTrack() *track {
	return &track{states: map[string][]byte{}, open: map[Output]tables.ETag{}, ledger: &Ledger{}}
}

// claimed is the merge that claims the row. The fence outranks every earlier
// writer's, also those of a row that was deleted and made anew.
func (t *track) claimed(m tables.Member, fence tables.Ticks, claim string) tables.Op {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Device)}
	e.Set("Fence", tables.Int64(int64(fence)))
	e.Set("Claim", tables.String(claim))
	if t.etag == "" {
		return tables.Insert(e)
	}
	return tables.Merge(e, t.etag)
}

// committed is the merge that moves the checkpoint, on the claim's version.
func (t *track) committed(m tables.Member) (tables.Op, error) {
	e := tables.Entity{PartitionKey: m.Month.String(), RowKey: string(m.Device)}
	e.Set("LastReadRowKey", tables.String(t.last))
	e.Set("Rows", tables.Int64(t.rows))
	e.Set("Rejects", tables.Int64(t.rejects))
	e.Set("Ledger", tables.Binary(t.ledger.Append(nil)))
	e.Set("Open", tables.Binary(appendOpen(nil, t.open)))
	for name, state := range t.states {
		if len(state) > maxStateBytes {
			return tables.Op{}, fmt.Errorf("the state of processor %s has %d bytes; at most %d are kept", name, len(state), maxStateBytes)
		}
		e.Set(statePrefix+name, tables.Binary(state))
	}
	return tables.Merge(e, t.etag), nil
}

// maxStateBytes bounds a processor's state of one device: a property holds 64 KiB.
const maxStateBytes = 60 << 10

// appendOpen encodes the outputs that later samples can change, with the versions
// that were written last.
func appendOpen(b []byte, open map[Output]tables.ETag) []byte {
	b = pack.Int(b, len(open))
	for _, o := range sortedOutputs(open) {
		b = pack.Int(b, o.Kind)
		b = pack.Text(pack.Text(pack.Text(b, o.PartitionKey), o.RowKey), string(open[o]))
	}
	return b
}

func parseOpen(b []byte) (map[Output]tables.ETag, error) {
	open := map[Output]tables.ETag{}
	if len(b) == 0 {
		return open, nil
	}
	r := pack.NewReader(b)
	for range r.Count() {
		o := Output{Kind: OutputKind(r.Int()), PartitionKey: r.Text(), RowKey: r.Text()}
		open[o] = tables.ETag(r.Text())
	}
	return open, r.Err()
}
