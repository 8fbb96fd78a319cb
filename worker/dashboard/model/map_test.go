package model

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"reflect"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// TestMapHasExactlyTheDevicesInView compares random maps with a count over all devices.
func TestMapHasExactlyTheDevicesInView(t *testing.T) {
	r := seeded(t)
	for range 6 {
		s := crowd(r, 1+r.IntN(4000))
		for range 30 {
			ask := someQuery(r)
			m := s.Maps.mapAt(ask, time.Now())
			var want sumOf
			cells := map[cell]bool{}
			for _, c := range ask.Box.cells(ask.Zoom) {
				cells[c] = true
			}
			for i := range s.Accounts.index.devices {
				d := &s.Accounts.index.devices[i]
				if d.flags&isPlaced == 0 || !meets(s, d, ListQuery{Filter: ask.Filter}) {
					continue
				}
				if inAny(cells, d) {
					want.add(d.state(s.Accounts.now()), number(s.Accounts.index, d, m.Sensor))
				} else if d.in(ask.Box) {
					t.Fatalf("%+v: %s at %v, %v is in the box and in none of its cells", ask, d.id, d.lat, d.lon)
				}
			}
			var got sumOf
			for _, c := range m.Clusters {
				got.cluster(c)
				if c.N < 2 {
					t.Errorf("cluster %s has %d devices", c.ID, c.N)
				}
				if c.Lon < c.BBox[0]-1e-4 || c.Lon > c.BBox[2]+1e-4 || c.Lat < c.BBox[1]-1e-4 || c.Lat > c.BBox[3]+1e-4 {
					t.Errorf("cluster %+v is not in its box", c)
				}
			}
			for _, d := range m.Devices {
				v, _ := d.Value.(float64)
				if d.Value == nil || m.Sensor == "door" {
					v = math.NaN()
				}
				got.add(d.State, v)
			}
			if got.n != want.n || got.fresh != want.fresh || got.silent != want.silent || got.held != want.held ||
				got.numbers != want.numbers ||
				math.Abs(got.total-want.total) > 1e-6*(1+math.Abs(want.total)) {
				t.Fatalf("%+v: the map has %+v, want %+v", ask, got, want)
			}
			if m.InView != want.n {
				t.Errorf("%+v: %d in view, want %d", ask, m.InView, want.n)
			}
			for _, c := range m.Clusters {
				if wide := max(c.BBox[2]-c.BBox[0], c.BBox[3]-c.BBox[1]) / 360 * 256 * math.Exp2(ask.Zoom); m.InView <= maxDots &&
					(wide > 10.1 || ask.Zoom >= 17) {
					t.Errorf("%+v: of %d in view, %d that lie over %v pixels are one cluster", ask, m.InView, c.N, wide)
				}
			}
			if len(m.Clusters)+len(m.Devices) > maxCells+maxDots {
				t.Errorf("%+v: %d clusters and %d devices", ask, len(m.Clusters), len(m.Devices))
			}
		}
	}
}

// sumOf sums the devices in a part of the world.
type sumOf struct {
	n, fresh, silent, held, numbers int
	total                           float64
}

func (s *sumOf) add(state State, v float64) {
	s.n++
	switch state {
	case Unheard:
		s.fresh++
	case Silent:
		s.silent++
	case Held:
		s.held++
	}
	if !math.IsNaN(v) {
		s.numbers++
		s.total += v
	}
}

// cluster adds a cluster, where every device with a number counts with the mean.
func (s *sumOf) cluster(c Cluster) {
	s.n, s.fresh, s.silent, s.held = s.n+c.N, s.fresh+c.New, s.silent+c.Silent, s.held+c.Held
	if c.Mean != nil {
		s.numbers += c.Numbers
		s.total += *c.Mean * float64(c.Numbers)
	}
}

func number(x *index, d *device, sensor string) float64 {
	n, known := x.sensors.number[sensor]
	if v := d.value(uint16(n)); known && v != nil && v.flags&isText == 0 {
		return v.number
	}
	return math.NaN()
}

// inAny reports whether a device is in one of the cells, which have the same level.
func inAny(cells map[cell]bool, d *device) bool {
	for c := range cells {
		down := levels - c.level
		return cells[cell{c.level, ordinate(d.lon+180) >> down, ordinate(d.lat+90) >> down}]
	}
	return false
}

// TestChangesOfAStreamAddUpToTheMap applies changes as a browser does.
func TestChangesOfAStreamAddUpToTheMap(t *testing.T) {
	r := seeded(t)
	for range 12 {
		n := 50 + r.IntN(2500) // some have each sensor
		s := crowd(r, n)
		s.Maps.layers.maxAge = -1 // keep no layer
		ask := someQuery(r)
		ask.Tenant, ask.Sensor = pick(r, "", "t1"), pick(r, "", "temperature", "door")
		live, m, err := s.Maps.Live(t.Context(), ask)
		must.Succeed(t, err)
		marks := marksOf(m)
		for range 15 {
			for range r.IntN(40) {
				switch r.IntN(3) {
				case 0:
					s.arrive(r, n, time.Now())
					n++
				case 1:
					s.say(r, r.IntN(n), time.Now())
				default:
					s.move(r, r.IntN(n))
				}
			}
			s.Sensors.known.kept.Purge() // sensors are kept for a while, and the scale of colours
			live.scaled = time.Time{}
			c, whole, any := live.Next(t.Context())
			if whole != nil {
				m, marks = *whole, marksOf(*whole)
			} else {
				maps.Copy(marks, marksOf(Map{Clusters: c.Clusters, Devices: c.Devices}))
				for _, id := range c.Gone {
					delete(marks, id)
				}
				m.Scale = cmp.Or(c.Scale, m.Scale)
			}
			want := s.Maps.mapAt(ask, time.Now())
			if !reflect.DeepEqual(marks, marksOf(want)) || m.Sensor != want.Sensor ||
				want.Scale != nil && (m.Scale == nil || *m.Scale != *want.Scale) ||
				whole == nil && any && (c.Total != want.Total || c.InView != want.InView) {
				t.Fatalf("%+v: the stream gives %+v and %+v, want %+v", ask, m, marks, want)
			}
		}
	}
}

// marksOf returns the clusters and devices of a map by ID.
func marksOf(m Map) map[string]any {
	marks := map[string]any{}
	for _, k := range m.Clusters {
		marks[k.ID] = k
	}
	for _, d := range m.Devices {
		marks[d.Device] = d
	}
	return marks
}

// TestStatesOfADevice proves their precedence: a revoked device is not silent. A device is new until it has sent, and
// silent after three of the intervals that are stated for it.
func TestStatesOfADevice(t *testing.T) {
	s := New(Config{Accounts: []Account{{Pipelines: []Pipeline{{Every: func(m schema.Member) time.Duration {
		if m.Device == "unstated" {
			return 0
		}
		return 4 * time.Minute
	}}}}}})
	s.Accounts.all[0].poller.complete.Store(true)
	now := time.Now()
	for id, c := range map[string]struct {
		ago    time.Duration
		status schema.Status
		held   bool
		want   State
	}{
		"fresh":           {time.Minute, schema.Active, false, OK},
		"late":            {11 * time.Minute, schema.Active, false, OK},
		"old":             {13 * time.Minute, schema.Active, false, Silent},
		"unstated":        {100 * time.Hour, schema.Active, false, OK},
		"never":           {0, schema.Active, false, Unheard},
		"never, revoked":  {0, schema.Revoked, false, Revoked},
		"held":            {time.Minute, schema.Active, true, Held},
		"held-and-old":    {time.Hour, schema.Active, true, Held},
		"revoked":         {time.Minute, schema.Revoked, false, Revoked},
		"revoked-at-last": {time.Hour, schema.Revoked, true, Revoked},
	} {
		month := schema.Month{Year: 2026, Month: 11}
		s.Accounts.index.records(0, []schema.Device{schema.Device{ID: schema.DeviceID(id), Tenant: "t", Month: month,
			Status: c.status, Position: &schema.Position{}}})
		if c.ago > 0 {
			values := []latest.Value{numberAt(now.Add(-c.ago), "x", 0)}
			s.Accounts.index.newest(0, schema.LatestPartition{Tenant: "t", Month: month},
				[]query.Newest{{Device: schema.DeviceID(id), Values: values}})
		}
		if c.held {
			place := schema.Member{Month: month, Tenant: "t", Device: schema.DeviceID(id)}.Place()
			held := append(s.Accounts.index.heldOf(0, "live"), schema.Track{Place: place, Attempts: 1})
			s.Accounts.index.held(monthOf{"live", monthIn{0, month}}, held)
		}
		list, err := s.Lists.list(ListQuery{Prefix: id, Limit: 1})
		if err != nil || len(list.Devices) != 1 || list.Devices[0].State != c.want {
			t.Errorf("%s: %+v, %v; want %s", id, list, err, c.want)
		}
		var overdue *time.Time
		if c.want == Silent {
			since := now.Add(12*time.Minute - c.ago).UTC().Truncate(time.Second)
			overdue = &since
		}
		if got := list.Devices[0].OverdueSince; !reflect.DeepEqual(got, overdue) {
			t.Errorf("%s is overdue since %v, want %v", id, got, overdue)
		}
	}
	// Runs have not ended since ten minutes ago: what the device has sent since is not known.
	s.Accounts.all[0].poller.pace.Store(&pace{folded: now.Add(-10 * time.Minute)})
	if list, _ := s.Lists.list(ListQuery{Prefix: "old", Limit: 1}); list.Devices[0].State != OK {
		t.Errorf("before its readings are folded, a device is %s", list.Devices[0].State)
	}
	s.Accounts.all[0].poller.pace.Store(nil)
	// One device is released, and another is active again.
	s.Accounts.index.held(monthOf{"live", monthIn{0, schema.Month{Year: 2026, Month: 11}}}, nil)
	s.Accounts.index.status(0, "revoked", schema.Active)
	for _, id := range []string{"held", "revoked"} {
		if list, _ := s.Lists.list(ListQuery{Prefix: id, Limit: 1}); list.Devices[0].State != OK {
			t.Errorf("%s stays %s", id, list.Devices[0].State)
		}
	}
}

func TestNobodyIsNewBeforeTheNewestValuesAreRead(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	s.Accounts.index.records(0, []schema.Device{{ID: "d", Tenant: "t", Month: schema.Month{Year: 2026, Month: 11}}})
	for _, want := range []State{OK, Unheard} {
		if list, err := s.Lists.list(ListQuery{Limit: 1}); err != nil || list.Devices[0].State != want {
			t.Errorf("%+v, %v; want %s", list, err, want)
		}
		s.Accounts.all[0].poller.complete.Store(true)
	}
}

// TestCrowdsAtTwoPlacesAreTwoClusters has both crowds in one cell of the map, and a device between them.
func TestCrowdsAtTwoPlacesAreTwoClusters(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	month := schema.Month{Year: 2026, Month: 11}
	for i, lon := range []float64{5, 5.001, 14, 14.002, 14.001, 10} {
		id := fmt.Sprint("d", i)
		s.Accounts.index.records(0, []schema.Device{schema.Device{ID: schema.DeviceID(id), Tenant: "t", Month: month,
			Position: &schema.Position{Lat: 50, Lon: lon}}})
		s.Accounts.index.newest(0, schema.LatestPartition{Tenant: "t", Month: month},
			[]query.Newest{{Device: schema.DeviceID(id), Values: []latest.Value{numberAt(time.Now(), "x", 1)}}})
	}
	m := s.Maps.mapAt(MapQuery{Zoom: 3, Sensor: "x"}, time.Now())
	if len(m.Clusters) != 2 || m.Clusters[0].N+m.Clusters[1].N != 5 || len(m.Devices) != 1 || m.Devices[0].Device != "d5" {
		t.Errorf("%+v", m)
	}
	if m = s.Maps.mapAt(MapQuery{Zoom: 17, Sensor: "x"}, time.Now()); len(m.Clusters) > 0 || len(m.Devices) != 6 {
		t.Errorf("at street level: %+v", m)
	}
}

// TestIntervalsAreProposedFromWhatArrives for devices that state nothing.
func TestIntervalsAreProposedFromWhatArrives(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	x, month, now := s.Accounts.index, schema.Month{Year: 2026, Month: 11}, time.Now()
	for i := range 4 {
		id := schema.DeviceID(fmt.Sprint("d", i))
		x.records(0, []schema.Device{{ID: id, Tenant: "t", Month: month}})
		for n := range 2 {
			at := now.Add(time.Duration(n)*time.Hour + time.Duration(i)*time.Second)
			if i == 3 && n == 1 {
				break // nothing of it has arrived since
			}
			x.newest(0, schema.LatestPartition{Tenant: "t", Month: month},
				[]query.Newest{{Device: id, Values: []latest.Value{numberAt(at, "x", 1)}}})
		}
	}
	want := []query.Interval{{Devices: 4, Looked: 3, Seconds: 3600}}
	if got := x.proposals(); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestDeviceIsWhereItSaysThatItIs has the position of the record until readings tell another one, also where the record
// is read again, and never one that is nowhere on earth.
func TestDeviceIsWhereItSaysThatItIs(t *testing.T) {
	s := New(Config{Accounts: make([]Account, 1)})
	x := s.Accounts.index
	sensors := &fold.Sensors{Position: fold.Position{Lat: "lat", Lon: "lon"}}
	s.Accounts.all[0].current.Store(&[]Pipeline{{Tables: []string{latest.Table},
		Sensors: func(schema.Member) *fold.Sensors { return sensors }}})
	month := schema.Month{Year: 2026, Month: 11}
	record := schema.Device{ID: "van", Tenant: "t", Month: month, Position: &schema.Position{Lat: 1, Lon: 2}}
	sends := func(values ...latest.Value) {
		x.newest(0, schema.LatestPartition{Tenant: "t", Month: month}, []query.Newest{{Device: "van", Values: values}})
	}
	is := func(when string, lat, lon float64) {
		t.Helper()
		m := s.Maps.mapAt(MapQuery{Zoom: 3}, time.Now())
		if len(m.Devices) != 1 || m.Devices[0].Lat != lat || m.Devices[0].Lon != lon {
			t.Errorf("%s it is at %+v; want %v, %v", when, m.Devices, lat, lon)
		}
	}
	at := time.Now()
	x.records(0, []schema.Device{record})
	is("at first", 1, 2)
	sends(numberAt(at, "lat", 57), numberAt(at, "speed", 3))
	is("with half a position", 1, 2)
	sends(numberAt(at, "lon", -2))
	is("with a position", 57, -2)
	x.records(0, []schema.Device{record})
	is("after its record was read again", 57, -2)
	sends(numberAt(at.Add(time.Second), "lat", 58))
	is("later", 58, -2)
	sends(numberAt(at.Add(2*time.Second), "lat", 98))
	is("with a position that is nowhere", 58, -2)
}
