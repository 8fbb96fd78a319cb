package check

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// An expectation is what the tables should say of a device.
type expectation struct {
	member   schema.Member
	names    schema.Names
	outputs  map[place]map[string]output // by sensor
	rejected map[string]bool             // row keys

	points  map[string][]point // numbers of each sensor, for rates; nil: the pipeline has none
	last    tables.Ticks       // of the newest row
	crowded bool               // it has more sensors than rates have room for
}

// expect reads all rows of a device, and compares them with its receipts.
func (c *checker) expect(ctx context.Context, m schema.Member) (*expectation, error) {
	x := &expectation{member: m, names: c.Names, outputs: map[place]map[string]output{}, rejected: map[string]bool{}}
	if c.Rates > 0 {
		x.points = map[string][]point{}
	}
	folded := max(c.Until.String(), c.tracks[m.Device].Checkpoint)
	found := map[string]bool{}
	var bytes int64
	waiting := 0
	q := tables.Query{Range: tables.Partition(string(m.Device))}
	for e, err := range c.Client.Table(m.Readings).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		found[e.RowKey] = true
		bytes += int64(e.Size())
		c.compareReceipt(m, e)
		if e.RowKey > folded && !strings.HasPrefix(e.RowKey, folded) {
			waiting++
			continue
		}
		x.add(e)
	}
	x.dropOld()
	if c.Rates > 0 {
		x.newestRates(tables.Ticks(c.Rates / 100))
	}
	c.compareTold(m, found)
	c.found.count(func(r *Result) {
		r.Devices++
		r.Readings += len(found)
		r.Waiting += waiting
		r.Bytes += bytes
	})
	return x, nil
}

// add adds a row. Rows come in the order of their keys.
func (x *expectation) add(e tables.Entity) {
	values, rejected := meaning(e)
	if rejected {
		x.rejected[e.RowKey] = true
	}
	if !isReadingKey(e.RowKey) {
		return
	}
	at := e.RowKey[:ticksOfAKey]
	ticks, err := tables.ParseTicks(at)
	if err != nil {
		return // 19 digits after the year 9999, which no token admits
	}
	if x.last = ticks; len(values) == 0 {
		return
	}
	if x.points != nil {
		x.addRates(ticks, values)
	}
	latest := x.sensors(x.latest())
	for name, v := range values {
		latest[name] = newest{at, v}
	}
	for _, w := range []schema.Window{schema.Minute, schema.Hour, schema.Daily} {
		sensors := x.sensors(x.bucket(w, ticks))
		for name, v := range values {
			if !v.isNumber {
				continue
			}
			if sensors[name] == nil {
				sensors[name] = &sums{}
			}
			sensors[name].(*sums).add(v.number)
		}
	}
}

func (x *expectation) sensors(at place) map[string]output {
	if x.outputs[at] == nil {
		x.outputs[at] = map[string]output{}
	}
	return x.outputs[at]
}

func (x *expectation) latest() place {
	key := schema.LatestPartition{Tenant: x.member.Tenant, Month: x.member.Month}
	return place{partition{table: x.names.Latest(), key: key.String()}, string(x.member.Device)}
}

// bucket is where a rollup of a time is.
func (x *expectation) bucket(w schema.Window, at tables.Ticks) place {
	length := tables.Ticks(w / 100)
	start := at / length * length
	key := schema.RollupPartition{Tenant: x.member.Tenant, Window: w, Day: schema.DayOf(start), Month: x.member.Month}
	row := schema.RollupRow{Device: x.member.Device, Bucket: start}
	return place{partition{table: x.names.Rollups(), key: key.String(), window: w}, row.String()}
}

// dropOld removes the sensors from latest that were not seen for too long.
func (x *expectation) dropOld() {
	sensors := x.outputs[x.latest()]
	last := ""
	for _, n := range sensors {
		last = max(last, n.(newest).at)
	}
	for name, n := range sensors {
		at, _ := tables.ParseTicks(n.(newest).at)
		if newest, err := tables.ParseTicks(last); err == nil && at < newest.Add(-mostAge) {
			delete(sensors, name)
		}
	}
}

// compareReceipt compares a row with what its device has sent.
func (c *checker) compareReceipt(m schema.Member, e tables.Entity) {
	if c.Receipts == nil {
		return
	}
	sent, is := c.Receipts.sent[m.Device][e.RowKey]
	switch {
	case !is:
		c.found.differ(Difference{m.Readings, m.Device, e.RowKey, "", "there", "absent: no device has sent it"})
	case sent != digestOfStored(e):
		c.found.differ(Difference{m.Readings, m.Device, e.RowKey, "", "another reading",
			"the one that the device has sent"})
	}
}

// compareTold looks for acknowledged rows that are not stored.
func (c *checker) compareTold(m schema.Member, found map[string]bool) {
	if c.Receipts == nil {
		return
	}
	for key := range c.Receipts.told[m.Device] {
		if !found[key] {
			c.found.differ(Difference{m.Readings, m.Device, key, "", "absent",
				"there: the device was told that it is stored"})
			c.found.count(func(r *Result) { r.Lost++ })
		}
	}
}
