package archive

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"
)

// A tableFile is a file of a table while it is written.
type tableFile struct {
	catalog.File
	body *body
	hash hash.Hash
}

// newTableFile begins a file of a table that has columns of series.
func (s *Store) newTableFile(ctx context.Context, t *catalog.Table, day schema.Day,
	columns []columnar.NamedSeries) (*tableFile, error) {
	f, err := t.Pend(ctx, day)
	for _, c := range columns {
		f.Columns = append(f.Columns, c.Name)
	}
	return &tableFile{File: f, body: s.newBody(t.Path(&f), parquetFile), hash: sha256.New()}, err
}

// writer returns what writes its bytes.
func (f *tableFile) writer(ctx context.Context) io.Writer {
	return writer(func(p []byte) error {
		f.hash.Write(p)
		f.Bytes += int64(len(p))
		return f.body.write(ctx, p)
	})
}

// put puts the file in its place, and returns what the catalog has to know of it.
func (f *tableFile) put(ctx context.Context, rows int64, ranges map[string]delta.Range) (catalog.File, error) {
	f.Hash, f.Stats = hex.EncodeToString(f.hash.Sum(nil)), delta.Stats{Rows: rows, Ranges: ranges}
	return f.File, f.body.put(ctx)
}

// A readingsFile is a file of readings while it is written.
type readingsFile struct {
	*tableFile
	to     *columnar.ReadingsWriter
	device schema.DeviceID
}

// tableFileBytes is about how large a file of a table becomes.
const tableFileBytes = 64 << 20

// mostFiles is how many files a partition of the fleet has of a day; the last one has what is left.
const mostFiles = 23

// mostReplaced is how many files one transaction replaces and adds that changes days of so many partitions.
func mostReplaced(months int) int { return (tables.MaxOps - 2 - months) / 2 }

// most is how many files are made: of an hour one, as its day replaces them all at once.
func (g *readingsMaking) most() int {
	if g.of.Hour > 0 || g.joins {
		return 1
	}
	return max(1, min(mostFiles-len(g.stay), mostReplaced(len(g.months))-len(g.gone)))
}

// fileFor returns the file that a device's readings go to: the one that is being written, or another if that is large
// enough.
func (g *readingsMaking) fileFor(ctx context.Context, to *readingsFile, d schema.DeviceID,
	columns []columnar.NamedSeries) (*readingsFile, error) {
	if to != nil && (to.device == d || to.size() < int64(cmp.Or(g.FileBytes, tableFileBytes)) ||
		len(g.made) == g.most()) {
		to.device = d
		return to, nil
	}
	if err := g.putFile(ctx, to); err != nil {
		return nil, err
	}
	f, err := g.Store.newTableFile(ctx, g.table, g.of.Day, columns)
	if err != nil {
		return nil, err
	}
	f.Months = g.months
	g.made = append(g.made, f.File)
	return &readingsFile{f, columnar.NewReadings(f.writer(ctx), columns), d}, nil
}

// size is about how large the file has become: what is held of it takes a tenth of that or less.
func (f *readingsFile) size() int64 { return f.Bytes + f.to.Held()/10 }

// putFile puts a file in its place.
func (g *readingsMaking) putFile(ctx context.Context, f *readingsFile) error {
	if f == nil {
		return nil
	}
	if err := f.to.Close(); err != nil {
		return err
	}
	file, err := f.put(ctx, f.to.Rows, map[string]delta.Range{
		columnar.Device: delta.Range(f.to.Devices), columnar.Key: delta.Range(f.to.Keys),
		columnar.Time: delta.Times(f.to.Times.Min, f.to.Times.Max)})
	g.made[len(g.made)-1] = file
	return err
}

// types are those of columns, by the kind of their values.
func typeOf(k columnar.Kind) delta.Type {
	switch k {
	case columnar.Long:
		return delta.Long
	case columnar.Text:
		return delta.Text
	case columnar.Binary:
		return delta.Bytes
	}
	return delta.Double
}

// catalogSeries returns what the catalog calls a series.
func catalogSeries(s columnar.Series) catalog.Series {
	if s.Kind == columnar.More {
		return catalog.More()
	}
	return catalog.Series{Sensor: s.Sensor, Type: typeOf(s.Kind), About: s.About}
}

// columnarSeries returns what files call a series.
func columnarSeries(s catalog.Series) columnar.Series {
	if s.More {
		return columnar.Series{Kind: columnar.More}
	}
	for _, k := range []columnar.Kind{columnar.Double, columnar.Long, columnar.Text, columnar.Binary} {
		if typeOf(k) == s.Type {
			return columnar.Series{Sensor: s.Sensor, Kind: k, About: s.About}
		}
	}
	return columnar.Series{}
}
