package model

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// seeded returns random numbers. A failing test prints their seed.
func seeded(t testing.TB) *rand.Rand {
	seed := rand.Uint64()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("the seed is %d", seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 0))
}

func deviceID(i int) string { return fmt.Sprintf("d%06d", i) }

// crowdSilent is when devices of a crowd are silent.
const crowdSilent = 30 * time.Minute

// crowd returns a store with random devices in its index. It reads nothing.
func crowd(r *rand.Rand, n int) *Store { return crowdAt(r, n, time.Now()) }

// crowdAt has the devices say something in the last minutes before a time.
func crowdAt(r *rand.Rand, n int, now time.Time) *Store {
	every := func(schema.Member) time.Duration { return crowdSilent / schema.Overdue }
	s := New(Config{Accounts: []Account{{Pipelines: []Pipeline{{Every: every}}}}})
	s.Accounts.all[0].poller.complete.Store(true)
	s.Accounts.clock = func() time.Time { return now } // no device falls silent while a test looks
	for i := range n {
		s.arrive(r, i, now)
	}
	s.Accounts.watch.ended(0, nil)
	return s
}

// arrive adds a device in one of a few towns, anywhere, at an edge of the world, or without a position.
func (s *Store) arrive(r *rand.Rand, i int, now time.Time) {
	d := schema.Device{ID: schema.DeviceID(deviceID(i)), Tenant: schema.Tenant(fmt.Sprint("t", r.IntN(3))),
		Site:  schema.Site(fmt.Sprint("s", r.IntN(4))),
		Month: schema.Month{Year: 2026, Month: time.Month(1 + r.IntN(3))}, Status: schema.Active}
	if r.IntN(2) == 0 {
		d.Labels = map[string]string{"floor": fmt.Sprint(1 + r.IntN(2)), "say": `"floor":"3"`}
	}
	if r.IntN(20) == 0 {
		d.Status = schema.Revoked
	}
	switch r.IntN(10) {
	case 0:
	case 1, 2, 3:
		d.Position = &schema.Position{Lat: -90 + 180*r.Float64(), Lon: -180 + 360*r.Float64()}
	case 4:
		d.Position = &schema.Position{Lat: []float64{-90, 90, 0}[r.IntN(3)], Lon: []float64{-180, 180, 0}[r.IntN(3)]}
	default:
		town := float64(r.IntN(5))
		d.Position = &schema.Position{Lat: 50 + town + r.Float64()/10, Lon: 8 - town + r.Float64()/10}
	}
	s.Accounts.index.records(0, []schema.Device{d})
	if r.IntN(10) > 0 {
		s.say(r, i, now)
	}
	if r.IntN(20) == 0 {
		track := schema.Track{Place: d.Member().Place(), Attempts: 1, Reason: "bad row"}
		s.Accounts.index.held(monthOf{"live", monthIn{0, d.Month}}, append(s.Accounts.index.heldOf(0, "live"), track))
	}
}

func (s *Store) move(r *rand.Rand, i int) {
	x := s.Accounts.index
	d := &x.devices[x.at[deviceID(i)]]
	moved := schema.Device{ID: schema.DeviceID(d.id), Tenant: schema.Tenant(x.tenants.text(d.tenant)), Site: "s0",
		Month: x.monthOf[d.month].Month, Status: schema.Active}
	if r.IntN(4) > 0 {
		moved.Position = &schema.Position{Lat: 40 + 20*r.Float64(), Lon: 20 * r.Float64()}
	}
	x.records(0, []schema.Device{moved})
}

func (s *Store) say(r *rand.Rand, i int, now time.Time) {
	x := s.Accounts.index
	at := x.at[deviceID(i)]
	d := &x.devices[at]
	ago := time.Duration(r.IntN(600)) * time.Second // so that no device becomes silent during the test
	if r.IntN(2) == 0 {
		ago += crowdSilent
	}
	n := query.Newest{Device: schema.DeviceID(d.id), Values: []latest.Value{
		numberAt(now.Add(-ago), "temperature", math.Round(r.NormFloat64()*20))}}
	if r.IntN(3) == 0 {
		n.Values = append(n.Values, latest.Value{At: n.Values[0].At, SensorValue: fold.SensorValue{Sensor: "door",
			State: []string{"open", "shut"}[r.IntN(2)], Is: fold.State}})
	}
	p := schema.LatestPartition{Tenant: schema.Tenant(x.tenants.text(d.tenant)), Month: x.monthOf[d.month].Month}
	x.newest(0, p, []query.Newest{n})
}

func numberAt(at time.Time, sensor string, v float64) latest.Value {
	return latest.Value{At: tables.TicksOf(at), SensorValue: fold.SensorValue{Sensor: sensor, Is: fold.Number, Number: v}}
}

// someBox returns a random part of the world, which may cross the 180th meridian, be a point, or be the world.
func someBox(r *rand.Rand) Box {
	switch r.IntN(8) {
	case 0:
		return World()
	case 1:
		return Box{170, -60, -170, 60}
	case 2:
		lat, lon := -90+180*r.Float64(), -180+360*r.Float64()
		return Box{lon, lat, lon, lat}
	}
	size := math.Pow(10, -4+6*r.Float64())
	lat, lon := 40+20*r.Float64(), 20*r.Float64()
	return Box{max(-180, lon-size), max(-90, lat-size), min(180, lon+size), min(90, lat+size)}
}

func someFilter(r *rand.Rand) (f Filter) {
	f.Tenant = pick(r, "", "", "t1", "nobody")
	switch r.IntN(8) {
	case 0:
		f.Site = pick(r, "s1", "none")
	case 1:
		f.Label = pick(r, "floor", "floor=2", "floor=3", "2")
	case 2:
		f.Text = pick(r, "D0", "7", "00", "pump")
	case 3:
		f.State = State(pick(r, "ok", "silent", "held", "revoked"))
	}
	return f
}

func someQuery(r *rand.Rand) MapQuery {
	return MapQuery{Box: someBox(r), Zoom: -3 + 25*r.Float64(), Filter: someFilter(r),
		Sensor: []string{"", "temperature", "door", "nothing"}[r.IntN(4)]}
}
