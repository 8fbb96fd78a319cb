package check

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/tables"
	"furrow/tables/schema"
)

// Config says what to check. Meanwhile nothing may be sent or folded, except rows later than Until.
type Config struct {
	Client   *tables.Client
	Names    schema.Names
	Pipeline schema.Pipeline // that writes latest, and rollups of a minute, an hour and a day
	// Rates is the span of the pipeline's rates; zero: it has none. Devices with more sensors than rates have room for
	// are left out.
	Rates time.Duration
	// Until is the time up to which rows must be folded. A later row must be folded if its device's
	// checkpoint has passed it.
	Until    tables.Ticks
	Receipts *Receipts // what devices were told; may be nil
	// Except holds devices that are not checked, such as those that send what the default meaning of
	// values does not cover.
	Except   map[schema.DeviceID]bool
	Alarm    *Alarm            // that the pipeline's rules raise; may be nil
	Progress func(done, n int) // devices; may be nil
}

// A checker is one check.
type checker struct {
	Config
	found   *findings
	tracks  map[schema.DeviceID]schema.Track
	rejects map[schema.DeviceID]map[string]int // by row key; those of known devices are removed
	devices int
}

// A group holds the devices of one tenant and month, which share partitions of outputs.
type group struct {
	members    []schema.Member
	partitions []partition
}

// A partition is one of a table of outputs.
type partition struct {
	table, key string
	window     schema.Window // of rollups; zero for latest
	rates      bool
}

// groupsAtOnce is how many groups are checked at the same time.
const groupsAtOnce = 2

// Run checks a fleet. It fails only if something cannot be read.
func (c Config) Run(ctx context.Context) (Result, error) {
	k := &checker{Config: c, found: newFindings()}
	groups, err := k.groups(ctx)
	if err != nil {
		return Result{}, err
	}
	if k.tracks, err = Tracks(ctx, c.Client, c.Names, c.Pipeline); err != nil {
		return Result{}, err
	}
	if err := k.readRejects(ctx); err != nil {
		return Result{}, err
	}
	if err := k.alarm(ctx); err != nil {
		return Result{}, err
	}
	running, ctx := errgroup.WithContext(ctx)
	running.SetLimit(groupsAtOnce)
	known := map[schema.DeviceID]bool{}
	for key, g := range groups {
		for _, m := range g.members {
			known[m.Device] = true
		}
		running.Go(func() error {
			if err := k.group(ctx, g); err != nil {
				return fmt.Errorf("%s: %w", key, err)
			}
			return nil
		})
	}
	if err := running.Wait(); err != nil {
		return Result{}, err
	}
	k.strangers(known)
	return k.found.sum(), nil
}

func (c *checker) group(ctx context.Context, g *group) error {
	wanted := map[schema.DeviceID]*expectation{}
	for _, m := range g.members {
		x, err := c.expect(ctx, m)
		if err != nil {
			return err
		}
		wanted[m.Device] = x
		if c.Progress != nil {
			c.found.count(func(r *Result) { c.Progress(r.Devices, c.devices) })
		}
	}
	for _, p := range g.partitions {
		if err := c.comparePartition(ctx, wanted, p); err != nil {
			return err
		}
	}
	for _, x := range wanted {
		c.compareRejects(x)
		for at := range x.outputs {
			c.compare(x, at, nil)
		}
	}
	return nil
}

// strangers reports rows and receipts of devices that the fleet does not have.
func (c *checker) strangers(known map[schema.DeviceID]bool) {
	for device, rows := range c.rejects {
		for row := range rows {
			c.found.differ(Difference{c.Names.Rejects(), device, row, "", "there", noReject})
		}
	}
	if c.Receipts == nil {
		return
	}
	for device, told := range c.Receipts.told {
		if !known[device] {
			c.found.differ(Difference{c.Names.Fleet(), device, "", "", "absent",
				"there: the device was told that its readings are stored"})
			c.found.count(func(r *Result) { r.Lost += len(told) })
		}
	}
}
