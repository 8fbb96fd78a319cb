package jobs_test

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A stay is the time that a device belongs to a tenant. It begins and ends with moves, which are made in a round.
type stay struct {
	tenant     schema.Tenant
	from, to   tables.Ticks
	begin, end int
}

// watchedAlone is a watched fleet of one device, or of none yet.
func watchedAlone(t *testing.T, w *jobstest.World, device *schema.Device) *watched {
	t.Helper()
	f := newWatched(t, w)
	client := w.Connect(t, nil)
	for _, d := range w.Devices {
		m := w.Member(d, f.Readings)
		must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()),
			tables.AnyETag)))(t)
	}
	f.Batch.Last = schema.Member{Month: jobstest.Month, Tenant: "t9", Device: w.Devices[0]}.Place()
	if device != nil {
		w.Create(t, f.Names.Devices())
		device.Readings = f.Readings
		jobstest.Insert(t, client.Table(f.Names.Devices()), must.Have(device.Entity())(t))
		jobstest.Insert(t, client.Table(f.Names.Fleet()), must.Have(device.Member().Entity())(t))
	}
	return f
}

// alone plays one stay as if the device had never been anywhere else, and returns its incidents and deliveries.
func (s stay) alone(t *testing.T, w *jobstest.World, d schema.Device) map[string]string {
	t.Helper()
	f := watchedAlone(t, w, nil)
	fleet := w.Connect(t, nil).Table(f.Names.Fleet())
	d.Tenant, d.Readings = s.tenant, f.Readings
	m := d.Member()
	f.play(func(n int) {
		if n == s.begin {
			if s.from > 0 {
				m.Spans = schema.Spans{{From: s.from}}
			}
			must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
		}
		if n == s.end {
			m.Spans = m.Spans.Until(s.to)
			must.Have(fleet.Do(t.Context(), tables.InsertOrReplace(must.Have(m.Entity())(t))))(t)
		}
		must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
	})
	return f.incidents()
}

// TestTenantsOfAMovedDeviceHaveTheIncidentsOfTheirTime: a device moves to another tenant and back. Each tenant has the
// incidents, notifications and the closing of what was open that it would have if the device had come and gone, and
// never been another's.
func TestTenantsOfAMovedDeviceHaveTheIncidentsOfTheirTime(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := newWatchedWorld(t)
	for range 2 {
		seed := cmp.Or(*moveSeed, rand.Uint64())
		t.Log("seed", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		id := w.Devices[r.IntN(len(w.Devices))]
		rounds := r.Perm(watchedRounds - 2)[:2]
		slices.Sort(rounds)
		stays := []stay{{tenant: "t0", begin: 1}, {tenant: "t2"}, {tenant: "t0"}}
		for n := range 2 { // after what was folded before
			at := tables.TicksOf(round(rounds[n] + 1).Add(time.Duration(1 + r.Int64N(int64(10*time.Minute)))))
			stays[n].to, stays[n].end, stays[n+1].from, stays[n+1].begin = at, rounds[n]+2, at, rounds[n]+2
		}
		d := schema.Device{ID: id, Month: jobstest.Month, Tenant: "t0", Status: schema.Active,
			Labels: map[string]string{"dose": "08:30, 09:00", "tz": "Etc/UTC"}}
		f := watchedAlone(t, w, &d)
		registry := sas.NewRegistry(w.Connect(t, f.clock.over(http.DefaultTransport)), f.Names)
		f.play(func(n int) {
			for _, s := range stays[1:] {
				if s.begin == n {
					must.Have(registry.Move(t.Context(), sas.Move{Device: id, To: s.tenant, At: s.from}))(t)
				}
			}
			must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		})
		want := map[string]string{}
		for _, s := range stays {
			maps.Copy(want, s.alone(t, w, d))
		}
		jobstest.SameEnds(t, f.incidents(), want, "seed ", seed)
	}
}
