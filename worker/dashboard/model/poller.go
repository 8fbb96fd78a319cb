package model

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A poller reads what has changed, again and again while somebody uses the dashboard.
type poller struct {
	accounts   *Accounts
	account    *account
	open       *openSet
	interval   time.Duration
	runs       *runLog
	parts      map[partKey]*part
	sought     time.Time            // when partitions of latest were last looked for
	statuses   time.Time            // when policies were last read
	configured time.Time            // when a newer configuration was last asked for
	operations atomic.Int64         // of the last poll
	pace       atomic.Pointer[pace] // of the pipeline that keeps newest values; nil: unknown
	complete   atomic.Bool          // the newest values of all devices were read once
}

// A part is a partition of latest or of rates.
type part struct {
	partKey
	since tables.Ticks // rows that storage wrote before it were read; 0: none were
	dirty bool         // something may have been written since
	read  time.Time
}

type partKey struct {
	schema.LatestPartition
	rates bool
}

const (
	pollInterval = 3 * time.Second

	// maxPolledPages limits the pages of latest that one poll reads after the first: at most 600 a
	// minute. The rest is read by the next polls.
	maxPolledPages = 30
	polledParts    = 4 // read at a time

	seekInterval   = 5 * time.Minute
	statusInterval = 30 * time.Second
	newerInterval  = 10 * time.Second
	// overlap is how far apart the clocks may be that write rows' timestamps.
	overlap = 10 * time.Second
)

func (p *poller) cost() int { return int(p.operations.Load()) }

func (p *poller) run(ctx context.Context) {
	a := p.account
	select { // records first: they say where devices are
	case <-a.loaded:
	case <-ctx.Done():
	}
	for p.accounts.watch.wait(ctx) {
		within, is := Reading(ctx)
		err := p.poll(within)
		if ctx.Err() != nil {
			return
		}
		p.operations.Store(int64(is.Operations()))
		if a.failed.Swap(err != nil) != (err != nil) && err != nil {
			p.accounts.log.WarnContext(ctx, "poll failed; pages show older data", "storage", a.Name, "error", err)
		}
		p.accounts.watch.ended(a.number, err)
		pause(ctx, p.interval)
	}
}

func (p *poller) poll(ctx context.Context) error {
	steps := []func(context.Context) error{p.newer, p.runs.read, p.newDevices, p.seek, p.latest, p.held, p.status,
		p.incidents}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (p *poller) newer(ctx context.Context) error {
	if p.account.Newer == nil || time.Since(p.configured) < newerInterval {
		return nil
	}
	p.configured = time.Now()
	pipelines, found, err := p.account.Newer(ctx)
	if !found {
		return err
	}
	p.account.current.Store(&pipelines)
	return errors.Join(err, p.allRecords(ctx)) // devices may have other models
}

// seek finds the partitions of latest with one request each, at the start and now and then. The partitions
// of devices without a record are known from nothing else.
func (p *poller) seek(ctx context.Context) error {
	rates := p.accounts.Configured().Writes(rate.Table)
	add := func(found schema.LatestPartition) {
		for _, key := range []partKey{{found, false}, {found, true}} {
			if p.parts[key] == nil && (rates || !key.rates) {
				p.parts[key] = &part{partKey: key, dirty: true}
			}
		}
	}
	for _, home := range p.accounts.index.homes(p.account.number) {
		add(home.LatestPartition)
	}
	if time.Since(p.sought) < seekInterval {
		return nil
	}
	parts, err := query.Collect(p.account.fleet.Outputs().LatestPartitions(ctx), new(query.Skipped))
	if err != nil {
		return err
	}
	for _, part := range parts {
		add(part)
	}
	p.sought = time.Now()
	return nil
}

// few is how many partitions are all read when something was folded anywhere.
const few = 16

// changed returns the partitions that may have changed, the longest unread first.
func (p *poller) changed() (dirty []*part) {
	folded, months := p.runs.newlyFolded()
	for _, part := range p.parts {
		part.dirty = part.dirty || months[part.Month] || folded && (len(p.parts) <= few || p.runs.active(part.Month))
		if part.dirty {
			dirty = append(dirty, part)
		}
	}
	slices.SortFunc(dirty, func(a, b *part) int { return a.read.Compare(b.read) })
	return dirty
}

func (p *poller) latest(ctx context.Context) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(polledParts)
	var pages atomic.Int64
	for _, part := range p.changed() {
		if pages.Load() >= maxPolledPages || ctx.Err() != nil {
			break
		}
		g.Go(func() error {
			first := part.since == 0
			n, err := p.readPart(ctx, part)
			if !first {
				pages.Add(int64(n))
			}
			return err
		})
	}
	err := g.Wait()
	unread := func(p *part) bool { return p.read.IsZero() }
	if err == nil && !slices.ContainsFunc(slices.Collect(maps.Values(p.parts)), unread) {
		p.complete.Store(true)
	}
	return err
}

// readPart reads the rows of a partition that storage has written since the last time.
func (p *poller) readPart(ctx context.Context, part *part) (pages int, err error) {
	part.read = time.Now()
	take := func(rows []query.Newest) { p.accounts.index.newest(p.account.number, part.LatestPartition, rows) }
	var at time.Time
	if part.rates {
		at, pages, err = p.account.fleet.Outputs().ChangedRates(ctx, part.LatestPartition, part.since,
			func(rows []query.NewestRates) { take(rateValues(rows)) })
	} else {
		at, pages, err = p.account.fleet.Outputs().ChangedLatest(ctx, part.LatestPartition, part.since, take)
	}
	if err != nil {
		return pages, err
	}
	part.since, part.dirty = 0, false
	if pages > 0 {
		part.since = tables.TicksOf(at.Add(-overlap))
	}
	return pages, nil
}
