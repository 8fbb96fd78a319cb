package catalog

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables"
)

// A Series is a sensor and what kind of values it has, or a property of devices. It has one column for ever, whatever
// else a file has.
type Series struct {
	Sensor string
	Type   delta.Type // delta.Double, Long, Text or Bytes
	About  bool       // it is no sensor, but a property of the device, such as site or labels.NAME
	More   bool       // it is all sensors that have no column of their own
}

// More returns the series of all sensors that have no column of their own: what they send stands in one column.
func More() Series { return Series{Type: delta.Text, More: true} }

// sensor reports whether a series is that of one sensor: of those, a table has at most MaxColumns.
func (s Series) sensor() bool { return !s.About && !s.More }

// suffixes are of the names of columns. Numbers are what nearly all sensors have.
func (s Series) suffix() string {
	switch {
	case s.About:
		return ""
	case s.Type == delta.Long:
		return "_long"
	case s.Type == delta.Bytes:
		return "_bytes"
	case s.Type == delta.Text:
		return "_text"
	}
	return ""
}

// MaxColumns is how many columns of sensors a table may have. Those that come later share one.
const MaxColumns = 2000

// A sensorColumn is one that is taken.
type sensorColumn struct {
	name  string
	of    Series
	since tables.Ticks
}

func (c *sensorColumn) column() delta.Column {
	what := "furrow.sensor"
	switch {
	case c.of.About:
		what = "furrow.about"
	case c.of.More:
		what = "furrow.more"
	}
	return delta.Column{Name: c.name, Type: c.of.Type, Nullable: true, Metadata: map[string]string{what: c.of.Sensor}}
}

// Columns returns the names of the columns of series, and takes names for those that have none. A name that was taken
// stays, for that series alone; names differ without regard to case. A file with these columns may be committed from
// then on: its version has them, too, or one before it. Sensors beyond MaxColumns have the name of the column of More,
// and keep that: no column becomes free.
func (t *Table) Columns(ctx context.Context, wanted []Series) (map[Series]string, error) {
	for try := 0; ; {
		names, missing, err := t.columnsOf(ctx, wanted)
		if err != nil || len(missing) == 0 {
			return names, t.wrap("its columns", err)
		}
		if err = t.takeNames(ctx, missing); err == nil {
			continue // a transaction has room for so many
		}
		if try++; !taken(err) || try == manyTries {
			return nil, t.wrap("its columns", err)
		}
		if err := commit.Pause(ctx, min(try, commit.Tries)); err != nil {
			return nil, err
		}
	}
}

// taken reports whether somebody else has been faster.
func taken(err error) bool {
	return errors.Is(err, tables.ErrConflict) || errors.Is(err, tables.ErrExists) || errors.Is(err, tables.ErrBusy)
}

func (t *Table) columnsOf(ctx context.Context, wanted []Series) (names map[Series]string, missing []Series, err error) {
	all, err := t.sensorColumns(ctx)
	names = map[Series]string{}
	for _, c := range all {
		names[c.of] = c.name
	}
	full := sensors(all) >= MaxColumns
	for _, s := range wanted {
		if full && s.sensor() && names[s] == "" {
			if names[More()] != "" {
				names[s] = names[More()]
				continue
			}
			s = More()
		}
		if names[s] == "" && !slices.Contains(missing, s) {
			missing = append(missing, s)
		}
	}
	return names, missing, err
}

// sensors counts the columns of one sensor each.
func sensors(all []sensorColumn) (n int) {
	for _, c := range all {
		if c.of.sensor() {
			n++
		}
	}
	return n
}

// sensorColumns returns all columns of sensors, in the order in which they came.
func (p *partition) sensorColumns(ctx context.Context) (all []sensorColumn, err error) {
	for c, err := range read(ctx, p, p.query(columnRows), sensorColumnOf) {
		if err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b sensorColumn) int {
		return cmp.Or(cmp.Compare(a.since, b.since), cmp.Compare(a.name, b.name))
	})
	return all, nil
}

func sensorColumnOf(e tables.Entity) (sensorColumn, error) {
	f := e.Fields()
	return sensorColumn{f.String("Name"), Series{f.String("Sensor"), delta.Type(f.String("Type")), f.Boolean("About"),
		f.Boolean("More")}, e.Timestamp}, f.Err()
}

// takeNames takes names for as many series as one transaction has room for. The number of columns changes with them:
// by that row alone, a commit sees whether there are new ones.
func (t *Table) takeNames(ctx context.Context, missing []Series) error {
	h, err := t.head(ctx)
	if err != nil {
		return err
	}
	all, err := t.sensorColumns(ctx)
	if err != nil {
		return err
	}
	if h.count != len(all) {
		return tables.ErrConflict // another took some meanwhile
	}
	used := map[string]bool{moreColumn: true}
	for _, c := range h.fixed {
		used[strings.ToLower(c.Name)] = true
	}
	for _, c := range all {
		used[strings.ToLower(c.name)] = true
		missing = slices.DeleteFunc(missing, func(s Series) bool { return s == c.of }) // another was faster
	}
	room := MaxColumns - sensors(all)
	missing = slices.DeleteFunc(missing, func(s Series) bool {
		if s.sensor() {
			room--
		}
		return s.sensor() && room < 0
	})
	if missing = missing[:min(len(missing), tables.MaxOps-1)]; len(missing) == 0 {
		return nil
	}
	ops := make([]tables.Op, 0, len(missing)+1)
	for _, s := range missing {
		name := s.free(used)
		used[strings.ToLower(name)] = true
		e := t.entity(columnRows + strings.ToLower(name))
		e.Set("Name", tables.String(name))
		e.Set("Sensor", tables.String(s.Sensor))
		e.Set("Type", tables.String(string(s.Type)))
		e.Set("About", tables.Boolean(s.About))
		e.Set("More", tables.Boolean(s.More))
		ops = append(ops, tables.Insert(e))
	}
	number := t.entity(columnsRow)
	number.Set("Columns", tables.Int64(int64(len(all)+len(missing))))
	_, err = t.rows.Submit(ctx, append(ops, tables.Merge(number, h.counted)))
	return err
}

// moreColumn is the name of the column of More. No sensor's column has it.
const moreColumn = "more"

// free returns a name that no other column has.
func (s Series) free(used map[string]bool) string {
	if s.More {
		return moreColumn
	}
	name := delta.ColumnName(s.Sensor) + s.suffix()
	for n := 2; used[strings.ToLower(name)]; n++ {
		name = fmt.Sprint(delta.ColumnName(s.Sensor), s.suffix(), "_", n)
	}
	return name
}

// metadata returns what the log says of the columns of a head that there are now, and counts them in it.
func (p *partition) metadata(ctx context.Context, h *head) (*delta.Metadata, error) {
	all, err := p.sensorColumns(ctx)
	if err != nil {
		return nil, err
	}
	columns := slices.Clone(h.fixed)
	for _, c := range all {
		columns = append(columns, c.column())
	}
	h.columns = len(all)
	schema, err := delta.SchemaOf(columns)
	return &delta.Metadata{ID: h.id, Name: p.Name, Format: delta.Format{Provider: "parquet", Options: map[string]string{}},
		Schema: schema, Partitions: []string{"date"}, Configuration: map[string]string{}, Created: h.created}, err
}
