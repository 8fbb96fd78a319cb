package catalog

import (
	"fmt"
	"strings"

	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/go-json-experiment/json"
)

// A Day is what a table has of a day (UTC) and one partition of the fleet. Every transaction that touches that writes
// it, on the version that was read.
type Day struct {
	Date      schema.Day
	Month     schema.Month
	Rows      int64
	Watermark tables.Ticks // every row is in it that storage had accepted then
	Taken     tables.Ticks // when rows of its own were taken in
	Changed   tables.Ticks // when storage wrote what it is read from; 0: it is new
	etag      tables.ETag  // empty: it is new
}

func (d *Day) row() string {
	return dayRows + d.Date.String() + schema.Separator + d.Month.String()
}

// write returns the change that makes the row say what d says.
func (d *Day) write(p *partition) tables.Op {
	e := p.entity(d.row())
	e.Set("Rows", tables.Int64(d.Rows))
	e.Set("Watermark", tables.Int64(int64(d.Watermark)))
	e.Set("Taken", tables.Int64(int64(d.Taken)))
	e.Set("Moves", tables.String("null")) // earlier releases want it
	if d.etag == "" {
		return tables.Insert(e)
	}
	return tables.Replace(e, d.etag)
}

func dayOf(e tables.Entity) (d Day, err error) {
	parts, err := parse(e.RowKey, dayRows, 2)
	if err != nil {
		return d, err
	}
	f := e.Fields()
	d = Day{Rows: f.Int("Rows"), Watermark: tables.Ticks(f.Int("Watermark")), Taken: tables.Ticks(f.Int("Taken")),
		Changed: e.Timestamp, etag: e.ETag}
	d.Date, err = schema.ParseDay(parts[0])
	f.Fail("RowKey", err)
	d.Month, err = schema.ParseMonth(parts[1])
	f.Fail("RowKey", err)
	return d, f.Err()
}

// A File is one file of a table, of a day.
type File struct {
	Date     schema.Day
	Name     string         // random, so that no two files ever have the same
	Months   []schema.Month // partitions of the fleet in it
	Bytes    int64
	Hash     string // SHA-256 of its bytes, in hexadecimal
	Stats    delta.Stats
	Columns  []string // of sensors, that it has
	Modified int64    // ms since 1970
	Added    int64    // version that added it

	etag tables.ETag // of its row; of a new one, of the row that says that it is pending
}

// path is that of the file below the table's folder.
func (f *File) path() string { return "date=" + f.Date.String() + "/" + f.Name + ".parquet" }

func (f *File) row() string { return fileRows + f.Date.String() + schema.Separator + f.Name }

func (f *File) partition() map[string]string { return map[string]string{"date": f.Date.String()} }

// add is what the log says of the file.
func (f *File) add() delta.Add {
	return delta.Add{Path: f.path(), Partition: f.partition(), Size: f.Bytes, Modified: f.Modified, DataChange: true,
		Stats: f.Stats.String()}
}

// write returns the change that makes a file a live one.
func (f *File) write(p *partition) (tables.Op, error) {
	e := p.entity(f.row())
	months := make([]string, len(f.Months))
	for i, m := range f.Months {
		months[i] = m.String()
	}
	stats, err := json.Marshal(f.Stats, json.Deterministic(true))
	e.Set("Months", tables.String(strings.Join(months, " ")))
	e.Set("Bytes", tables.Int64(f.Bytes))
	e.Set("Hash", tables.String(f.Hash))
	e.Set("Stats", tables.String(string(stats)))
	e.Set("Modified", tables.Int64(f.Modified))
	e.Set("Added", tables.Int64(f.Added))
	set(&e, columnsProperty, []byte(strings.Join(f.Columns, " ")))
	return tables.Insert(e), err
}

const columnsProperty = "Columns"

func fileOf(e tables.Entity) (file File, err error) {
	parts, err := parse(e.RowKey, fileRows, 2)
	if err != nil {
		return file, err
	}
	f := e.Fields()
	file = File{Name: parts[1], Bytes: f.Int("Bytes"), Hash: f.String("Hash"), Modified: f.Int("Modified"),
		Added: f.Int("Added"), etag: e.ETag}
	file.Date, err = schema.ParseDay(parts[0])
	f.Fail("RowKey", err)
	for text := range strings.FieldsSeq(f.String("Months")) {
		m, err := schema.ParseMonth(text)
		f.Fail("Months", err)
		file.Months = append(file.Months, m)
	}
	f.Fail("Stats", json.Unmarshal([]byte(f.String("Stats")), &file.Stats))
	columns, err := get(&e, columnsProperty)
	f.Fail(columnsProperty, err)
	file.Columns = strings.Fields(string(columns))
	return file, f.Err()
}

// A removed is a file that a table had, or that never came: its blob is to be deleted.
type removed struct {
	File
	version int64        // that removed it; 0: it was in none
	at      int64        // ms since 1970: when its version was made
	due     bool         // at once, whatever is read: it has rows that were erased
	deleted tables.Ticks // when its blob was deleted for the first time; 0: it was not
	key     string       // RowKey
	written tables.Ticks // when storage wrote the row
}

// write returns the change that makes a file a removed one. Nothing in it names a device whose rows were erased.
func (r *removed) write(p *partition) (tables.Op, error) {
	e := p.entity(fmt.Sprintf("%s%020d%s%s", removedRows, r.version, schema.Separator, r.Name))
	e.Set("Date", tables.String(r.Date.String()))
	e.Set("Bytes", tables.Int64(r.Bytes))
	e.Set("Modified", tables.Int64(r.Modified))
	e.Set("Added", tables.Int64(r.Added))
	e.Set("At", tables.Int64(r.at))
	e.Set("Due", tables.Boolean(r.due))
	stats := r.Stats
	if r.due {
		stats.Ranges = nil
	}
	text, err := json.Marshal(stats, json.Deterministic(true))
	e.Set("Stats", tables.String(string(text)))
	return tables.Insert(e), err
}

func removedOf(e tables.Entity) (r removed, err error) {
	parts, err := parse(e.RowKey, removedRows, 2)
	if err != nil {
		return r, err
	}
	f := e.Fields()
	r = removed{at: f.Int("At"), due: f.Boolean("Due"), deleted: tables.Ticks(f.Int("Deleted")), key: e.RowKey,
		written: e.Timestamp,
		File: File{Name: parts[1], Bytes: f.Int("Bytes"), Modified: f.Int("Modified"), Added: f.Int("Added"),
			etag: e.ETag}}
	_, err = fmt.Sscanf(parts[0], "%020d", &r.version)
	f.Fail("RowKey", err)
	r.Date, err = schema.ParseDay(f.String("Date"))
	f.Fail("Date", err)
	f.Fail("Stats", json.Unmarshal([]byte(f.String("Stats")), &r.Stats))
	return r, f.Err()
}

// remove is what the log says of the file.
func (r *removed) remove() delta.Remove {
	return delta.Remove{Path: r.path(), Deleted: r.at, DataChange: true, Extended: true, Partition: r.partition(),
		Size: r.Bytes}
}
