package jobs_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// leaves removes a device from the fleet.
func (f *watched) leaves(d schema.DeviceID) (closed int, err error) {
	m := f.World.Member(d, f.Readings)
	fleet := f.World.Connect(f.t, nil).Table(f.Names.Fleet())
	if _, err := fleet.Do(f.t.Context(), tables.Delete(m.Month.String(), string(m.Key()), tables.AnyETag)); err != nil {
		return 0, err
	}
	return f.pipeline(nil).Leave(f.t.Context(), m, "it left")
}

// incidentsOf returns how the transitions of a device's incidents end, and which deliveries there are of them.
func (f *watched) incidentsOf(
	device schema.DeviceID,
) (last map[schema.IncidentID]schema.Transition, told map[string]bool) {
	f.t.Helper()
	client := f.World.Connect(f.t, nil)
	last, told = map[schema.IncidentID]schema.Transition{}, map[string]bool{}
	for _, e := range jobstest.Rows(f.t, client.Table(f.Names.Output(rules.Table)), tables.Query{}) {
		_, kind, err := schema.IncidentRowKind(e.RowKey)
		if err != nil || kind != 't' || strings.HasSuffix(e.PartitionKey, "!open") {
			continue
		}
		if one := must.Have(schema.TransitionOf(e))(f.t); one.ID.Device == device && one.Number > last[one.ID].Number {
			last[one.ID] = one
		}
	}
	for _, e := range jobstest.Rows(f.t, client.Table(f.Names.Deliveries()), tables.Query{}) {
		d := must.Have(schema.DeliveryOf(e))(f.t) // those that were given up too, because these fleets have no targets
		told[fmt.Sprint(d.Transition.ID, d.Number, d.Target)] = true
	}
	return last, told
}

// TestNoIncidentOfADeviceThatLeftStaysOpen removes it while a worker sleeps or dies at an operation of a job that has
// read it, and each closing is delivered to those who were told of the opening.
func TestNoIncidentOfADeviceThatLeftStaysOpen(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := newWatchedWorld(t)
	const bad = 6
	begin := func() *watched {
		f := newWatched(t, w)
		f.calmly(1, bad-1)
		f.arrive(bad)
		f.clock.set(round(bad).Add(10e9))
		return f
	}
	device, left, late := w.Devices[2], 0, 0
	all := operations(t, func() trial { f := begin(); return trial{f.pipeline, f.Drain, nil} })
	for turn, n := range all {
		f, done, dies := begin(), turn%2 == 0, turn%4 < 2
		ctx, kill := context.WithCancel(t.Context())
		stopping := stopAt(n, done, func() error {
			closed, err := f.leaves(device)
			left += closed
			if dies {
				kill()
			}
			return err
		})
		if err := f.Drain(ctx, f.pipeline(stopping)); err != nil && !dies {
			t.Fatalf("operation %d: %v", n, err)
		}
		kill()
		f.clock.set(round(bad).Add(30 * 60e9))
		must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		last, told := f.incidentsOf(device)
		for id, one := range last {
			if one.Opens() {
				t.Errorf("operation %d, done %t, dies %t: %s stays open", n, done, dies, id)
			}
			if one.Reason != "it left" {
				continue
			}
			late++
			for _, target := range []schema.Target{"ops", "phone"} {
				if told[fmt.Sprint(id, one.Number-1, target)] != told[fmt.Sprint(id, one.Number, target)] {
					t.Errorf("operation %d: %s is told of the opening of %s or of its closing, not of both", n, target, id)
				}
			}
		}
		if again := must.Have(f.pipeline(nil).Leave(t.Context(), w.Member(device, f.Readings), "again"))(t); again != 0 {
			t.Errorf("operation %d: leaving again closes %d", n, again)
		}
	}
	if left == 0 || late < left {
		t.Errorf("%d incidents were closed, %d for this reason: nothing is shown", left, late)
	}
}

// TestAllIncidentsOfADeviceThatLeftCloseWhereAnAnswerIsLost: it has more than one closing commits.
func TestAllIncidentsOfADeviceThatLeftCloseWhereAnAnswerIsLost(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := newWatchedWorld(t)
	const many = 35
	c := &rules.Config{}
	for n := range many {
		c.Rules = append(c.Rules, rules.Rule{Name: schema.Rule(fmt.Sprint("rule-", n)),
			When: &rules.Threshold{Sensor: "oil", Limit: rules.Limit{Above: &rules.Bound{Number: 1}}}})
	}
	device := w.Devices[2]
	everyFault(t, func() trial {
		f := newWatched(t, w)
		pipeline := func(through policy.Transporter) *jobs.Pipeline {
			p := f.pipeline(through)
			p.Processors[len(p.Processors)-1] = jobstest.With(t, rules.Processor, c)
			return p
		}
		f.arrive(1)
		f.clock.set(round(1).Add(10 * time.Second))
		must.Succeed(t, f.Drain(t.Context(), pipeline(nil)))
		return trial{pipeline, func(ctx context.Context, p *jobs.Pipeline) error {
			_, err := p.Leave(ctx, w.Member(device, f.Readings), "it left")
			return err
		}, func(about ...any) {
			last, _ := f.incidentsOf(device)
			open := slices.DeleteFunc(slices.Collect(maps.Values(last)), func(one schema.Transition) bool {
				return !one.Opens()
			})
			if len(last) != many || len(open) > 0 {
				t.Errorf("%s: %d of %d incidents stay open", fmt.Sprint(about...), len(open), len(last))
			}
		}}
	}, false, faults.AnswerLost, faults.TimedOutDone)
}

// TestDeviceThatRegistersAgainIsNew: it was removed, its data kept, and comes back before its next reading. Nobody has
// waited for that meanwhile, and then it is waited for as for others.
func TestDeviceThatRegistersAgainIsNew(t *testing.T) {
	t.Parallel()
	f := newWatched(t, newWatchedWorld(t))
	device := f.World.Devices[0] // silent in the rounds 3 to 5
	f.calmly(1, 2)
	must.Have(f.leaves(device))(t)
	before, _ := f.incidentsOf(device)
	m := f.World.Member(device, f.Readings)
	m.Labels = map[string]string{"dose": "08:30, 09:00", "tz": "Etc/UTC"}
	for n := 3; n <= 5; n++ {
		if n == 4 {
			jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Names.Fleet()), must.Have(m.Entity())(t))
		}
		f.calmly(n, n)
	}
	if came, _ := f.incidentsOf(device); len(came) > len(before) {
		t.Errorf("before its first reading it has the incidents %v", came)
	}
	f.calmly(6, 6)
	f.clock.set(round(8))
	must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
	came, _ := f.incidentsOf(device)
	for id, one := range came {
		if id.Rule == "silent" && one.Opens() {
			return
		}
	}
	t.Errorf("after it has fallen silent again it has the incidents %v", came)
}

// TestReportsHaveWhatWasFoldedOfADeviceThatLeft since its open buckets were written last.
func TestReportsHaveWhatWasFoldedOfADeviceThatLeft(t *testing.T) {
	t.Parallel()
	f := newReported(t, newReportedWorld(t), 1)
	f.arrive(1)
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	m := f.members[f.World.Devices[0]]
	e := tables.Entity{PartitionKey: string(m.Device), RowKey: tables.TicksOf(f.at(1).Add(time.Minute)).String()}
	e.Set("oil", tables.Double(7))
	client := f.World.Connect(t, nil)
	jobstest.Insert(t, client.Table(f.Readings), e)
	f.rows = append(f.rows, e)
	f.clock.set(f.at(1).Add(2 * time.Minute))
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), tables.Delete(m.Month.String(), string(m.Key()),
		tables.AnyETag)))(t)
	must.Have(f.pipeline(nil).Leave(t.Context(), m, "it left"))(t)
	f.end()
	f.check()
}
