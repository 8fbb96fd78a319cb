package verify

import (
	"context"
	"iter"
	"slices"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// A home is the devices of a tenant and a partition of the fleet, which share partitions of outputs.
type home struct {
	*Config
	at    schema.LatestPartition
	found Device
}

// home verifies what devices have together: the reports of their tenant, and that no output is of a device that the
// tenant does not have.
func (c *Config) home(ctx context.Context, at schema.LatestPartition) (Device, error) {
	h := &home{Config: c, at: at, found: homeOf(at)}
	for _, p := range c.Pipelines {
		for _, o := range p.Outputs {
			if err := o.home(ctx, h, p); err != nil {
				return h.found, err
			}
		}
	}
	return h.found, nil
}

func (h *home) differ(d Difference) {
	d.Tenant = h.at.Tenant
	h.found.Differences = append(h.found.Differences, d)
}

// strangers compares the devices that a partition of outputs has with those of the fleet. Both are in the order of
// IDs.
func (h *home) strangers(ctx context.Context, p Pipeline, output, table, partition string, at tables.Ticks) error {
	next, stop := pullMembers(ctx, h)
	defer stop()
	var member schema.DeviceID
	before := schema.DeviceID("")
	q := tables.Query{Range: tables.Partition(partition)}
	for e, err := range h.Client.Table(table).Entities(ctx, q) {
		if err != nil {
			return err
		}
		d := deviceOf(e.RowKey)
		if d == before || len(stored(e)) == 0 {
			continue
		}
		for before = d; member < d; {
			if member, err = next(); err != nil {
				return err
			}
		}
		if member == d {
			continue
		}
		reason, err := h.left(ctx, h.at.Tenant, d)
		if err != nil {
			return err
		}
		h.differ(Difference{Device: d, Day: schema.DayOf(at).String(), Pipeline: p.Name, Output: output, At: at.Time(),
			Is: "there", Want: "absent: the tenant has no such device", Reason: reason})
	}
	return nil
}

// strangersOfDays compares the devices that a table of buckets has on each day: with the values, in each window.
func (h *home) strangersOfDays(ctx context.Context, p Pipeline, table string, windows []schema.Window) error {
	for _, w := range longest(windows, h.Values) {
		of := schema.RollupPartition{Tenant: h.at.Tenant, Window: w, Month: h.at.Month}
		for key, err := range partitionsOf(ctx, h.Client.Table(h.Names.Output(table)), of, h.From, h.To) {
			if err == nil {
				err = h.strangers(ctx, p, table+" "+w.String(), h.Names.Output(table), key.String(), key.Day.Start())
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// stride is after how many days a long span is searched for the next one that has something.
const stride = 31

// partitionsOf yields the partitions of a table with the keys of rollups, day after day. Of a span longer than stride
// it leaps over days without rows of the tenant, so that a question since 1990 costs what is stored.
func partitionsOf(ctx context.Context, t *tables.Table, of schema.RollupPartition, from, to tables.Ticks,
) iter.Seq2[schema.RollupPartition, error] {
	return func(yield func(schema.RollupPartition, error) bool) {
		last := schema.DayOf(to - 1)
		of.Day = schema.DayOf(from)
		for n := 0; of.Day <= last; of.Day, n = of.Day+1, n+1 {
			if n%stride == 0 && last-of.Day >= stride {
				e, found, err := t.First(ctx, tables.Query{Range: tables.Range{Partitions: of.TenantDays(last)},
					Select: []string{"PartitionKey"}})
				if err == nil && !found {
					return
				}
				next, notOurs := schema.ParseRollupPartition(e.PartitionKey)
				if err != nil {
					yield(of, err)
					return
				}
				if notOurs == nil {
					of.Day = next.Day
				}
			}
			if !yield(of, nil) {
				return
			}
		}
	}
}

// deviceOf returns the device of an output's RowKey: what comes before the first separator.
func deviceOf(rowKey string) schema.DeviceID {
	device, _, _ := strings.Cut(rowKey, schema.Separator)
	return schema.DeviceID(device)
}

// lastDevice is after all IDs.
const lastDevice = "\x7f"

// pullMembers returns a function that returns one device of the home after the other, and then lastDevice.
func pullMembers(ctx context.Context, h *home) (next func() (schema.DeviceID, error), stop func()) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(h.at.Month.String()),
		Rows: schema.MembersOf(h.at.Tenant)}, Select: []string{"Timestamp"}}
	pull, stop := iter.Pull2(h.Client.Table(h.Names.Fleet()).Entities(ctx, q))
	return func() (schema.DeviceID, error) {
		e, err, more := pull()
		if err != nil || !more {
			return lastDevice, err
		}
		key, err := schema.ParseMemberKey(e.RowKey)
		if err != nil {
			return lastDevice, err
		}
		return key.Device(), nil
	}, stop
}

// left returns why a device may have outputs of a tenant that does not have it: it has left the fleet, or has just
// come.
func (c *Config) left(ctx context.Context, t schema.Tenant, d schema.DeviceID) (Reason, error) {
	e, err := c.Client.Table(c.Names.Devices()).Get(ctx, string(d), schema.DeviceRow)
	if tables.Absent(err) {
		return Unknown, nil
	}
	if err != nil {
		return Unknown, err
	}
	record, err := schema.DeviceOf(e)
	if err == nil && slices.Contains(record.Tenants(), t) {
		return Left, nil
	}
	return Unknown, err
}
