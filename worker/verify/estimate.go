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
	rows, days := int64(0), int64(0)
	for m, err := range c.members(ctx) {
		if err != nil {
			return e, err
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
	}
	e.Days = int64((c.To - c.From) / tables.Day)
	if days > 0 {
		e.Readings = rows * e.Devices * e.Days / days
	}
	each := int64(1) // raw rows
	for i := range c.Pipelines {
		each += c.Pipelines[i].requests(c.Values, e.Days)
	}
	e.Requests = e.Devices/pageRows + 1 + e.Devices*each + e.Readings*int64(1+c.pages())/pageRows
	return e, nil
}

// pageRows is how many rows a request reads.
const pageRows = 1000

// requests returns how many requests a device takes at least.
func (p *Pipeline) requests(values bool, days int64) (n int64) {
	n = 1 + days*int64(len(p.Windows)) // tracking row; a partition for each window and day
	if p.Latest {
		n++
	}
	if p.Rates > 0 && values {
		n += 1 + 2*days
	}
	for i, w := range p.Reported {
		if values || i == len(p.Reported)-1 {
			n += days * int64(schema.Daily/w)
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
