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
	"furrow/jobs/groups"
	"furrow/tables"
	"furrow/tables/schema"
)

// tableFileBytes is about how large a file of a table becomes.
const tableFileBytes = 64 << 20

// mostFiles is how many files a partition of the fleet has of a day; the last one has what is left.
const mostFiles = 23

// mostReplaced is how many files one transaction replaces and adds that changes days of so many partitions.
func mostReplaced(months int) int { return (tables.MaxOps - 2 - months) / 2 }

// most is how many files are made: of an hour one, as its day replaces them all at once.
func (g *readingsMaking) most() int {
	if g.of.Hour > 0 {
		return 1
	}
	return max(1, min(mostFiles-len(g.stay), mostReplaced(len(g.months))-len(g.gone)))
}

// A tableFile is a file of a table while it is written.
type tableFile struct {
	file    catalog.File
	body    *body
	hash    hash.Hash
	to      *columnar.ReadingsWriter
	written int64
	device  schema.DeviceID
}

// fileFor returns the file that a device's readings go to: the one that is being written, or another if that is large
// enough.
func (g *readingsMaking) fileFor(ctx context.Context, to *tableFile, d schema.DeviceID,
	columns []columnar.NamedSeries) (*tableFile, error) {
	if to != nil && (to.device == d || to.size() < int64(cmp.Or(g.FileBytes, tableFileBytes)) ||
		len(g.made) == g.most()) {
		to.device = d
		return to, nil
	}
	if err := g.putFile(ctx, to); err != nil {
		return nil, err
	}
	f, err := g.table.Pend(ctx, g.of.Day)
	if err != nil {
		return nil, err
	}
	f.Months = g.months
	for _, c := range columns {
		f.Columns = append(f.Columns, c.Name)
	}
	g.made = append(g.made, f)
	to = &tableFile{file: f, body: g.Store.newBody(g.table.Path(&f), parquetFile), hash: sha256.New(), device: d}
	to.to = columnar.NewReadings(io.MultiWriter(to.hash, writer(func(p []byte) error {
		to.written += int64(len(p))
		return to.body.write(ctx, p)
	})), columns)
	return to, nil
}

// size is about how large the file has become: what is held of it takes a tenth of that or less.
func (f *tableFile) size() int64 { return f.written + f.to.Held()/10 }

func (f *tableFile) write(one *groups.DayReading, about map[string]string) error {
	return f.to.Write(string(one.Member.Device), about, &one.Sample)
}

// putFile puts a file in its place.
func (g *readingsMaking) putFile(ctx context.Context, to *tableFile) error {
	if to == nil {
		return nil
	}
	if err := to.to.Close(); err != nil {
		return err
	}
	f := &g.made[len(g.made)-1]
	f.Bytes, f.Hash = to.written, hex.EncodeToString(to.hash.Sum(nil))
	f.Stats = delta.Stats{Rows: to.to.Rows, Ranges: map[string]delta.Range{
		columnar.Device: delta.Range(to.to.Devices), columnar.Key: delta.Range(to.to.Keys),
		columnar.Time: delta.Times(to.to.Times.Min, to.to.Times.Max)}}
	return to.body.put(ctx)
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
