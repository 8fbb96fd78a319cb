package jobs_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/schema"
)

// TestEveryMessageThatAJobPutsNamesItsGeneration: the newer of the message's and the worker's.
func TestEveryMessageThatAJobPutsNamesItsGeneration(t *testing.T) {
	r := newRoster(t)
	month := schema.Month{Year: 2026, Month: time.November}
	var ops []tables.Op
	for _, d := range []schema.DeviceID{"a", "b", "c"} {
		e, err := schema.Member{Month: month, Device: d, Tenant: "t", Readings: "readings"}.Entity()
		jobstest.Must(t, err)
		ops = append(ops, tables.Insert(e))
	}
	r.write(t, r.names.Fleet(), ops)
	for _, generations := range [][2]int64{{3, 5}, {5, 3}, {5, 0}, {0, 5}} {
		p := r.pipeline(t, nil)
		p.Generation = generations[1]
		line := &recorder{}
		for _, m := range []jobs.Message{
			{Kind: jobs.Master, Pipeline: "live", Run: r.slot},
			{Kind: jobs.Month, Pipeline: "live", Run: r.slot, Month: month, Audit: jobs.Full},
			{Kind: jobs.Device, Pipeline: "live", Run: r.slot, First: schema.Place{Month: month, Key: "t!a"},
				Last: schema.Place{Month: month, Key: "t!c"}, Attempts: 3},
		} {
			m.Generation = generations[0]
			before := len(line.messages)
			_, err := p.Do(t.Context(), m, line, line.save)
			jobstest.Must(t, err)
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
	_, err := p.Do(t.Context(), f.Message(), line, line.save)
	jobstest.Must(t, err)
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
	_, err := p.Run(t.Context(), f.Batch)
	jobstest.Must(t, err)
	generation := func() int64 {
		row := f.Track(t, w.Devices[0])
		return row.Get("Generation").Int()
	}
	if got := generation(); got != 4 {
		t.Errorf("after generation 4 the row says %d", got)
	}
	older := f.Pipeline(t, nil)
	older.Generation = 3
	jobstest.Must(t, f.Drain(t.Context(), older))
	if got := generation(); got != 4 {
		t.Errorf("after a worker of generation 3 the row says %d", got)
	}
}
