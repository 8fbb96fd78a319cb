package verify

import (
	"context"
	"errors"
	"slices"

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
		if p.Latest {
			if err := h.strangers(ctx, p, latest, c.Names.Latest(), at.String(), c.From.Floor(tables.Day)); err != nil {
				return h.found, err
			}
		}
		if err := h.days(ctx, p); err != nil {
			return h.found, err
		}
	}
	return h.found, nil
}

// days verifies day after day.
func (h *home) days(ctx context.Context, p Pipeline) error {
	for day := schema.DayOf(h.From); day.Start() < h.To; day++ {
		for _, w := range p.Windows {
			if !h.Values && w != slices.Max(p.Windows) {
				continue
			}
			key := schema.RollupPartition{Tenant: h.at.Tenant, Window: w, Day: day, Month: h.at.Month}
			err := h.strangers(ctx, p, "rollups "+w.String(), h.Names.Rollups(), key.String(), day.Start())
			if err != nil {
				return err
			}
		}
		for i, w := range p.Reported {
			if !h.Values && i < len(p.Reported)-1 {
				continue
			}
			found, err := h.reportsOf(ctx, p, w, day)
			if err != nil {
				return err
			}
			h.found.Differences = append(h.found.Differences, found...)
		}
	}
	return nil
}

// reportsOf compares the reports of a day. A job writes the buckets of devices before it leaves a mark with its
// commit, so where nothing explains a difference, it waits longer and longer, and looks again.
func (h *home) reportsOf(ctx context.Context, p Pipeline, w schema.Window, day schema.Day) ([]Difference, error) {
	for n := 1; ; n++ {
		look := home{Config: h.Config, at: h.at}
		if err := look.reports(ctx, p, w, day); err != nil {
			return nil, err
		}
		if n == looks || look.found.Unexplained() == 0 {
			h.found.Looks = max(h.found.Looks, n)
			return look.found.Differences, nil
		}
		h.pause(n)
	}
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
		reason, err := h.left(ctx, d)
		if err != nil {
			return err
		}
		h.differ(Difference{Device: d, Day: schema.DayOf(at).String(), Pipeline: p.Name, Output: output, At: at.Time(),
			Is: "there", Want: "absent: the tenant has no such device", Reason: reason})
	}
	return nil
}

// deviceOf returns the device of an output's RowKey: what comes before the first separator.
func deviceOf(rowKey string) schema.DeviceID {
	for i := range rowKey {
		if rowKey[i] == schema.Separator[0] {
			return schema.DeviceID(rowKey[:i])
		}
	}
	return schema.DeviceID(rowKey)
}

// lastDevice is after all IDs.
const lastDevice = "\x7f"

// pullMembers returns a function that returns one device of the home after the other, and then lastDevice.
func pullMembers(ctx context.Context, h *home) (next func() (schema.DeviceID, error), stop func()) {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(h.at.Month.String()),
		Rows: schema.MembersOf(h.at.Tenant)}, Select: []string{"Timestamp"}}
	pull, stop := pullEntities(h.Client.Table(h.Names.Fleet()).Entities(ctx, q))
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
func (h *home) left(ctx context.Context, d schema.DeviceID) (Reason, error) {
	e, err := h.Client.Table(h.Names.Devices()).Get(ctx, string(d), schema.DeviceRow)
	if errors.Is(err, tables.ErrNotFound) || errors.Is(err, tables.ErrNoTable) {
		return Unknown, nil
	}
	if err != nil {
		return Unknown, err
	}
	record, err := schema.DeviceOf(e)
	if err == nil && slices.Contains(record.Tenants(), h.at.Tenant) {
		return Left, nil
	}
	return Unknown, err
}
