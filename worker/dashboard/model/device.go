package model

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

type deviceRead struct {
	inFleet    bool
	latest     []latest.Value // by sensor
	heard      tables.Ticks   // of the newest reading without values
	rates      []query.Rate
	tracks     []tracked      // by pipeline
	rejects    []query.Reject // the newest first
	unreadable []Unreadable
}

// Devices are what is known of single devices.
type Devices struct {
	accounts *Accounts
	owners   *Owners
	kept     cache[deviceRead]
	told     cache[commands.All]
}

// A tracked is how far a pipeline has got with a device.
type tracked struct {
	schema.Track // zero: the pipeline has not come to the device yet, or its row is unreadable
	pipeline     schema.Pipeline
	waiting      tables.Ticks // the oldest row that is not folded; zero: none
	rest         *answers.Rest
	days         []query.FoldedDay
	skipped      query.Skipped
}

const (
	deviceAge  = 3 * time.Second
	maxRejects = 30 // shown per device
)

func (ds *Devices) device(ctx context.Context, m schema.Member) (deviceRead, error) {
	return ds.kept.get(ctx, ofMember(m), deviceAge, func(ctx context.Context) (r deviceRead, err error) {
		if m.Spans.End() != 0 {
			return ds.leftDevice(ctx, m)
		}
		a := ds.accounts.accountOf(m.Device)
		pipelines := a.configured()
		r.tracks = make([]tracked, len(pipelines))
		var values, rates, rejects query.Skipped
		g, ctx := errgroup.WithContext(ctx)
		g.Go(func() (err error) { r.inFleet, err = a.fleet.Devices().HasMembership(ctx, m); return err })
		g.Go(func() (err error) { r.latest, r.heard, err = ds.latestOf(ctx, m, &values); return err })
		g.Go(func() (err error) { r.rates, err = ds.ratesOf(ctx, m, &rates); return err })
		g.Go(func() (err error) { r.rejects, err = ds.rejectsOf(ctx, m, &rejects); return err })
		for i, p := range pipelines {
			g.Go(func() (err error) { r.tracks[i], err = ds.track(ctx, p.Name, m); return err })
		}
		err = g.Wait()
		r.unreadable = unreadableOf(values, rates, rejects)
		for _, t := range r.tracks {
			r.unreadable = append(r.unreadable, unreadableOf(t.skipped)...)
		}
		return r, err
	})
}

// tailRows is how many readings the last values of a device are looked for in that has left its tenant.
const tailRows = 50

// leftDevice reads what a tenant sees of a device that now belongs to another one: the last values from its own time.
// Those in storage are emptied when a device leaves.
func (ds *Devices) leftDevice(ctx context.Context, m schema.Member) (r deviceRead, err error) {
	a := ds.accounts.accountOf(m.Device)
	var rows, rejects query.Skipped
	ask, sensors, known := query.Question{Scope: query.ScopeOf(m), Limit: tailRows}, a.sensorsOf(m), map[string]bool{}
	for row, err := range query.Readable(a.fleet.Rows().Tail(ctx, a.anyPipeline(), ask), &rows) {
		if err != nil {
			return r, err
		}
		sample, err := row.Sample(sensors)
		if err != nil {
			continue // it is among the rejects
		}
		for _, v := range sample.Values {
			if !known[v.Sensor] {
				r.latest = append(r.latest, latest.Value{At: row.Time, SensorValue: v})
			}
			known[v.Sensor] = true
		}
	}
	slices.SortFunc(r.latest, func(a, b latest.Value) int { return strings.Compare(a.Sensor, b.Sensor) })
	r.rejects, err = ds.rejectsOf(ctx, m, &rejects)
	r.unreadable = unreadableOf(rows, rejects)
	return r, err
}

// latestOf reads the newest values of a device, which also updates the index.
func (ds *Devices) latestOf(
	ctx context.Context, m schema.Member, skipped *query.Skipped,
) ([]latest.Value, tables.Ticks, error) {
	a := ds.accounts.accountOf(m.Device)
	all, err := query.Collect(a.fleet.Outputs().Latest(ctx, query.Question{Scope: query.ScopeOf(m)}), skipped)
	ds.accounts.index.newest(a.number, schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}, all)
	if err != nil || len(all) == 0 {
		return nil, 0, err
	}
	return all[0].Values, all[0].Heard, nil
}

// track reads a device's tracking row and looks for a reading after its checkpoint.
func (ds *Devices) track(ctx context.Context, p schema.Pipeline, m schema.Member) (t tracked, err error) {
	t.pipeline = p
	fleet := ds.accounts.fleetOf(m.Device)
	today := schema.DayOf(tables.TicksOf(time.Now()))
	row, err := fleet.Progress().Folded(ctx, p, m, today-recentDays+1, today)
	if t.Track, t.days = row.Track, row.Days; err != nil {
		if t.skipped.Add(err) {
			err = nil
		}
		return t, err
	}
	t.rest = answers.RestOf(t.Track, m)
	t.waiting, err = fleet.Progress().Waiting(ctx, m, t.Checkpoint)
	return t, err
}

// rejectsOf returns the newest rejects of a device, the newest first.
func (ds *Devices) rejectsOf(ctx context.Context, m schema.Member, skipped *query.Skipped) ([]query.Reject, error) {
	one := query.DeviceSelector{Device: m.Device}
	found := ds.accounts.fleetOf(m.Device).Rows().Rejects(ctx, one, query.Span{}, 0, func(query.RejectTotal) {})
	all, err := query.Collect(found, skipped)
	all = slices.DeleteFunc(all, func(r query.Reject) bool { return !query.Rejected(m, r.Reject) })
	slices.Reverse(all)
	return all[:min(len(all), maxRejects)], err
}
