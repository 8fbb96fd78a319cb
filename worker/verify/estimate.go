package verify

import (
	"context"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Estimate is about what a verification reads.
type Estimate struct {
	Devices  int64 `json:"devices"`
	Days     int64 `json:"days"`
	Readings int64 `json:"readings"` // about, from what ledgers count of some of the devices
	Requests int64 `json:"requests"` // of tables
}

// Estimate counts the devices, and computes from the ledgers of some of them how many requests it takes to verify all.
func (c *Config) Estimate(ctx context.Context) (e Estimate, err error) {
	const some = 20
	var rows, days, homes, read, inRead int64
	var busy load
	var home schema.LatestPartition
	for m, err := range c.members(ctx) {
		if err != nil {
			return e, err
		}
		at := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
		cells := c.cells(at)
		if at != home {
			if home, homes = at, homes+1; cells {
				read++
			}
		}
		if cells {
			inRead++
		}
		if !c.samples(string(m.Device)) {
			continue
		}
		if e.Devices++; e.Devices > some || len(c.Pipelines) == 0 {
			continue
		}
		t, _, err := readTrack(ctx, c.Client.Table(c.Names.Partitions(c.Pipelines[0].Name)), m)
		if err != nil {
			return e, err
		}
		last := schema.Day(-1)
		for _, n := range t.counted {
			rows += n.rows
			if day := schema.DayOf(n.from); day != last {
				last, days = day, days+1
			}
		}
		busy.add(c.busy(&t, m))
	}
	e.Days = int64((c.To - c.From) / tables.Day)
	asked := max(1, min(e.Devices, some))
	if days > 0 {
		e.Readings = rows * e.Devices / asked * busy.days / days
	}
	// Of a device.
	busy = load{(busy.days + asked - 1) / asked, (busy.hours + asked - 1) / asked}
	looked := min(e.Days, busy.days+2*stride) // it leaps over what is longer empty
	all := cost{device: 1}                    // raw rows
	for _, p := range c.Pipelines {
		all.device++ // tracking row
		for _, o := range p.Outputs {
			all.add(o.cost(c.Values, looked, busy))
		}
	}
	e.Requests = 1 + 2*(e.Devices/pageRows+1) + asked + e.Devices*all.device + e.Readings*(1+all.pages)/pageRows
	if !c.part() {
		if c.Values {
			e.Requests += e.Readings * all.pages / pageRows // once more, to find devices that are in no fleet
		}
		e.Requests += homes*all.home + (homes+1)*int64(len(c.outputs()))
	}
	if c.Archive != nil {
		if !c.part() {
			e.Requests += homes * (2 + busy.days)
		}
		e.Requests += read*(2+busy.days*int64(3+3*len(c.Archive.Rollups))) + inRead*busy.days // each device's day once more
	}
	return e, nil
}

// A load is on how many days, and in how many hours of these, a device may have readings.
type load struct{ days, hours int64 }

func (l *load) add(o load) { l.days, l.hours = l.days+o.days, l.hours+o.hours }

// buckets returns how many buckets of a window may have readings.
func (l load) buckets(w schema.Window) int64 {
	return min(l.days*int64(schema.Daily/w), l.hours*int64(max(1, schema.Hour/w)))
}

// busy returns when a device may have readings: in the hours of the ledger, on the days that it no longer divides, and
// on sealed ones since the month in which it was registered, which have left the ledger.
func (c *Config) busy(t *track, m schema.Member) (all load) {
	const whole = int64(tables.Day / tables.Hour)
	first, last := c.To, c.From
	for _, n := range t.counted {
		first, last = min(first, n.from), max(last, n.to)
	}
	for _, d := range t.days {
		first, last = min(first, d.from), max(last, d.to)
	}
	for day := schema.DayOf(max(c.From, first)); day.Start() < min(c.To, last); day++ {
		of := load{days: 1}
		for _, n := range t.counted {
			if schema.DayOf(n.from) == day {
				of.hours += int64((n.to - n.from) / tables.Hour)
			}
		}
		if _, sealed := t.over(day.Start(), (day + 1).Start()); sealed && day.String() >= m.Month.String() {
			of.hours = whole
		}
		if of.hours > 0 {
			all.add(of)
		}
	}
	return all
}

// pageRows is how many rows a request reads.
const pageRows = 1000
