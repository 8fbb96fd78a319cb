package verify

import (
	"context"
	"slices"

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
	var rows, days, busy, homes, read, inRead int64
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
		busy += c.busy(&t, m)
	}
	e.Days = int64((c.To - c.From) / tables.Day)
	asked := max(1, min(e.Devices, some))
	if days > 0 {
		e.Readings = rows * e.Devices / asked * busy / days
	}
	busy = (busy + asked - 1) / asked // of a device
	each := int64(1)                  // raw rows
	for i := range c.Pipelines {
		each += c.Pipelines[i].requests(c.Values, e.Days, busy)
	}
	e.Requests = 2*(e.Devices/pageRows+1) + asked + e.Devices*each + e.Readings*int64(1+c.pages())/pageRows
	if !c.part() {
		e.Requests += homes * (c.ofHome(e.Days, busy) + int64(len(c.outputs())))
	}
	if c.Archive != nil {
		if !c.part() {
			e.Requests += homes * (2 + busy)
		}
		e.Requests += read*(2+busy*int64(3+3*len(c.Archive.Rollups))) + inRead*busy // each device's day once more
	}
	return e, nil
}

// busy returns on how many of the days a device may have readings: on those of the ledger, and on sealed ones since the
// month in which it was registered, which have left the ledger.
func (c *Config) busy(t *track, m schema.Member) (days int64) {
	for day := schema.DayOf(c.From); day.Start() < c.To; day++ {
		_, sealed := t.over(day.Start(), (day + 1).Start())
		if sealed && day.String() >= m.Month.String() || slices.ContainsFunc(t.counted, func(n counted) bool {
			return schema.DayOf(n.from) == day
		}) {
			days++
		}
	}
	return days
}

// ofHome returns about how many requests the outputs take that devices of a tenant and a partition of the fleet share.
// Each is read beside the fleet.
func (c *Config) ofHome(days, busy int64) (n int64) {
	for _, p := range c.Pipelines {
		if p.Latest {
			n += 2
		}
		windows, reported := p.Windows, p.Reported
		if !c.Values {
			windows, reported = windows[:min(len(windows), 1)], reported[max(len(reported)-1, 0):]
		}
		n += 2 * days * int64(len(windows))
		for _, w := range reported {
			n += days + busy*int64(schema.Daily/w)*int64(1+len(p.By))
		}
	}
	return n
}

// pageRows is how many rows a request reads.
const pageRows = 1000

// requests returns how many requests a device takes at least.
func (p *Pipeline) requests(values bool, days, busy int64) (n int64) {
	n = 1 + days*int64(len(p.Windows)) // tracking row; a partition for each window and day
	if p.Latest {
		n++
	}
	if p.Rates > 0 && values {
		n += 1 + 2*days
	}
	for i, w := range p.Reported {
		if values || i == len(p.Reported)-1 {
			n += busy * int64(schema.Daily/w)
		}
	}
	return n
}

// pages returns how many windows have about as many buckets as there are readings.
func (c *Config) pages() (n int) {
	for _, p := range c.Pipelines {
		for _, w := range p.Windows {
			if w <= schema.Minute {
				n++
			}
		}
	}
	return n
}
