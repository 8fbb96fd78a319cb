package check

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"furrow/tables"
	"furrow/tables/schema"
)

// Config says what is to be checked. Nothing may be sent or folded meanwhile, but rows
// whose time is after Until.
type Config struct {
	Client   *tables.Client
	Names    schema.Names
	Pipeline schema.Pipeline // that writes latest, and rollups of a minute, an hour and a day
	// Until is up to when rows have to be folded. One after it has to be if its device's
	// checkpoint says so.
	Until    tables.Ticks
	Receipts *Receipts // what devices were told; nil: nobody has listened
	// Except are devices that are not checked, such as those that send what the
	// default meaning of values does not cover.
	Except   map[schema.DeviceID]bool
	Progress func(done, n int) // devices; nil: nobody is told
}

// A checker is one check.
type checker struct {
	Config
	found   *findings
	tracks  map[schema.DeviceID]schema.Track   // what the pipeline says of a device
	rejects map[schema.DeviceID]map[string]int // by row key; those of known devices are taken out
}

// A group is a tenant's devices of a month, which share partitions of outputs.
type group struct {
	tenant schema.Tenant
	month  schema.Month
}

// atOnce is how many groups are checked at the same time.
const atOnce = 2

// Run checks a fleet. An error is that something could not be read.
func (c Config) Run(ctx context.Context) (Result, error) {
	k := &checker{Config: c, found: newFindings()}
	members, err := k.members(ctx)
	if err != nil {
		return Result{}, err
	}
	if err := k.readTracks(ctx, members); err != nil {
		return Result{}, err
	}
	if err := k.readRejects(ctx); err != nil {
		return Result{}, err
	}
	parts, err := k.partitions(ctx, members)
	if err != nil {
		return Result{}, err
	}
	if err := k.groups(ctx, members, parts); err != nil {
		return Result{}, err
	}
	k.strangers(members)
	return k.found.sum(), nil
}

// groups checks all groups.
func (c *checker) groups(ctx context.Context, members map[group][]schema.Member, parts map[group]partitions) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan group)
	var workers sync.WaitGroup
	total := 0
	for _, all := range members {
		total += len(all)
	}
	for range atOnce {
		workers.Go(func() {
			for g := range next {
				if err := c.group(ctx, members[g], parts[g], total); err != nil {
					cancel(fmt.Errorf("%s, %s: %w", g.tenant, g.month, err))
				}
			}
		})
	}
	for g := range members {
		select {
		case next <- g:
		case <-ctx.Done():
		}
	}
	close(next)
	workers.Wait()
	return context.Cause(ctx)
}

func (c *checker) group(ctx context.Context, members []schema.Member, parts partitions, total int) error {
	wanted := map[schema.DeviceID]*expectation{}
	for _, m := range members {
		x, err := c.expect(ctx, m)
		if err != nil {
			return err
		}
		wanted[m.Device] = x
		if c.Progress != nil {
			c.found.count(func(r *Result) { c.Progress(r.Devices, total) })
		}
	}
	if err := c.compareRollups(ctx, wanted, parts.rollups); err != nil {
		return err
	}
	if err := c.compareLatest(ctx, wanted, parts.latest); err != nil {
		return err
	}
	for _, x := range wanted {
		c.compareRejects(x)
		c.missing(x)
	}
	return nil
}

// differ notes a difference.
func (c *checker) differ(m schema.Member, table, row, sensor, is, want string) {
	c.found.differ(Difference{Table: table, Device: m.Device, Row: row, Sensor: sensor, Is: is, Want: want})
}

// strangers are what is there, or was told, of devices that no fleet has.
func (c *checker) strangers(members map[group][]schema.Member) {
	known := map[schema.DeviceID]bool{}
	for _, all := range members {
		for _, m := range all {
			known[m.Device] = true
		}
	}
	for device, rows := range c.rejects {
		for row := range rows {
			c.differ(schema.Member{Device: device}, c.Names.Rejects(), row, "", "there",
				"absent: nothing of that row is to be rejected")
		}
	}
	if c.Receipts == nil {
		return
	}
	for device, told := range c.Receipts.told {
		if !known[device] {
			c.differ(schema.Member{Device: device}, c.Names.Fleet(), "", "", "absent",
				"there: the device was told that its readings are stored")
			c.found.count(func(r *Result) { r.Lost += len(told) })
		}
	}
}

// rows reads a table in order. One that is not there is empty.
func (c *checker) rows(ctx context.Context, table string, q tables.Query, each func(tables.Entity) error) error {
	for page, err := range c.Client.Table(table).Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			return nil
		}
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			if err := each(e); err != nil {
				return err
			}
		}
	}
	return nil
}
