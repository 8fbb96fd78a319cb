package tracking

import (
	"maps"
	"slices"

	"furrow/jobs/fold"
	"furrow/jobs/internal/pack"
	"furrow/tables"
)

// Parts returns how many parts of an open output were written.
func (t *Row) Parts(o fold.Output) (n int) {
	for n < fold.MaxParts {
		if _, open := t.Open[o.Part(n+1)]; !open {
			break
		}
		n++
	}
	return n
}

// Close forgets the versions of an output that no later sample changes.
func (t *Row) Close(o fold.Output) {
	for n := range fold.MaxParts {
		delete(t.Open, o.Part(n+1))
	}
}

// ForgetOpen forgets the versions of open windows, because all of them are written again.
func (t *Row) ForgetOpen(m *fold.Model) {
	for _, processor := range m.Processors {
		if _, ok := processor.Windowed(); ok {
			maps.DeleteFunc(t.Open, func(o fold.Output, _ tables.ETag) bool {
				return slices.Contains(processor.Tables, o.Table)
			})
		}
	}
}

// appendOpen encodes the outputs that later samples can change, with the versions that were written last.
func appendOpen(b []byte, open map[fold.Output]tables.ETag) []byte {
	b = pack.Int(b, len(open))
	for _, o := range fold.SortedOutputs(open) {
		for _, text := range [...]string{o.Table, o.PartitionKey, o.RowKey, string(open[o])} {
			b = pack.Text(b, text)
		}
	}
	return b
}

func parseOpen(b []byte) (map[fold.Output]tables.ETag, error) {
	open := map[fold.Output]tables.ETag{}
	if len(b) == 0 {
		return open, nil
	}
	r := pack.NewReader(b)
	for range r.Count() {
		o := fold.Output{Table: r.Text(), PartitionKey: r.Text(), RowKey: r.Text()}
		open[o] = tables.ETag(r.Text())
	}
	return open, r.Err()
}
