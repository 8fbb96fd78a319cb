package jobs_test

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/rate"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestRatesEqualThoseOfAllReadings: in whatever order rows come, and wherever a worker
// with random faults stops, rates are what they are by definition.
func TestRatesEqualThoseOfAllReadings(t *testing.T) {
	t.Parallel()
	in := azuretest.Local(t)
	sensors := fold.Sensors{Counters: map[string]fold.Counter{"humidity": {}},
		Position: fold.Position{Lat: "lat", Lon: "lon"}}
	eachSeed(t, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 4))
		w := jobstest.NewWorldIn(t, in, 6*24*time.Hour, 2, 80)
		w.Rates = true
		for _, rows := range w.Rows {
			uneven(random, rows)
		}
		over := []time.Duration{time.Hour, 8 * time.Hour, 24 * time.Hour}[random.IntN(3)]
		configured := must.Have(rate.Processor.With(&rate.Config{Over: over}, fold.Setup{Sensors: sensors}))(t)
		readings := fmt.Sprintf("rates%d", seed)
		rows := &arriving{world: w, table: readings, random: random, there: map[int]bool{}, admits: 8 * 24 * time.Hour}
		f := w.NewFleetOf(t, readings)
		configure := func(p *jobs.Pipeline) *jobs.Pipeline {
			p.Processors[2], p.Sensors = configured, sensors
			return p
		}
		for _, share := range []float64{.4, .4, 1} {
			rows.some(t, share)
			p := configure(f.Pipeline(t, &faults.Transport{Plan: faults.Random{Seed: random.Uint64(), Rates: fewFaults()},
				Delay: 20 * time.Millisecond}))
			p.Portion, p.Most = 7+random.IntN(30), 20+random.IntN(100)
			must.Succeed(t, f.Settle(t.Context(), p))
			d := w.Devices[random.IntN(len(w.Devices))]
			to := tables.TicksOf(time.Now().Add(-time.Duration(random.IntN(7*24)) * time.Hour))
			must.Have(f.Pipeline(t, nil).Rewind(t.Context(), w.Member(d, readings),
				jobs.Rewound{To: to, At: time.Now(), By: "a test"}))(t)
		}
		p := configure(f.Pipeline(t, nil))
		must.Succeed(t, f.Drain(t.Context(), p))
		plain := plainRates{over: tables.Ticks(over / 100), counters: sensors.Counters, sensors: map[string][]rate.Reading{},
			places: map[tables.Ticks]rate.Position{}}
		for _, d := range w.Devices {
			plain.read(t, p, d, readings)
			plain.check(t, p, d)
		}
	})
}

// uneven gives rows times in bursts, after silences and at the ends of hours and parts of them, and some a position.
func uneven(random *rand.Rand, rows []tables.Entity) {
	at := time.Now().Add(-time.Minute)
	for i := range slices.Backward(rows) {
		most := []time.Duration{2 * time.Minute, 2 * time.Minute, time.Hour, 6 * time.Hour}[random.IntN(4)]
		if random.IntN(20) == 0 {
			most = 40 * time.Hour
		}
		if time.Since(at) > 5*24*time.Hour { // not near the age that is too late
			most = 2 * time.Minute
		}
		at = at.Add(-time.Second - time.Duration(random.Int64N(int64(most))))
		if random.IntN(3) == 0 {
			at = at.Truncate([]time.Duration{5 * time.Minute, time.Hour}[random.IntN(2)])
		}
		ticks := tables.TicksOf(at).String()
		rows[i].RowKey = ticks + rows[i].RowKey[len(ticks):]
		if random.IntN(3) == 0 {
			rows[i].Set("lat", tables.Double(random.Float64()))
			rows[i].Set("lon", tables.Double(random.Float64()))
		}
	}
}

// fewFaults leave a refold of some days, which is many operations, a chance to reach its commit.
func fewFaults() map[faults.Fault]float64 {
	rates := someFaults()
	for fault := range rates {
		rates[fault] /= 8
	}
	return rates
}

// plainRates are rates as they are defined: from all readings of a device.
type plainRates struct {
	over     tables.Ticks
	counters map[string]fold.Counter
	newest   tables.Ticks // of the device's readings
	sensors  map[string][]rate.Reading
	places   map[tables.Ticks]rate.Position // that readings tell
}

func (r *plainRates) read(t *testing.T, p *jobs.Pipeline, d schema.DeviceID, readings string) {
	t.Helper()
	clear(r.sensors)
	clear(r.places)
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(string(d))}}
	for e, err := range p.Client.Table(readings).Entities(t.Context(), q) {
		must.Succeed(t, err)
		reading, err := schema.ReadingOf(e)
		if err != nil {
			continue
		}
		s, _ := p.Sensors.Sample(reading)
		r.newest = s.Key.Ticks
		numbers := map[string]float64{}
		for _, v := range s.Values {
			if v.Is == fold.Number {
				numbers[v.Sensor] = v.Number
			}
		}
		if lat, told := numbers["lat"]; told {
			r.places[r.newest] = rate.Position{Lat: lat, Lon: numbers["lon"]}
			delete(numbers, "lat")
			delete(numbers, "lon")
		}
		for sensor, n := range numbers {
			r.sensors[sensor] = append(r.sensors[sensor], rate.Reading{At: r.newest, Value: n})
		}
	}
}

// place is the newest position that was told from one moment to another; nil: none was.
func (r *plainRates) place(from, to tables.Ticks) (newest *rate.Position) {
	for _, at := range slices.Sorted(maps.Keys(r.places)) {
		if p := r.places[at]; at >= from && at <= to {
			newest = &p
		}
	}
	return newest
}

func (r *plainRates) counts(sensor string) bool {
	_, counts := r.counters[sensor]
	return counts
}

// difference is that from one reading of a sensor to the next.
func (r *plainRates) difference(sensor string, from, to rate.Reading) float64 {
	if r.counts(sensor) && to.Value < from.Value {
		return to.Value
	}
	return to.Value - from.Value
}

func (r *plainRates) check(t *testing.T, p *jobs.Pipeline, d schema.DeviceID) {
	t.Helper()
	row, buckets := stored(t, p, d)
	for sensor, all := range r.sensors {
		r.checkNewest(t, sensor, row[sensor])
		delete(row, sensor)
		for i, window := range rate.Windows() {
			var earlier rate.Before
			for start := window.Start(all[0].At); start <= r.newest; start = start.Add(time.Duration(window)) {
				got := rate.Tally{}
				if s, ok := buckets[i][bucketOf{start, sensor}]; ok {
					got = s.Since(&earlier)
					if want := r.place(start, s.Last.At); !reflect.DeepEqual(s.Position, want) {
						t.Errorf("%s of %s in the %s from %v is at %v; want %v", sensor, d, window, start.Time(), s.Position, want)
					}
				}
				if want := r.tally(sensor, start, start.Add(time.Duration(window))); !sameTally(got, want) {
					t.Errorf("%s of %s in the %s from %v: %+v; want %+v", sensor, d, window, start.Time(), got, want)
				}
			}
		}
	}
	if len(row) > 0 {
		t.Errorf("%s has rates of %v", d, row)
	}
}

// tally is that of the readings of a bucket.
func (r *plainRates) tally(sensor string, from, to tables.Ticks) (t rate.Tally) {
	all := r.sensors[sensor]
	for i := 1; i < len(all); i++ {
		over := all[i].At - all[i-1].At
		if all[i].At < from || all[i].At >= to || over > tables.Day && !r.counts(sensor) {
			continue
		}
		d := r.difference(sensor, all[i-1], all[i])
		t.Last = d / rate.Hours(over)
		if t.Count == 0 {
			t.Min, t.Max = t.Last, t.Last
		}
		t.Count, t.Difference, t.Over = t.Count+1, t.Difference+d, t.Over+over
		t.Min, t.Max = min(t.Min, t.Last), max(t.Max, t.Last)
	}
	return t
}

func (r *plainRates) checkNewest(t *testing.T, sensor string, text string) {
	t.Helper()
	const day = tables.Day
	before := tables.Ticks(1)
	if r.over > day/2 {
		before = 2
	}
	from := r.newest - r.newest%day - before*day
	all := r.sensors[sensor]
	n := len(all) - 1
	if n < 1 || all[n-1].At < from || all[n].At-all[n-1].At > day && !r.counts(sensor) {
		if text != "" {
			t.Errorf("%s has the rate %s; want none", sensor, text)
		}
		return
	}
	got := must.Have(rate.ParseLatest(text))(t)
	want := rate.Latest{Reading: all[n]}
	want.Step.Difference = r.difference(sensor, all[n-1], all[n])
	want.Step.PerHour = want.Step.Difference / rate.Hours(all[n].At-all[n-1].At)
	want.Position = r.place(from, all[n].At)
	if got.Reading != want.Reading || !sameChange(got.Step, want.Step) || !reflect.DeepEqual(got.Position, want.Position) {
		t.Errorf("the newest %s is %+v; want %+v", sensor, got, want)
	}
	cell, sum := r.over/12, 0.0
	start := (all[n].At - r.over) / cell * cell
	for i := n; ; i-- {
		if all[i].At <= start && (all[n].At-all[i].At <= before*day || r.counts(sensor)) {
			span := rate.Change{Difference: sum, PerHour: sum / rate.Hours(all[n].At-all[i].At)}
			if got.Span == nil || !sameChange(*got.Span, span) {
				t.Errorf("%s over the span: %+v; want %+v", sensor, got.Span, span)
			}
			return
		}
		if i == 0 || all[i-1].At < from || all[i].At-all[i-1].At > day && !r.counts(sensor) {
			break
		}
		sum += r.difference(sensor, all[i-1], all[i])
	}
	if got.Span != nil {
		t.Errorf("%s over the span: %+v; want none", sensor, *got.Span)
	}
}

// stored are the rates in storage: of the device's row, and by window, bucket and sensor.
func stored(t *testing.T, p *jobs.Pipeline, d schema.DeviceID) (row map[string]string, buckets [2]summaries) {
	t.Helper()
	row, buckets = map[string]string{}, [2]summaries{{}, {}}
	for e, err := range p.Client.Table(p.Names.Output(rate.Table)).Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		partition, err := schema.ParseRollupPartition(e.PartitionKey)
		if err != nil {
			if e.RowKey == string(d) {
				for name, text := range rates(e) {
					row[name] = text
				}
			}
			continue
		}
		key := must.Have(schema.ParseRollupRow(e.RowKey))(t)
		if key.Device != d {
			continue
		}
		of := buckets[slices.Index(rate.Windows(), partition.Window)]
		for name, text := range rates(e) {
			s := must.Have(rate.ParseSummary(text))(t)
			of[bucketOf{key.Bucket, name}] = s
		}
	}
	return row, buckets
}

type bucketOf struct {
	start  tables.Ticks
	sensor string
}

type summaries map[bucketOf]rate.Summary

func rates(e tables.Entity) iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, p := range e.Properties {
			if !fold.IsReserved(p.Name) && !yield(p.Name, p.Value.Text()) {
				return
			}
		}
	}
}

// near tells whether numbers, pair by pair, differ by no more than rounding.
func near(pairs ...float64) bool {
	for i := 0; i < len(pairs); i += 2 {
		if a, b := pairs[i], pairs[i+1]; math.Abs(a-b) > 1e-9*(1+math.Abs(a)+math.Abs(b)) {
			return false
		}
	}
	return true
}

func sameChange(a, b rate.Change) bool { return near(a.Difference, b.Difference, a.PerHour, b.PerHour) }

func sameTally(a, b rate.Tally) bool {
	return a.Count == b.Count && a.Over == b.Over &&
		near(a.Difference, b.Difference, a.Min, b.Min, a.Max, b.Max, a.Last, b.Last)
}
