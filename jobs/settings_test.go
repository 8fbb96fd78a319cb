package jobs_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/refold"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A setting is one way to configure a pipeline.
type setting struct {
	latest  bool
	windows []schema.Window // empty: no rollup
	over    time.Duration   // of rates; zero: there are none
	kinds   map[string]fold.SensorKind
	models  []string // some of those in models
}

// models returns what the world's devices can be taken for.
func models(t *testing.T) map[string]fold.Model {
	lives := must.Have(condition.Parse("door_open == 1 or humidity > 60"))(t)
	return map[string]fold.Model{
		"scaled": {Match: fold.Match{Tenant: []string{"t0"}}, Sensors: fold.Sensors{
			Named: map[string]fold.Meaning{"temperature": {As: "t", Is: fold.Number, Scale: 1.8, Offset: 32}}}},
		"renamed": {Match: fold.Match{Tenant: []string{"t1", "t2"}, Device: []string{"*"}}, Sensors: fold.Sensors{
			Patterns: []fold.Pattern{{Prefix: "h", Meaning: fold.Meaning{As: "g*"}},
				{Meaning: fold.Meaning{Is: fold.Ignored}}}}},
		"long": {Match: fold.Match{Tenant: []string{"t0"}}, Sensors: fold.Sensors{
			Long: fold.Long{Name: "humidity", Value: "temperature"}}},
		"doubtful": {Match: fold.Match{Tenant: []string{"t1"}}, Sensors: fold.Sensors{Quality: "humidity",
			Good: []string{"40", "41", "43", "46"}}},
		"counters": {Match: fold.Match{Tenant: []string{"t0", "t2"}}, Sensors: fold.Sensors{
			Counters: map[string]fold.Counter{"temperature": {Dips: .01}},
			Position: fold.Position{Lat: "humidity", Lon: "temperature"}}},
		"heartbeats": {Match: fold.Match{Tenant: []string{"t1"}}, Sensors: fold.Sensors{Heartbeat: lives}},
		"nobody":     {Match: fold.Match{Labels: map[string][]string{"class": {"fryer"}}}},
	}
}

func (s setting) String() string {
	var all []string
	if s.latest {
		all = append(all, fmt.Sprintf("latest:%x", fmt.Sprint(s.kinds)))
	}
	if len(s.windows) > 0 {
		all = append(all, fmt.Sprintf("rollup:%x", fmt.Sprint(s.windows, s.kinds)))
	}
	if s.over > 0 {
		all = append(all, fmt.Sprintf("rate:%x", fmt.Sprint(s.over, s.kinds)))
	}
	return strings.Join(all, ",")
}

// apply gives a pipeline the setting.
func (s setting) apply(t *testing.T, p *jobs.Pipeline) {
	t.Helper()
	p.Processors = s.processors(t, fold.Sensors{})
	p.Sensors.Named, p.Settings = map[string]fold.Meaning{}, s.String()
	for sensor, kind := range s.kinds {
		p.Sensors.Named[sensor] = fold.Meaning{Is: kind}
	}
	p.Models = nil
	for _, name := range s.models {
		m := models(t)[name]
		m.Name, m.Settings, m.Processors = name, strings.ReplaceAll(p.Settings, ":", ":"+name), s.processors(t, m.Sensors)
		p.Models = append(p.Models, m)
	}
}

// processors returns the processors of devices whose rows mean that.
func (s setting) processors(t *testing.T, means fold.Sensors) (all []fold.Configured) {
	t.Helper()
	with := func(p *fold.Processor, c fold.Config) {
		all = append(all, must.Have(p.With(c, fold.Setup{Sensors: means}))(t))
	}
	if s.latest {
		with(latest.Processor, latest.Processor.New())
	}
	if len(s.windows) > 0 {
		with(rollup.Processor, &rollup.Config{Windows: s.windows})
	}
	if s.over > 0 {
		with(rate.Processor, &rate.Config{Over: s.over})
	}
	return all
}

// outputs returns the ends that the setting makes. Others may have left outputs in windows that are no longer made.
func (s setting) outputs(ends map[string]string) map[string]string {
	out := map[string]string{}
	for key, v := range ends {
		if s.latest && strings.HasPrefix(key, "latest/") || s.over > 0 && strings.HasPrefix(key, "rates/") {
			out[key] = v
		}
		for _, w := range s.windows {
			if strings.HasPrefix(key, "rollups/") && strings.Contains(key, "!"+w.String()+"!") {
				out[key] = v
			}
		}
	}
	return out
}

// sameAsNew compares outputs with those of a new fleet.
func (s setting) sameAsNew(t *testing.T, f *jobstest.Fleet) (calm *jobstest.Fleet) {
	t.Helper()
	calm = f.World.NewFleetOf(t, f.Readings)
	p := calm.Pipeline(t, nil)
	s.apply(t, p)
	must.Succeed(t, calm.Drain(t.Context(), p))
	jobstest.SameEnds(t, s.outputs(f.Ends(t)), s.outputs(calm.Ends(t)))
	return calm
}

func settings() []setting {
	all := []schema.Window{schema.Minute, schema.Hour, schema.Daily}
	return []setting{
		{latest: true, windows: all, over: time.Hour},
		{latest: true},
		{windows: all[1:], over: time.Hour},
		{latest: true, windows: all, over: 20 * time.Minute, kinds: map[string]fold.SensorKind{"humidity": fold.Ignored}},
		{latest: true, windows: all[:2], over: 24 * time.Hour, kinds: map[string]fold.SensorKind{"temperature": fold.State}},
		{latest: true, windows: all, kinds: map[string]fold.SensorKind{"temperature": fold.Ignored, "humidity": fold.Ignored,
			"door_open": fold.Ignored}},
		{latest: true, windows: all, models: []string{"nobody", "heartbeats", "scaled"}},
		{latest: true, windows: all, over: time.Hour, models: []string{"scaled", "renamed", "heartbeats"}},
		{latest: true, windows: all, over: 20 * time.Minute, models: []string{"long", "doubtful"}},
		{latest: true, windows: all[:2], over: time.Hour, models: []string{"counters", "doubtful"}},
	}
}

// TestAnySettingsEndAsANewFleet is the law of refolds: after any change of settings, with rewinds, late rows and jobs
// that stop anywhere, all outputs of the last settings equal those of a new fleet that was folded with them.
func TestAnySettingsEndAsANewFleet(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	eachSeed(t, func(t *testing.T, seed uint64) {
		random := rand.New(rand.NewPCG(seed, 1))
		readings := fmt.Sprintf("set%d", seed)
		rows := &arriving{world: w.World, table: readings, random: random, there: map[int]bool{}, admits: math.MaxInt64}
		rows.some(t, .5)
		f := w.NewFleetOf(t, readings)
		p := f.Pipeline(t, nil)
		var s setting
		for range 2 + random.IntN(4) {
			s = settings()[random.IntN(len(settings()))]
			s.apply(t, p)
			p.Portion, p.Most = 1+random.IntN(20), 1+random.IntN(40)
			for range random.IntN(4) {
				step(t, f, p, random)
			}
			if random.IntN(2) == 0 {
				rows.some(t, .3)
			}
		}
		rows.some(t, 1)
		must.Succeed(t, f.Settle(t.Context(), p))
		s.sameAsNew(t, f)
	})
}

// step does one of the things that happen to a fleet.
func step(t *testing.T, f *jobstest.Fleet, p *jobs.Pipeline, random *rand.Rand) {
	t.Helper()
	switch random.IntN(5) {
	case 0:
		must.Succeed(t, f.Drain(t.Context(), p))
	case 1:
		jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	case 2:
		d := f.World.Devices[random.IntN(len(f.World.Devices))]
		to := tables.TicksOf(time.Now().Add(-time.Duration(random.IntN(7*24)) * time.Hour))
		must.Have(p.Rewind(t.Context(), f.World.Member(d, f.Readings), jobs.Rewound{To: to, At: time.Now(), By: "a test"}))(t)
	default:
		jobstest.Do(t, p, f.Message(), jobstest.NoPut{})
	}
}

// TestAddedProcessorFoldsAnIdleDevicesHistoryInPortions: no job folds more than it may.
func TestAddedProcessorFoldsAnIdleDevicesHistoryInPortions(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	const rows = 6000
	start := time.Now().Add(-rows*time.Minute - time.Hour)
	f := seedDevice(t, rows, func(n int) tables.Entity {
		return temperature(start.Add(time.Duration(n)*time.Minute), float64(n%40))
	})
	p := f.Pipeline(t, nil)
	settings()[1].apply(t, p)
	must.Succeed(t, f.Drain(t.Context(), p))
	s := settings()[0]
	s.apply(t, p)
	p.Portion, p.Most, p.Marks = 500, 1000, 0
	if n := jobstest.Work(t, p, f.Message()); n < rows/1500 {
		t.Errorf("%d rows were folded again in %d jobs", rows, n)
	}
	s.sameAsNew(t, f)
	wantRows(t, f, f.World.Devices[0], rows)
}

// TestEveryMessageThatAJobPutsNamesItsGeneration: the newer of the message's and the worker's.
func TestEveryMessageThatAJobPutsNamesItsGeneration(t *testing.T) {
	r := newRoster(t)
	month := schema.Month{Year: 2026, Month: time.November}
	var ops []tables.Op
	for _, d := range []schema.DeviceID{"a", "b", "c"} {
		e := must.Have(schema.Member{Month: month, Device: d, Tenant: "t", Readings: "readings"}.Entity())(t)
		ops = append(ops, tables.Insert(e))
	}
	r.write(t, r.names.Fleet(), ops)
	for _, generations := range [][2]int64{{3, 5}, {5, 3}, {5, 0}, {0, 5}} {
		p := r.pipeline(t, nil)
		p.Generation = generations[1]
		line := &recorder{}
		for _, m := range []jobs.Message{
			{Kind: jobs.Master, Pipeline: "live", Run: r.slot},
			{Kind: jobs.Month, Pipeline: "live", Run: r.slot, Month: month, Audit: refold.Full},
			{Kind: jobs.Device, Pipeline: "live", Run: r.slot, First: schema.Place{Month: month, Key: "t!a"},
				Last: schema.Place{Month: month, Key: "t!c"}, Attempts: 3},
		} {
			m.Generation = generations[0]
			before := len(line.messages)
			must.Have(p.Do(t.Context(), m, line, line.save))(t)
			if len(line.messages) == before {
				t.Errorf("a %s job puts nothing", m.Kind)
			}
		}
		if i := slices.IndexFunc(line.messages, func(m jobs.Message) bool { return m.Generation != 5 }); i >= 0 {
			t.Errorf("message of generation %d, worker of %d: %+v", generations[0], generations[1], line.messages[i])
		}
	}
}

// A recorder keeps the messages that a job puts and saves.
type recorder struct{ messages []jobs.Message }

func (r *recorder) Put(_ context.Context, m jobs.Message, _ time.Duration) error {
	r.messages = append(r.messages, m)
	return nil
}

func (r *recorder) save(_ context.Context, m jobs.Message) error {
	r.messages = append(r.messages, m)
	return nil
}

func TestADeviceFarBehindKeepsTheGeneration(t *testing.T) {
	w := jobstest.NewWorld(t, 2, 40)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Portion, p.Most, p.Generation = 10, 10, 7
	line := &recorder{}
	must.Have(p.Do(t.Context(), f.Message(), line, line.save))(t)
	if len(line.messages) < 2 || slices.ContainsFunc(line.messages,
		func(m jobs.Message) bool { return m.Generation != 7 }) {
		t.Errorf("it puts %+v", line.messages)
	}
}

// TestATrackingRowNamesTheNewestGeneration: an older worker does not lower it.
func TestATrackingRowNamesTheNewestGeneration(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 20)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Generation, p.Portion = 4, 10
	must.Have(p.Run(t.Context(), f.Batch))(t)
	generation := func() int64 {
		row := f.Track(t, w.Devices[0])
		return row.Get("Generation").Int()
	}
	if got := generation(); got != 4 {
		t.Errorf("after generation 4 the row says %d", got)
	}
	older := f.Pipeline(t, nil)
	older.Generation = 3
	must.Succeed(t, f.Drain(t.Context(), older))
	if got := generation(); got != 4 {
		t.Errorf("after a worker of generation 3 the row says %d", got)
	}
}
