package verify

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math"
	"slices"

	"furrow/tables"
	"furrow/tables/schema"
)

// ErrNoDevice means that the fleet has no such device.
var ErrNoDevice = errors.New("no such device")

// members yields the memberships that are verified, in the order of months and keys.
func (c *Config) members(ctx context.Context) iter.Seq2[schema.Member, error] {
	return func(yield func(schema.Member, error) bool) {
		if c.Device != "" {
			c.membersOfDevice(ctx, yield)
			return
		}
		months := schema.Memberships("").Partitions
		if c.After.Key != "" {
			months.From = c.After.Month.String()
		}
		for {
			q := tables.Query{Range: tables.Range{Partitions: months}, Select: []string{"Timestamp"}}
			e, found, err := c.Client.Table(c.Names.Fleet()).First(ctx, q)
			if err != nil {
				yield(schema.Member{}, err)
			}
			if err != nil || !found || !c.membersOfMonth(ctx, e.PartitionKey, yield) {
				return
			}
			months = tables.Keys{After: e.PartitionKey}
		}
	}
}

func (c *Config) membersOfMonth(ctx context.Context, month string, yield func(schema.Member, error) bool) bool {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(month)}}
	if c.Tenant != "" {
		q.Range.Rows = schema.MembersOf(c.Tenant)
	}
	if c.After.Key != "" && month == c.After.Month.String() && string(c.After.Key) >= q.Range.Rows.From {
		q.Range.Rows.From, q.Range.Rows.After = "", string(c.After.Key)
	}
	for e, err := range c.Client.Table(c.Names.Fleet()).Entities(ctx, q) {
		var m schema.Member
		if err == nil {
			m, err = schema.MemberOf(e)
		}
		if err != nil {
			yield(m, err)
			return false
		}
		if !yield(m, nil) {
			return false
		}
	}
	return true
}

// samples reports whether a device is in the sample, or what devices share.
func (c *Config) samples(name string) bool {
	if c.Share <= 0 || c.Share >= 1 {
		return true
	}
	at := hashOf(name) - c.Begin
	if at < 0 {
		at++
	}
	return at < c.Share
}

// hashOf returns where among the hashes a name is, from 0 to 1.
func hashOf(name string) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // a hash takes all
	sum := h.Sum64()
	sum ^= sum >> 33 // IDs that differ in their last digits alone have hashes that do, too
	sum *= 0xff51afd7ed558ccd
	sum ^= sum >> 33
	return float64(sum) / math.MaxUint64
}

// membersOfDevice yields the memberships of the one device: that of its tenant, and those of former ones.
func (c *Config) membersOfDevice(ctx context.Context, yield func(schema.Member, error) bool) {
	record, err := c.Client.Table(c.Names.Devices()).Get(ctx, string(c.Device), schema.DeviceRow)
	if tables.Absent(err) {
		err = fmt.Errorf("%w: %s", ErrNoDevice, tables.Quote(string(c.Device)))
	}
	var d schema.Device
	if err == nil {
		d, err = schema.DeviceOf(record)
	}
	if err != nil {
		yield(schema.Member{}, err)
		return
	}
	tenants := d.Tenants()
	for i := 0; i < len(tenants); i++ {
		m := d.Of(tenants[i])
		e, err := c.Client.Table(c.Names.Fleet()).Get(ctx, m.Month.String(), string(m.Key()))
		if errors.Is(err, tables.ErrNotFound) {
			continue // it has left the fleet
		}
		if err == nil {
			m, err = schema.MemberOf(e)
		}
		if m.Next != "" && !slices.Contains(tenants, m.Next) {
			tenants = append(tenants, m.Next) // a move was interrupted, and the record will follow
		}
		if err == nil && c.Tenant != "" && m.Tenant != c.Tenant {
			continue
		}
		if !yield(m, err) || err != nil {
			return
		}
	}
}
