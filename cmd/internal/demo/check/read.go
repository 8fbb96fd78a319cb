package check

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// members are the devices of the fleet.
func (c *checker) members(ctx context.Context) (map[group][]schema.Member, error) {
	all := map[group][]schema.Member{}
	err := c.rows(ctx, c.Names.Fleet(), tables.Query{Range: schema.Memberships("")}, func(e tables.Entity) error {
		m, err := schema.MemberOf(e)
		g := group{m.Tenant, m.Month}
		if !c.Except[m.Device] {
			all[g] = append(all[g], m)
		}
		return err
	})
	return all, err
}

// readTracks reads the checkpoints, and how many rows were rejected and came late.
func (c *checker) readTracks(ctx context.Context, members map[group][]schema.Member) error {
	c.tracks = map[schema.DeviceID]schema.Track{}
	months := map[schema.Month]bool{}
	for g := range members {
		if months[g.month] {
			continue
		}
		months[g.month] = true
		q := tables.Query{Range: tables.Partition(g.month.String()), Select: schema.TrackProperties()}
		err := c.rows(ctx, c.Names.Partitions(c.Pipeline), q, func(e tables.Entity) error {
			t, err := schema.TrackOf(e)
			c.tracks[t.Place.Device()] = t
			return err
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// readRejects reads which rows are in the pipeline's rings, and how often.
func (c *checker) readRejects(ctx context.Context) error {
	c.rejects = map[schema.DeviceID]map[string]int{}
	return c.rows(ctx, c.Names.Rejects(), tables.Query{Select: []string{"Row"}}, func(e tables.Entity) error {
		if !strings.HasPrefix(e.RowKey, string(c.Pipeline)+"!") {
			return nil
		}
		device := schema.DeviceID(e.PartitionKey)
		if c.Except[device] {
			return nil
		}
		if c.rejects[device] == nil {
			c.rejects[device] = map[string]int{}
		}
		c.rejects[device][e.Get("Row").Text()]++
		return nil
	})
}

// partitions are the keys of a group's partitions of outputs.
type partitions struct{ latest, rollups []string }

// partitions finds those of every group. One that is no group's is a difference.
func (c *checker) partitions(ctx context.Context, members map[group][]schema.Member) (map[group]partitions, error) {
	byGroup := map[group]partitions{}
	for _, table := range []string{c.Names.Latest(), c.Names.Rollups()} {
		keys, err := c.partitionKeys(ctx, table)
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			g, ok := groupOf(key)
			if !ok || members[g] == nil {
				c.found.differ(Difference{Table: table, Row: key, Is: "there", Want: "absent: it is the partition of no device"})
				continue
			}
			p := byGroup[g]
			if table == c.Names.Latest() {
				p.latest = append(p.latest, key)
			} else {
				p.rollups = append(p.rollups, key)
			}
			byGroup[g] = p
		}
	}
	return byGroup, nil
}

// groupOf reads tenant!month and tenant!window!day!month.
func groupOf(partition string) (g group, ok bool) {
	parts := strings.Split(partition, "!")
	month, err := schema.ParseMonth(parts[len(parts)-1])
	return group{schema.Tenant(parts[0]), month}, err == nil && (len(parts) == 2 || len(parts) == 4)
}

// partitionKeys seeks from partition to partition.
func (c *checker) partitionKeys(ctx context.Context, table string) (keys []string, err error) {
	for last := ""; ; {
		next := ""
		err := c.rows(ctx, table, tables.Query{Range: tables.PartitionsAfter(last), Size: 1,
			Select: []string{"PartitionKey"}}, func(e tables.Entity) error {
			next = e.PartitionKey
			return errEnough
		})
		if err != nil && err != errEnough {
			return nil, err
		}
		if next == "" {
			return keys, nil
		}
		keys, last = append(keys, next), next
	}
}
