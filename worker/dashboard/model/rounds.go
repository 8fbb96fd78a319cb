package model

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// rounds read, one after the other while somebody watches, what has changed.
type rounds struct {
	store      *Store
	log        *figuresLog
	parts      []*part
	sought     time.Time    // when partitions of latest were last looked for
	statuses   time.Time    // when policies were last read
	configured time.Time    // when a newer configuration was last asked for
	operations atomic.Int64 // of the last round
	complete   atomic.Bool  // the newest values of all devices were read once
	failing    bool
}

// A part is a partition of latest.
type part struct {
	schema.LatestPartition
	since tables.Ticks // rows written before it were read; 0: none was
	dirty bool         // something may have been written since
	read  time.Time
}

const (
	pollInterval = 3 * time.Second

	// pagesPerRound bounds what a round reads of latest once all was read once: at
	// most 600 pages a minute. What is left comes in the next rounds.
	pagesPerRound = 30
	abreast       = 4 // partitions at a time

	seekEvery     = 5 * time.Minute
	statusesEvery = 30 * time.Second
	newerEvery    = 10 * time.Second
	// overlap is how far the clocks that write rows' timestamps may be apart.
	overlap = 10 * time.Second
)

func newRounds(s *Store) rounds { return rounds{store: s, log: newFiguresLog(s)} }

// cost is how many operations the last round took.
func (r *rounds) cost() int { return int(r.operations.Load()) }

func (r *rounds) run(ctx context.Context) {
	s := r.store
	select { // where devices are comes first, or they are shown nowhere
	case <-s.loaded:
	case <-ctx.Done():
	}
	for s.watched.wait(ctx) {
		within, meter := metered(ctx)
		err := r.round(within)
		if ctx.Err() != nil {
			return
		}
		r.operations.Store(int64(meter.operations()))
		if err != nil && !r.failing {
			s.log.WarnContext(ctx, "what devices have sent cannot be read; pages show what was", "error", err)
		}
		r.failing = err != nil
		s.watched.ended(err)
		pause(ctx, s.c.Interval)
	}
}

func (r *rounds) round(ctx context.Context) error {
	if err := r.newer(ctx); err != nil {
		return err
	}
	if err := r.log.read(ctx); err != nil {
		return err
	}
	if err := r.newDevices(ctx); err != nil {
		return err
	}
	if err := r.seek(ctx); err != nil {
		return err
	}
	r.mark()
	if err := r.latest(ctx); err != nil {
		return err
	}
	if err := r.held(ctx); err != nil {
		return err
	}
	return r.status(ctx)
}

// newer asks for a newer configuration now and then.
func (r *rounds) newer(ctx context.Context) error {
	if r.store.c.Newer == nil || time.Since(r.configured) < newerEvery {
		return nil
	}
	r.configured = time.Now()
	pipelines, found, err := r.store.c.Newer(ctx)
	if found {
		r.store.current.Store(&pipelines)
	}
	return err
}

// seek finds the partitions of latest, each with one request, when it begins and
// now and then: those of devices without a record are known by nothing else.
func (r *rounds) seek(ctx context.Context) error {
	known := map[schema.LatestPartition]bool{}
	for _, p := range r.parts {
		known[p.LatestPartition] = true
	}
	add := func(p schema.LatestPartition) {
		if !known[p] {
			known[p] = true
			r.parts = append(r.parts, &part{LatestPartition: p, dirty: true})
		}
	}
	for _, p := range r.store.index.partitions() {
		add(p)
	}
	if time.Since(r.sought) < seekEvery {
		return nil
	}
	for last := ""; ; {
		found := ""
		q := tables.Query{Range: tables.PartitionsAfter(last), Size: 1, Select: []string{"PartitionKey"}}
		for page, err := range r.store.table(r.store.c.Names.Latest()).Rows(ctx, q) {
			if errors.Is(err, tables.ErrNoTable) {
				break
			}
			if err != nil {
				return err
			}
			if len(page.Rows) > 0 {
				found = page.Rows[0].PartitionKey
				break
			}
		}
		if found == "" {
			break
		}
		last = found
		if p, err := schema.ParseLatestPartition(found); err == nil {
			add(p)
		}
	}
	r.sought = time.Now()
	return nil
}

// partitions are those of latest that the devices of the index have.
func (x *index) partitions() (all []schema.LatestPartition) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	type pair struct{ tenant, month uint16 }
	seen := map[pair]bool{}
	for i := range x.devices {
		if p := (pair{x.devices[i].tenant, x.devices[i].month}); !seen[p] {
			seen[p] = true
			all = append(all, schema.LatestPartition{Tenant: schema.Tenant(x.tenants.text(uint32(p.tenant))), Month: x.monthOf[p.month]})
		}
	}
	return all
}

// few is how many partitions are all looked at when something was folded somewhere.
const few = 16

// mark marks what may have changed since it was read.
func (r *rounds) mark() {
	folded, months := r.log.take()
	for _, p := range r.parts {
		p.dirty = p.dirty || months[p.Month] || folded && (len(r.parts) <= few || r.log.active(p.Month))
	}
}

// latest reads what is dirty, what was not read for longest first.
func (r *rounds) latest(ctx context.Context) error {
	var dirty []*part
	for _, p := range r.parts {
		if p.dirty {
			dirty = append(dirty, p)
		}
	}
	slices.SortFunc(dirty, func(a, b *part) int { return a.read.Compare(b.read) })
	var pages atomic.Int64
	var mu sync.Mutex
	var failed error
	var lanes sync.WaitGroup
	next := make(chan *part)
	for range abreast {
		lanes.Go(func() {
			for p := range next {
				first := p.since == 0
				n, err := r.readPart(ctx, p)
				if !first {
					pages.Add(int64(n))
				}
				if err != nil {
					mu.Lock()
					failed = errors.Join(failed, err)
					mu.Unlock()
				}
			}
		})
	}
	for _, p := range dirty {
		mu.Lock()
		stop := failed != nil
		mu.Unlock()
		if stop || pages.Load() >= pagesPerRound {
			break
		}
		next <- p
	}
	close(next)
	lanes.Wait()
	if failed == nil && !slices.ContainsFunc(r.parts, func(p *part) bool { return p.read.IsZero() }) {
		r.complete.Store(true)
	}
	return failed
}

// readPart reads the rows of a partition that were written since it was read last.
func (r *rounds) readPart(ctx context.Context, p *part) (pages int, err error) {
	q := tables.Query{Range: tables.Partition(p.String())}
	if p.since > 0 {
		q.Filter = "Timestamp ge datetime'" + p.since.Time().Format("2006-01-02T15:04:05.0000000Z") + "'"
	}
	p.read = time.Now()
	since := tables.Ticks(0)
	for page, err := range r.store.table(r.store.c.Names.Latest()).Rows(ctx, q) {
		if errors.Is(err, tables.ErrNoTable) {
			break
		}
		if err != nil {
			return pages, err
		}
		pages++
		if since == 0 {
			since = tables.TicksOf(page.Time.Add(-overlap))
		}
		r.store.index.newest(p.LatestPartition, newestOf(page.Rows))
	}
	p.since, p.dirty = since, false
	return pages, nil
}

// newestOf reads rows of latest, each of which is an output or a part of one. A
// value that cannot be read is passed.
func newestOf(rows []tables.Entity) []newest {
	all := make([]newest, 0, len(rows))
	for _, e := range rows {
		all = append(all, newest{schema.LatestOutput(e.RowKey), valuesOf(e)})
	}
	return all
}

func valuesOf(e tables.Entity) []latest.Value {
	values := make([]latest.Value, 0, len(e.Properties))
	for _, p := range e.Properties {
		if jobs.IsReserved(p.Name) {
			continue
		}
		if v, err := latest.ParseValue(p.Name, p.Value.Text()); err == nil {
			values = append(values, v)
		}
	}
	return values
}
