package check

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// Tracks reads the checkpoints and counters of a pipeline.
func Tracks(ctx context.Context, client *tables.Client, names schema.Names,
	p schema.Pipeline) (map[schema.DeviceID]schema.Track, error) {
	all := map[schema.DeviceID]schema.Track{}
	q := tables.Query{Range: tables.Range{Rows: schema.DeviceTracks()}, Select: schema.TrackProperties()}
	for e, err := range client.Table(names.Partitions(p)).Entities(ctx, q) {
		if err != nil {
			return nil, err
		}
		t, err := schema.TrackOf(e)
		if err != nil {
			return nil, err
		}
		all[t.Place.Device()] = t
	}
	return all, nil
}

// groups reads the fleet, and finds the partitions of each group. Any other partition is a difference.
func (c *checker) groups(ctx context.Context) (map[schema.LatestPartition]*group, error) {
	all := map[schema.LatestPartition]*group{}
	for e, err := range c.Client.Table(c.Names.Fleet()).Entities(ctx, tables.Query{Range: schema.Memberships("")}) {
		if err != nil {
			return nil, err
		}
		m, err := schema.MemberOf(e)
		if err != nil {
			return nil, err
		}
		key := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
		if c.Except[m.Device] {
			continue
		}
		if all[key] == nil {
			all[key] = &group{}
		}
		all[key].members = append(all[key].members, m)
		c.devices++
	}
	outputs := []string{c.Names.Latest(), c.Names.Rollups()}
	if c.Rates > 0 {
		outputs = append(outputs, c.Names.Output(ratesTable))
	}
	for _, table := range outputs {
		if err := c.partitions(ctx, table, all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// partitions skips from one partition of a table to the next.
func (c *checker) partitions(ctx context.Context, table string, all map[schema.LatestPartition]*group) error {
	for last, more := "", true; more; {
		more = false
		q := tables.Query{Range: tables.PartitionsAfter(last), Size: 1, Select: []string{"PartitionKey"}}
		for e, err := range c.Client.Table(table).Entities(ctx, q) {
			if err != nil {
				return err
			}
			last, more = e.PartitionKey, true
			break
		}
		if !more {
			break
		}
		p, key, err := c.parsePartition(table, last)
		if g := all[key]; err == nil && g != nil {
			g.partitions = append(g.partitions, p)
		} else {
			c.found.differ(Difference{Table: table, Row: last, Is: "there",
				Want: "absent: it is the partition of no device"})
		}
	}
	return nil
}

// readRejects reads which rows the pipeline has rejected, and how often each.
func (c *checker) readRejects(ctx context.Context) error {
	c.rejects = map[schema.DeviceID]map[string]int{}
	q := tables.Query{Select: []string{"Row"}}
	for e, err := range c.Client.Table(c.Names.Rejects()).Entities(ctx, q) {
		if err != nil {
			return err
		}
		device := schema.DeviceID(e.PartitionKey)
		if c.Except[device] || !strings.HasPrefix(e.RowKey, string(c.Pipeline)+schema.Separator) {
			continue
		}
		if c.rejects[device] == nil {
			c.rejects[device] = map[string]int{}
		}
		c.rejects[device][e.Get("Row").Text()]++
	}
	return nil
}
