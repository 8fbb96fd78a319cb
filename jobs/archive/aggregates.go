package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"io"
	"maps"
	"slices"
	"strconv"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/groups"
	"furrow/jobs/report"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
)

// Kinds of files beside readings, and their folders.
const (
	rollupsKind = "rollups"
	reportsKind = "reports"
)

// Summed says which files there are of a day besides readings.
type Summed struct {
	Rollups []schema.Window
	Reports []schema.Window // of those
	By      []schema.By     // groups of reports
}

// names returns the files that belong to one file of readings, in the order of windows.
func (s Summed) names(f Folder, n int) (all []aggregates) {
	for _, w := range s.Rollups {
		all = append(all, aggregates{kind: rollupsKind, window: w, name: f.aggregates(rollupsKind, w, n)})
	}
	for _, w := range s.Reports {
		all = append(all, aggregates{kind: reportsKind, window: w, name: f.aggregates(reportsKind, w, n)})
	}
	return all
}

// aggregates is one file of rollups or reports.
type aggregates struct {
	kind   string
	window schema.Window
	name   string
	on     azcore.ETag // version before readings were read
	body   *body
	hash   hash.Hash
	table  *columnar.TableWriter
	groups map[tables.Ticks]*report.Groups // by the start of their buckets
}

// A summing makes the files of rollups and reports while the file of readings is made. They are folded from the same
// readings, so they are what the readings say, whatever other pipelines are behind with.
type summing struct {
	about   About
	by      []schema.By
	windows []schema.Window
	files   []aggregates
	series  *rollup.Series
	member  *schema.Member
}

// begin looks at the files that exist, and returns what makes them again.
func (f *dayFile) begin(ctx context.Context) (*summing, error) {
	s := &summing{about: f.about, by: f.summed.By, windows: f.summed.Rollups, files: f.summed.names(f.folder, f.number)}
	for i := range s.files {
		found, err := f.store.look(ctx, s.files[i].name)
		if err != nil {
			return nil, err
		}
		if found != nil {
			s.files[i].on = found.etag
		}
	}
	return s, nil
}

// reset begins with the first reading.
func (s *summing) reset(ctx context.Context, store *Store) {
	s.series, s.member = nil, nil
	for i := range s.files {
		a := &s.files[i]
		a.body, a.hash, a.groups = store.newBody(a.name, parquetFile), sha256.New(), map[tables.Ticks]*report.Groups{}
		a.table = columnar.NewTable(io.MultiWriter(a.hash, writer(func(p []byte) error { return a.body.write(ctx, p) })),
			s.columns(a.kind))
	}
}

func (s *summing) columns(kind string) []columnar.TableColumn {
	all := []columnar.TableColumn{{Name: columnar.Device}, {Name: columnar.Time, Type: columnar.Moments}}
	if kind == reportsKind {
		all = []columnar.TableColumn{{Name: "by"}, {Name: "group"}, {Name: columnar.Time, Type: columnar.Moments}}
	} else {
		for _, name := range s.about.columns() {
			all = append(all, columnar.TableColumn{Name: name})
		}
	}
	all = append(all, columnar.TableColumn{Name: "sensor"}, columnar.TableColumn{Name: "count", Type: columnar.Counts})
	for _, name := range []string{"sum", "min", "max", "first", "last"} {
		all = append(all, columnar.TableColumn{Name: name, Type: columnar.Doubles})
	}
	all = append(all, columnar.TableColumn{Name: "first_time", Type: columnar.Moments},
		columnar.TableColumn{Name: "last_time", Type: columnar.Moments})
	if kind == reportsKind {
		all = append(all, columnar.TableColumn{Name: "devices", Type: columnar.Counts})
	}
	return all
}

// add adds a reading.
func (s *summing) add(one *groups.DayReading) error {
	if len(s.windows) == 0 {
		return nil
	}
	if s.member == nil || s.member.Device != one.Member.Device {
		if err := s.end(); err != nil {
			return err
		}
		s.member, s.series = one.Member, rollup.NewSeries(s.windows...)
	}
	ended, err := s.series.Add(&one.Sample)
	if err != nil {
		return err
	}
	return s.buckets(ended)
}

// end ends a device.
func (s *summing) end() error {
	if s.series == nil {
		return nil
	}
	return s.buckets(s.series.End())
}

func (s *summing) buckets(ended []rollup.Bucket) error {
	for _, b := range ended {
		for i := range s.files {
			a := &s.files[i]
			if a.window != b.Window {
				continue
			}
			if a.kind == reportsKind {
				if a.groups[b.Start] == nil {
					a.groups[b.Start] = &report.Groups{By: s.by}
				}
				a.groups[b.Start].Add(s.member.PlacementAt(b.Start), b.Sensors, schema.Stored{})
				continue
			}
			for _, sensor := range slices.Sorted(maps.Keys(b.Sensors)) {
				row := []any{string(s.member.Device), b.Start}
				for _, value := range s.about.values(s.member) {
					row = append(row, value)
				}
				if err := a.table.Write(append(append(row, sensor), timed(b.Sensors[sensor])...)...); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func timed(t rollup.Timed) []any {
	return []any{t.Count, t.Sum, t.Min, t.Max, t.First, t.Last, t.FirstAt, t.LastAt}
}

// close ends the last device and the files.
func (s *summing) close(watermark string) error {
	if err := s.end(); err != nil {
		return err
	}
	for i := range s.files {
		a := &s.files[i]
		for _, start := range slices.Sorted(maps.Keys(a.groups)) {
			for l := range a.groups[start].Lines() {
				row := append([]any{string(l.By), l.Group, start, l.Sensor}, timed(l.Timed)...)
				if err := a.table.Write(append(row, l.Devices)...); err != nil {
					return err
				}
			}
		}
		if err := a.table.Close(); err != nil {
			return err
		}
		a.body.metadata = map[string]*string{metaWriter: &a.body.writer, metaWatermark: &watermark,
			metaRows: to.Ptr(strconv.FormatInt(a.table.Rows, 10)), metaHash: to.Ptr(hex.EncodeToString(a.hash.Sum(nil)))}
	}
	return nil
}

// place puts the files before the file of readings, whose watermark says that all were made.
func (s *summing) place(ctx context.Context) error {
	for i := range s.files {
		if err := s.files[i].body.place(ctx, s.files[i].on); err != nil {
			return err
		}
	}
	return nil
}
