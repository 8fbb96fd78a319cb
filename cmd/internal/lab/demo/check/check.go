package check

import (
	"cmp"
	"context"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// Config says what to check. Meanwhile nothing may be sent or folded.
type Config struct {
	Client   *tables.Client
	Names    schema.Names
	Verify   *verify.Config // of the outputs; its days are set
	Receipts *Receipts      // what devices were told; may be nil
	// Except holds devices that are not checked.
	Except   map[schema.DeviceID]bool
	Alarm    *Alarm         // that the pipeline's rules raise; may be nil
	Progress func(done int) // devices; may be nil
}

// A checker is one check.
type checker struct {
	Config
	found Result
}

// Run checks a fleet. It fails only if something cannot be read. Whatever waits to be folded is a difference, except
// for rows of the future.
func (c Config) Run(ctx context.Context) (Result, error) {
	k := &checker{Config: c, found: Result{Buckets: map[string]int{}, First: []Difference{}, lost: map[string]int{},
		doubled: map[string]int{}}}
	if err := k.alarm(ctx); err != nil {
		return Result{}, err
	}
	known, err := k.verify(ctx)
	if err != nil {
		return Result{}, err
	}
	if c.Receipts != nil {
		if err := k.compareReceipts(ctx, known); err != nil {
			return Result{}, err
		}
	}
	k.found.sum()
	return k.found, nil
}

// verify compares the outputs with the rows, and returns the devices that the fleet has.
func (c *checker) verify(ctx context.Context) (known map[schema.DeviceID]bool, err error) {
	v := *c.Verify
	v.Values = true
	first, last := tables.TicksOf(time.Now()), tables.TicksOf(time.Now())
	if c.Receipts != nil {
		first, last = c.Receipts.span()
	}
	v.From, v.To = first.Floor(tables.Day), last.Floor(tables.Day)+tables.Day
	known = map[schema.DeviceID]bool{}
	for d, err := range v.Run(ctx) {
		if err != nil {
			return nil, err
		}
		known[d.Device] = true
		if !c.Except[d.Device] {
			c.found.add(&d)
		}
		if c.Progress != nil {
			c.Progress(len(known))
		}
	}
	return known, nil
}

// compareReceipts compares the rows of the readings table with what devices have sent and were told.
func (c *checker) compareReceipts(ctx context.Context, known map[schema.DeviceID]bool) error {
	table := c.Names.Readings()
	found := map[schema.DeviceID]map[string]bool{}
	for e, err := range c.Client.Table(table).Entities(ctx, tables.Query{}) {
		if err != nil {
			return err
		}
		d := schema.DeviceID(e.PartitionKey)
		if found[d] == nil {
			found[d] = map[string]bool{}
		}
		found[d][e.RowKey] = true
		switch sent, is := c.Receipts.sent[d][e.RowKey]; {
		case c.Except[d]:
		case !is:
			c.found.differ(Difference{table, d, e.RowKey, "", "there", "absent: no device has sent it"})
		case sent != digestOfStored(e):
			c.found.differ(Difference{table, d, e.RowKey, "", "another reading", "the one that the device has sent"})
		}
	}
	for d, told := range c.Receipts.told {
		if !known[d] {
			c.found.differ(Difference{c.Names.Fleet(), d, "", "", "absent", "there: the device was told that its readings " +
				"are stored"})
		}
		for key := range told {
			if !found[d][key] {
				c.found.differ(Difference{table, d, key, "", "absent", "there: the device was told that it is stored"})
				c.found.Lost++
			}
		}
	}
	return nil
}

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

// span returns the times of the first and the last row that storage has acknowledged.
func (r *Receipts) span() (first, last tables.Ticks) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, own := range r.told {
		for key := range own {
			at := tables.TicksBefore(key)
			first, last = min(cmp.Or(first, at), at), max(last, at)
		}
	}
	return first, last
}
