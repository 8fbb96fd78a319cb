package archive

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"maps"
	"os"
	"slices"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// summed is what the rollups and reports that belong to a file of readings should say: those of its devices.
type summed struct {
	series  *rollup.Series
	device  string
	windows []schema.Window
	rows    map[schema.Window]hash.Hash                       // of rollups
	tenant  map[schema.Window]map[tables.Ticks]*report.Groups // reports of all devices
}

// aggregatesOf returns the rollups and reports that belong to a file.
func (m *Manifest) aggregatesOf(f File) (all []File) {
	for _, one := range slices.Concat(m.Rollups, m.Reports) {
		if one.First == f.First {
			all = append(all, one)
		}
	}
	return all
}

// newSummed returns nil where a file has more sensors than a bucket: which of them it has depends on their order.
func newSummed(m *Manifest, f File) (*summed, error) {
	if m.Expect.Long || len(m.Expect.Sensors) > fold.MaxSensors {
		return nil, nil
	}
	s := &summed{rows: map[schema.Window]hash.Hash{}, tenant: map[schema.Window]map[tables.Ticks]*report.Groups{}}
	for _, one := range m.Rollups {
		w, err := schema.ParseWindow(one.Window)
		if err != nil {
			return nil, fmt.Errorf("the manifest: %w", err)
		}
		if one.First == f.First {
			s.windows = append(s.windows, w)
			s.rows[w], s.tenant[w] = sha256.New(), map[tables.Ticks]*report.Groups{}
		}
	}
	if len(s.windows) == 0 {
		return nil, nil
	}
	return s, nil
}

// add adds a reading of the file. One that is out of order is reported elsewhere.
func (s *summed) add(one columnar.Reading, key schema.RowKey) {
	if s == nil {
		return
	}
	if s.series == nil || s.device != one.Device {
		s.end()
		s.series, s.device = rollup.NewSeries(s.windows...), one.Device
	}
	ended, _ := s.series.Add(&fold.Sample{Key: key, Values: one.Values})
	s.buckets(ended)
}

func (s *summed) end() {
	if s != nil && s.series != nil {
		s.buckets(s.series.End())
		s.series = nil
	}
}

func (s *summed) buckets(ended []rollup.Bucket) {
	for _, b := range ended {
		for _, sensor := range slices.Sorted(maps.Keys(b.Sensors)) {
			row := []any{s.device, micros(b.Start), sensor}
			fmt.Fprintln(s.rows[b.Window], append(row, stored(timed(b.Sensors[sensor]))...)...)
		}
		groups := s.tenant[b.Window]
		if groups[b.Start] == nil {
			groups[b.Start] = &report.Groups{By: []schema.By{schema.ByTenant}}
		}
		groups[b.Start].Add(schema.Placement{}, b.Sensors, schema.Stored{})
	}
}

func micros(t tables.Ticks) int64 { return t.Time().UnixMicro() }

// stored returns values as a file has them.
func stored(values []any) []any {
	for i, v := range values {
		if t, is := v.(tables.Ticks); is {
			values[i] = micros(t)
		}
	}
	return values
}

// sum returns a hash of the rows that a file should have, and of those that it is compared by.
func (s *summed) sum(kind string, w schema.Window) string {
	if kind == rollupsKind {
		return string(s.rows[w].Sum(nil))
	}
	rows := sha256.New()
	for _, start := range slices.Sorted(maps.Keys(s.tenant[w])) {
		for l := range s.tenant[w][start].Lines() {
			fmt.Fprintln(rows, append(append([]any{micros(start), l.Sensor}, stored(timed(l.Timed))...), l.Devices)...)
		}
	}
	return string(rows.Sum(nil))
}

// aggregates compares a file of rollups or reports with its entry in the manifest, and with the file of readings.
func (v *verifier) aggregates(ctx context.Context, s *Store, kind string, want *summed) error {
	copied, err := os.CreateTemp("", "furrow-*.parquet")
	if err != nil {
		return err
	}
	defer os.Remove(copied.Name())
	defer copied.Close()
	size, sum, err := s.download(ctx, v.file.Name, copied)
	if errors.Is(err, errNoObject) {
		v.report("it is missing")
		return nil
	}
	if err != nil {
		return err
	}
	if size != v.file.Bytes || sum != v.file.SHA256 {
		v.report("it has %d bytes with the SHA-256 %s, the manifest says %d and %s", size, sum, v.file.Bytes, v.file.SHA256)
	}
	rows, count, compared := sha256.New(), int64(0), int64(0)
	err = columnar.ReadTable(copied, size, func(row []any) error {
		count++
		if kind == reportsKind && row[0] != string(schema.ByTenant) {
			return nil
		}
		compared++
		if kind == reportsKind {
			row = row[2:] // without by and group
		} else {
			row = slices.Concat(row[:2], row[len(row)-9:]) // without site and labels
		}
		fmt.Fprintln(rows, row...)
		return nil
	})
	if err != nil {
		v.report("%v", err)
		return nil
	}
	if count != v.file.Rows {
		v.report("it has %d rows, the manifest says %d", count, v.file.Rows)
	}
	w, err := schema.ParseWindow(v.file.Window)
	if err != nil {
		v.report("%v", err)
	} else if want != nil && (compared > 0 || kind == rollupsKind) && want.sum(kind, w) != string(rows.Sum(nil)) {
		v.report("it differs from the readings of its devices")
	}
	return nil
}
