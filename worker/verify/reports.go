package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A joined is what the report of a group should have of a sensor: the numbers of its devices, in their order.
type joined struct {
	sum
	devices int64
}

func (j *joined) add(s sum) {
	if j.devices++; j.count == 0 {
		j.sum = s
		return
	}
	if s.firstAt < j.firstAt {
		j.first, j.firstAt = s.first, s.firstAt
	}
	if s.lastAt >= j.lastAt {
		j.last, j.lastAt = s.last, s.lastAt
	}
	j.count, j.sum.sum = j.count+s.count, finite(j.sum.sum+s.sum)
	j.min, j.max = min(j.min, s.min), max(j.max, s.max)
}

func (j *joined) String() string {
	return fmt.Sprintf("[%s,%d,%d,%d]", j.text(), int64(j.firstAt), int64(j.lastAt), j.devices)
}

// A grouped is the report of a group and bucket, as it should be.
type grouped struct {
	devices int64 // with a number
	stored  schema.Stored
	sensors map[string]*joined
	more    map[string]bool // sensors that a report has no room for
}

const mostMore = 10_000

func (g *grouped) add(e tables.Entity) error {
	count, err := schema.StoredOf(e)
	if err != nil {
		return err
	}
	if count.Rows > 0 {
		count.Devices = 1
		g.stored.Add(count)
	}
	all := stored(e)
	if len(all) > 0 {
		g.devices++
	}
	for name, text := range all {
		s, err := timedOf(text)
		if err != nil {
			return fmt.Errorf("bucket %s, sensor %s: %w", e.RowKey, name, err)
		}
		if g.sensors[name] == nil {
			g.sensors[name] = &joined{}
		}
		g.sensors[name].add(s)
	}
	if len(g.sensors) > 2*mostSensors {
		g.trim()
	}
	return nil
}

// trim keeps the first sensors by name.
func (g *grouped) trim() {
	names := slices.Sorted(maps.Keys(g.sensors))
	for _, name := range names[min(mostSensors, len(names)):] {
		delete(g.sensors, name)
		if len(g.more) < mostMore {
			g.more[name] = true
		}
	}
}

// properties returns what is stored of the report.
func (g *grouped) properties() map[string]string {
	g.trim()
	all := map[string]string{schema.DevicesProperty: strconv.FormatInt(g.devices, 10)}
	if len(g.more) > 0 {
		all[schema.MoreProperty] = strconv.Itoa(len(g.more))
	}
	if g.stored.Rows > 0 {
		all[schema.StoredProperty] = g.stored.String()
	}
	for name, j := range g.sensors {
		all[name] = j.String()
	}
	return all
}

// timedOf reads what the table buckets has of a sensor.
func timedOf(text string) (s sum, err error) {
	parts := strings.Split(strings.Trim(text, "[]"), ",")
	if len(parts) != 8 {
		return s, fmt.Errorf("%q is not an array of eight numbers", text)
	}
	var errs []error
	whole := func(i int) int64 {
		n, err := strconv.ParseInt(parts[i], 10, 64)
		errs = append(errs, err)
		return n
	}
	float := func(i int) float64 {
		f, err := strconv.ParseFloat(parts[i], 64)
		errs = append(errs, err)
		return f
	}
	s = sum{whole(0), float(1), float(2), float(3), float(4), float(5), tables.Ticks(whole(6)), tables.Ticks(whole(7))}
	return s, errors.Join(errs...)
}

// reports compares the reports of a day with the buckets of its devices, which were compared with their rows.
func (h *home) reports(ctx context.Context, p Pipeline, all []schema.By, w schema.Window, day schema.Day) error {
	key := schema.RollupPartition{Tenant: h.at.Tenant, Window: w, Day: day, Month: h.at.Month}
	q := tables.Query{Range: tables.Partition(key.String())}
	rows := schema.Joined(h.Client.Table(h.Names.Output(schema.BucketsTable)).Entities(ctx, q), schema.BucketOutput)
	var open tables.Ticks
	groups, n := map[schema.ReportRow]*grouped{}, int64(0)
	for e, err := range rows {
		if err != nil {
			return err
		}
		row, err := schema.ParseBucketRow(e.RowKey)
		if err != nil {
			return err
		}
		if row.Bucket != open && open != 0 {
			if err := h.report(ctx, p, w, open, groups); err != nil {
				return err
			}
			clear(groups)
		}
		open = row.Bucket
		site, labels, err := schema.PlacementOf(e)
		if err != nil {
			return err
		}
		for _, by := range all {
			name, is := by.Of(site, labels)
			if !is {
				continue
			}
			at := schema.ReportRow{By: by, Group: name, Bucket: open}
			if groups[at] == nil {
				groups[at] = &grouped{sensors: map[string]*joined{}, more: map[string]bool{}}
			}
			if err := groups[at].add(e); err != nil {
				h.differ(Difference{Device: row.Device, Day: day.String(), Pipeline: p.Name, Output: "buckets " + w.String(),
					At: open.Time(), Is: err.Error(), Want: "eight numbers", Reason: Unknown})
			}
		}
		n++
	}
	if n == 0 {
		return nil
	}
	return h.report(ctx, p, w, open, groups)
}

// report compares the reports of a bucket. Where they differ and somebody has left a mark, they are made again.
func (h *home) report(ctx context.Context, p Pipeline, w schema.Window, bucket tables.Ticks,
	groups map[schema.ReportRow]*grouped) error {
	maps.DeleteFunc(groups, func(_ schema.ReportRow, g *grouped) bool { return g.stored.Rows == 0 && g.devices == 0 })
	all, err := h.compareReports(ctx, p, w, bucket, groups)
	if err != nil || len(all) == 0 {
		return err
	}
	reason, err := h.whyReport(ctx, p, w, bucket)
	if err != nil {
		return err
	}
	first := all[0]
	first.Reason, first.More = reason, len(all)-1
	h.differ(first)
	return nil
}

func (h *home) compareReports(ctx context.Context, p Pipeline, w schema.Window, bucket tables.Ticks,
	groups map[schema.ReportRow]*grouped) (all []Difference, err error) {
	partition := schema.ReportPartition{Tenant: h.at.Tenant, Window: w, Period: w.PeriodOf(bucket), Month: h.at.Month}
	want := maps.Clone(groups)
	head, err := h.Client.Table(h.Names.Reports()).Get(ctx, partition.String(), schema.ReportHeadKey(bucket))
	if err == nil {
		made, err := schema.ReportHeadOf(head)
		if err != nil {
			return nil, err
		}
		for _, key := range made.Keys() { // groups that may be there, and should perhaps not
			if row, err := schema.ParseReportRow(key); err == nil && row.Part < 2 && want[row] == nil {
				want[row] = nil
			}
		}
	} else if !tables.Absent(err) {
		return nil, err
	}
	for _, row := range slices.SortedFunc(maps.Keys(want), func(a, b schema.ReportRow) int {
		return strings.Compare(a.String(), b.String())
	}) {
		is, err := h.readReport(ctx, partition.String(), row)
		if err != nil {
			return nil, err
		}
		should := map[string]string{}
		if g := want[row]; g != nil {
			should = g.properties()
		}
		if !h.Values {
			is, should = only(is, schema.StoredProperty), only(should, schema.StoredProperty)
		}
		for _, name := range unequal(is, should, strings.Compare) {
			all = append(all, Difference{Day: schema.DayOf(row.Bucket).String(), Pipeline: p.Name,
				Output: "reports " + w.String(), At: row.Bucket.Time(),
				Sensor: strings.TrimSpace(string(row.By) + " " + row.Group + " " + name),
				Is:     cmp.Or(is[name], "absent"), Want: cmp.Or(should[name], "absent")})
		}
	}
	return all, nil
}

// only returns one of the properties.
func only(all map[string]string, name string) map[string]string {
	if all[name] == "" {
		return nil
	}
	return map[string]string{name: all[name]}
}

// readReport reads a report with all of its parts.
func (h *home) readReport(ctx context.Context, partition string, row schema.ReportRow) (map[string]string, error) {
	all := map[string]string{}
	for row.Part = 1; ; row.Part++ {
		e, err := h.Client.Table(h.Names.Reports()).Get(ctx, partition, row.String())
		if tables.Absent(err) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for _, p := range e.Properties {
			if p.Name != "_fence" && p.Name != schema.FormatProperty {
				all[p.Name] = p.Value.String()
			}
		}
		if len(e.Properties) < 100 { // the last part
			return all, nil
		}
	}
}

// whyReport returns why the report of a bucket differs: a mark asks for it, it may be deleted, or no reports were made
// yet.
func (h *home) whyReport(ctx context.Context, p Pipeline, w schema.Window, bucket tables.Ticks) (Reason, error) {
	partitions, now := h.Client.Table(h.Names.Partitions(p.Name)), tables.TicksOf(time.Now())
	mark := schema.Mark{Month: h.at.Month, Kind: schema.ReportMark, Tenant: h.at.Tenant,
		Name: schema.ReportedBucket{Window: w, Start: bucket}.String()}
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(h.at.Month.String()),
		Rows: tables.KeysWithPrefix(mark.Key())}}
	if _, found, err := partitions.First(ctx, q); found || err != nil {
		return InFlight, err
	}
	if h.Kept != nil {
		m := schema.Member{Tenant: h.at.Tenant, Month: h.at.Month}
		end := bucket.Add(time.Duration(w))
		if kept := h.Kept(m, Buckets, w); kept > 0 && end <= (now.Add(-kept)+tables.Hour).Floor(tables.Day) {
			return Retained, nil
		}
	}
	key := schema.GroupTurn{Month: h.at.Month, Kind: schema.ReportMark}.Entity().RowKey
	row, err := partitions.Get(ctx, h.at.Month.String(), key)
	if tables.Absent(err) {
		return NotDue, nil
	}
	if err != nil {
		return Unknown, err
	}
	if turn, is := schema.GroupTurnOf(row); is && turn.ID != "" && turn.Until > now {
		return InFlight, nil
	}
	return h.whyUnfinished(ctx, partitions, bucket.Add(time.Duration(w)))
}

// whyUnfinished returns InFlight if a job may have written buckets of a device up to a time. It puts their marks when
// it commits.
func (h *home) whyUnfinished(ctx context.Context, partitions *tables.Table, to tables.Ticks) (Reason, error) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(h.at.Month.String()),
		Rows: schema.MembersOf(h.at.Tenant)}, Select: trackProperties()}
	for e, err := range partitions.Entities(ctx, q) {
		if err != nil {
			return Unknown, err
		}
		t, err := trackOf(e)
		if err != nil {
			return Unknown, err
		}
		if t.unfinished() && tables.TicksBefore(t.Checkpoint) < to {
			return InFlight, nil
		}
	}
	return Unknown, nil
}
