package verify

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An archivedRollups is the files that the archive has of a day's rollups of a window.
type archivedRollups struct {
	window schema.Window
	files  openFiles // each in the order of devices, times and sensors
}

// rollupsColumns are those of tables of rollups. The sensor stands in place of a key.
func rollupsColumns() map[string]column {
	all := map[string]column{"device": {cell: cell{kind: "device"}}, "sensor": {cell: cell{kind: "key"}},
		"count": {cell: cell{"count", long}}}
	for _, name := range []string{"sum", "min", "max", "first", "last"} {
		all[name] = column{cell: cell{name, double}}
	}
	for _, name := range []string{"time", "first_time", "last_time"} {
		all[name] = column{cell: cell{name, moment}}
	}
	return all
}

// openRollups opens the files of rollups of the day.
func (d *archivedDay) openRollups(ctx context.Context) error {
	for _, w := range d.Archive.Rollups {
		table, one := "rollups-"+w.String(), &archivedRollups{window: w}
		files, err := d.readFiles(ctx, table, d.day)
		made := len(files) > 0
		if err == nil && !made {
			made, err = d.made(ctx, table)
		}
		if err != nil {
			return err
		}
		if !made { // the window is new, or nothing was a number
			continue
		}
		d.rollups = append(d.rollups, one)
		columns, err := d.readColumns(ctx, table, rollupsColumns())
		if err != nil {
			return err
		}
		for _, f := range files {
			if _, err := d.openFile(ctx, &one.files, f, columns, "there"); err != nil {
				return err
			}
		}
	}
	return nil
}

// made reports whether the day was ever made of a table.
func (d *archivedDay) made(ctx context.Context, table string) (bool, error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(d.partition(table)),
		Rows: tables.KeysWithPrefix("d" + schema.Separator + d.day.String())}}
	_, found, err := d.Client.Table(d.Names.Catalog()).First(ctx, q)
	return found, err
}

// rowsOf yields the buckets of a device as rows of rollups. Devices come in order: those before are passed over.
func (r *archivedRollups) rowsOf(d *archivedDay, device schema.DeviceID) iter.Seq2[tables.Entity, error] {
	return func(yield func(tables.Entity, error) bool) {
		for _, f := range slices.Clone(r.files) {
			var e tables.Entity
			for slices.Contains(r.files, f) && f.ahead.device <= string(device) {
				if row := f.ahead; row.device == string(device) {
					at := schema.RollupRow{Device: device, Bucket: row.time("time")}.String()
					if e.RowKey != at && e.RowKey != "" && !yield(e, nil) {
						return
					}
					if e.RowKey != at {
						e = tables.Entity{RowKey: at}
					}
					e.Set(row.key, tables.String(row.bucket()))
				}
				d.step(&r.files, f)
			}
			if e.RowKey != "" && !yield(e, nil) {
				return
			}
		}
	}
}

// bucket returns a row as a bucket of the table of rollups, with its times.
func (r *archivedRow) bucket() string {
	var all []string
	for _, name := range []string{"count", "sum", "min", "max", "first", "last"} {
		kind := double
		if name == "count" {
			kind = long
		}
		all = append(all, strings.TrimSuffix(r.cells[cell{name, kind}], " (long)"))
	}
	return fmt.Sprintf("[%s,%s,%s]", strings.Join(all, ","), r.time("first_time"), r.time("last_time"))
}

// time returns the time in a column, to the microsecond.
func (r *archivedRow) time(column string) tables.Ticks {
	micros, _ := strconv.ParseInt(strings.TrimSuffix(r.cells[cell{column, moment}], " (long)"), 10, 64)
	return tables.TicksOf(time.UnixMicro(micros))
}

// archivedSums are a bucket of the archive's rollups: it has times to the microsecond.
type archivedSums struct{ *sums }

func (b archivedSums) properties() map[string]string {
	all := map[string]string{}
	for name, s := range b.sensors {
		micro := func(t tables.Ticks) tables.Ticks { return t - t%10 }
		all[name] = fmt.Sprintf("[%s,%s,%s]", s.text(), micro(s.firstAt), micro(s.lastAt))
	}
	return all
}

// A deviceSums compares the rollups of a device and day with the readings that files have, as storage has them.
type deviceSums struct {
	*archivedDay
	*pipe
}

// pipe returns the archive's pipeline for a device, without its tracking row.
func (s *shelf) pipe(m schema.Member) *pipe {
	p := &pipe{look: &look{Config: s.Config, member: m}, spots: map[spot]*difference{}}
	for _, p.Pipeline = range s.Pipelines {
		if p.Name == s.Archive.Pipeline {
			break
		}
	}
	p.settings = p.Settings(m)
	return p
}

func (d *archivedDay) beginSums(m schema.Member) (*deviceSums, error) {
	of := &deviceSums{d, d.pipe(m)}
	if m.Watermark > d.day.Start() {
		return of, nil
	}
	room := roomOfBuckets / max(1, len(d.Archive.Rollups))
	for _, r := range d.rollups {
		s := &series{output: "archive rollups " + r.window.String(), window: r.window, fresh: func(tables.Ticks) bucket {
			return archivedSums{&sums{sensors: map[string]*sum{}, left: room}}
		}}
		if err := s.begin(of.pipe, r.rowsOf(d, m.Device)); err != nil {
			return of, err
		}
	}
	return of, nil
}

// add adds a reading that a file has.
func (s *deviceSums) add(r *reading, watermark tables.Ticks) error {
	if r.stored > watermark { // it may have been another one
		at := r.key.Ticks.Floor(tables.Hour)
		s.late = append(s.late, counted{from: at, to: at + tables.Hour})
	}
	for _, c := range s.checks {
		if err := c.row(s.pipe, r); err != nil {
			return err
		}
	}
	return nil
}

// compareRest compares what is left, and notes the differences.
func (s *deviceSums) compareRest(ctx context.Context) error {
	for _, c := range s.checks {
		if err := c.finish(ctx, s.pipe); err != nil {
			return err
		}
	}
	for _, c := range s.seen {
		s.archivedDay.compared.Values += c.Values
	}
	if len(s.spots) == 0 {
		return nil
	}
	if err := s.readTrack(ctx); err != nil {
		return err
	}
	for _, x := range s.explained() {
		if s.reason != "" {
			x.Reason = s.reason
		}
		s.archivedDay.found.Differences = append(s.archivedDay.found.Differences, x)
	}
	return nil
}
