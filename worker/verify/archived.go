package verify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Archive is what is to be known of the tables that an archive keeps.
type Archive struct {
	Pipeline   schema.Pipeline // whose marks have days made again
	CloseAfter time.Duration   // how long after its end a day is made
	Rollups    []schema.Window
	// Read returns a file of a tenant, by its name in the folder of its tables; nil if there is none. It may be nil.
	Read func(ctx context.Context, of schema.Tenant, name string) ([]byte, error)
}

const (
	archivedOutput = "archived"
	filesOutput    = "archive files"
	cellsOutput    = "archive cells"
)

// A shelf is what the archive has of a tenant's readings, to be compared with the devices of one partition of the
// fleet.
//
// A day of the table has a watermark: every row is in it that storage had accepted by then. So it has at least those,
// and at most all rows. That needs no ledger, and holds for days that are sealed.
type shelf struct {
	*Config
	at     schema.LatestPartition
	now    tables.Ticks // of the service
	days   map[dayOf]shelved
	stored map[schema.Day]*storedDay
	gone   tables.Ticks // rows of days that begin before it may have been deleted
	stands standing     // of the memberships that were looked at
	part   bool         // of the devices alone is looked at: the others, and the numbers of days, are not
	found  Device
}

// A dayOf is a day of a table and a partition of the fleet.
type dayOf struct {
	day   schema.Day
	month schema.Month
}

// shelved is what the catalog says of a day.
type shelved struct {
	rows      int64
	watermark tables.Ticks
	etag      tables.ETag
}

// A storedDay is what storage has of a day.
type storedDay struct {
	rows, later int64  // later: accepted after the day's watermark, so they may not be there yet
	reason      Reason // why the archive's pipeline has not folded some; empty: it has
}

// shelf reads what the archive has. It is nil where nothing can be compared with it: of a part of the devices, without
// their values. A sample has a share of the tenants' partitions, with all of their devices, as a file has many.
func (c *Config) shelf(ctx context.Context, at schema.LatestPartition) (*shelf, error) {
	after := c.After.Key != "" && c.After.Month == at.Month && c.After.Key.Tenant() == at.Tenant
	if c.Archive == nil || after && !c.part() || c.part() && !c.cells(at) {
		return nil, nil
	}
	all := *c
	all.Share = 0
	s := &shelf{Config: &all, at: at, stored: map[schema.Day]*storedDay{}, part: c.part(), found: homeOf(at)}
	var err error
	s.days, s.now, err = s.readDays(ctx)
	return s, err
}

// cells reports whether the files of a tenant and a partition of the fleet are read.
func (c *Config) cells(at schema.LatestPartition) bool {
	return c.Archive != nil && c.Archive.Read != nil && c.Values && c.samples(at.String())
}

// part reports whether some devices of a tenant are verified, and others are not.
func (c *Config) part() bool { return c.Device != "" || c.Share > 0 && c.Share < 1 }

const readingsTable = "readings"

// partition returns the key of the catalog's rows of a table of the tenant.
func (s *shelf) partition(table string) string {
	sum := sha256.Sum256([]byte(s.at.Tenant.Key() + schema.Separator + table))
	return hex.EncodeToString(sum[:16])
}

// rows asks for the catalog's rows of a kind, of the days that are verified: KIND!DATE!NAME.
func (s *shelf) rows(kind string) tables.Query {
	first, last := schema.DayOf(s.From), schema.DayOf(s.To-1)
	return tables.Query{Range: tables.Range{Partitions: tables.Is(s.partition(readingsTable)), Rows: tables.Keys{
		From: kind + schema.Separator + first.String(), Before: kind + schema.Separator + (last + 1).String()}}}
}

// readDays reads the rows d!DATE!PARTITION.
func (s *shelf) readDays(ctx context.Context) (days map[dayOf]shelved, now tables.Ticks, err error) {
	days = map[dayOf]shelved{}
	for page, err := range s.Client.Table(s.Names.Catalog()).Rows(ctx, s.rows("d")) {
		if errors.Is(err, tables.ErrNoTable) {
			return days, tables.TicksOf(time.Now()), nil
		}
		if err != nil {
			return nil, 0, err
		}
		now = tables.TicksOf(page.Time)
		for _, e := range page.Rows {
			at, err := s.dayOf(e.RowKey)
			if err != nil {
				return nil, 0, err
			}
			f := e.Fields()
			days[at] = shelved{rows: f.Int("Rows"), watermark: tables.Ticks(f.Int("Watermark")), etag: e.ETag}
			if err := f.Err(); err != nil {
				return nil, 0, err
			}
		}
	}
	return days, now, nil
}

func (s *shelf) dayOf(row string) (at dayOf, err error) {
	_, rest, _ := strings.Cut(row, schema.Separator)
	date, month, _ := strings.Cut(rest, schema.Separator)
	var errMonth error
	at.day, err = schema.ParseDay(date)
	at.month, errMonth = schema.ParseMonth(month)
	return at, errors.Join(err, errMonth)
}

// count counts a row of a device for the archive.
func (k *look) count(r *reading) {
	if k.shelf == nil || !r.valid {
		return
	}
	day := schema.DayOf(r.key.Ticks)
	if k.stored == nil {
		k.stored = map[schema.Day]*storedDay{}
	}
	if k.stored[day] == nil {
		k.stored[day] = &storedDay{}
	}
	if k.stored[day].rows++; r.stored > k.shelf.days[dayOf{day, k.member.Month}].watermark {
		k.stored[day].later++
	}
}

// add adds what storage has of a device.
func (s *shelf) add(m schema.Member, d *Device) {
	if s == nil {
		return
	}
	s.stands.add(m)
	for day, of := range d.stored {
		if s.stored[day] == nil {
			s.stored[day] = &storedDay{}
		}
		s.stored[day].rows, s.stored[day].later = s.stored[day].rows+of.rows, s.stored[day].later+of.later
	}
	for _, x := range d.Differences {
		day, err := schema.ParseDay(x.Day)
		if of := s.stored[day]; err == nil && of != nil && x.Pipeline == s.Archive.Pipeline && x.Output == folded {
			of.reason = x.Reason
		}
	}
	s.gone = max(s.gone, m.Watermark)
}

// compare compares day after day with the archive.
func (s *shelf) compare(ctx context.Context) (Device, error) {
	marked, err := s.marked(ctx)
	if err != nil {
		return s.found, err
	}
	for day := schema.DayOf(s.From); day.Start() < s.To; day++ {
		has, want := s.days[dayOf{day, s.at.Month}], s.stored[day]
		if want == nil {
			want = &storedDay{}
		}
		if has.rows == 0 && want.rows == 0 {
			continue
		}
		reason := s.known(day, marked)
		if reason != NotDue {
			if err := s.compareFiles(ctx, day, reason); err != nil {
				return s.found, err
			}
		}
		if s.part {
			continue
		}
		if err := s.compareDay(ctx, day, has, want, reason); err != nil {
			return s.found, err
		}
	}
	return s.found, nil
}

// compareDay compares the numbers of a day's readings. Without a reason, it looks for one.
func (s *shelf) compareDay(ctx context.Context, day schema.Day, has shelved, want *storedDay, reason Reason,
) (err error) {
	if has.rows != want.rows {
		if reason == "" {
			if reason, err = s.explain(ctx, day, has, want); err != nil {
				return err
			}
		}
		s.found.Differences = append(s.found.Differences, s.about(day, archivedOutput, Difference{
			Rows: want.rows - has.rows, Is: readings(has.rows), Want: readings(want.rows), Reason: reason}))
	}
	if reason != NotDue {
		s.found.Days = append(s.found.Days, Day{Day: day.String(), Counts: []Count{{Pipeline: s.Archive.Pipeline,
			Output: archivedOutput, Rows: has.rows, Want: want.rows}}})
	}
	return nil
}

// about completes a difference in the archive.
func (s *shelf) about(day schema.Day, output string, d Difference) Difference {
	d.Tenant, d.Day, d.Pipeline, d.Output = s.at.Tenant, day.String(), s.Archive.Pipeline, output
	if d.At.IsZero() {
		d.At = day.Start().Time()
	}
	return d
}

// marked returns the days that marks ask for.
func (s *shelf) marked(ctx context.Context) (map[schema.Day]bool, error) {
	days := map[schema.Day]bool{}
	q := tables.Query{Range: schema.Marks(s.at.Month, schema.ArchiveMark)}
	for e, err := range s.Client.Table(s.Names.Partitions(s.Archive.Pipeline)).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		mark, err := schema.MarkOf(e)
		if err != nil || mark.Tenant != s.at.Tenant {
			continue // whoever makes days reports a mark that cannot be read
		}
		if of, err := mark.Archive(); err == nil {
			days[of.Day] = true
		}
	}
	return days, nil
}

// known returns why a day may differ, whatever the rows are; empty: it should not.
func (s *shelf) known(day schema.Day, marked map[schema.Day]bool) Reason {
	kept := time.Duration(0)
	if s.Kept != nil {
		kept = s.Kept(schema.Member{Tenant: s.at.Tenant, Month: s.at.Month}, Archived, 0)
	}
	switch end := (day + 1).Start(); {
	case end.Add(s.Archive.CloseAfter) > s.now:
		return NotDue
	case marked[day]:
		return Waits
	case kept > 0 && day.Start() < (s.now.Add(-kept)+tables.Hour).Ceil(tables.Day):
		return Retained
	}
	return ""
}

// explain returns why the archive has fewer or more rows of a day than storage.
func (s *shelf) explain(ctx context.Context, day schema.Day, has shelved, want *storedDay) (Reason, error) {
	few, made := has.rows < want.rows, has.etag != ""
	switch {
	case want.reason == Moved || want.reason == Refold || few && !made && want.reason != "":
		return want.reason, nil
	case few && made && has.rows >= want.rows-want.later:
		return Late, nil
	case has.rows > want.rows && s.gone > day.Start():
		return Retained, nil
	}
	why, stands, err := s.ofDevices(ctx, day)
	if err != nil || why != Unknown && !(few && why == Left) { // whoever has left has no rows that are not there
		return why, err
	}
	now, _, err := s.readDays(ctx)
	if at := (dayOf{day, s.at.Month}); err == nil && (now[at].etag != has.etag || !stands) {
		return InFlight, nil // somebody has made it meanwhile, or rows belong to others
	}
	return Unknown, err
}

// homeOf returns what is found of a tenant and a partition of the fleet, before anything is.
func homeOf(at schema.LatestPartition) Device {
	return Device{Tenant: at.Tenant, Days: []Day{}, Differences: []Difference{}, Looks: 1, Compared: []Compared{}}
}

// join adds what was found of a tenant.
func (d *Device) join(o Device) {
	d.Days, d.Differences = append(d.Days, o.Days...), append(d.Differences, o.Differences...)
	d.Looks = max(d.Looks, o.Looks)
	d.Compared = append(d.Compared, o.Compared...)
}
