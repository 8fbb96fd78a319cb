package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/commands"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// coolingFleet has a device that becomes too hot twice, and a rule that tells it to cool down.
func coolingFleet(t *testing.T, values ...float64) (*jobstest.Fleet, func(policy.Transporter) *jobs.Pipeline) {
	t.Helper()
	since := time.Now().Add(-30 * time.Minute)
	f := seedDevice(t, len(values), func(n int) tables.Entity {
		return temperature(since.Add(time.Duration(n)*time.Minute), values[n])
	})
	return f, func(through policy.Transporter) *jobs.Pipeline {
		p := f.Pipeline(t, through)
		limit := 120.0
		p.Processors = append(p.Processors, jobstest.With(t, rules.Processor, &rules.Config{Rules: []rules.Rule{{
			Name: "hot", When: &rules.Threshold{Sensor: "temperature", Limit: rules.Limit{Above: &rules.Bound{Number: limit}}},
			Command: &rules.Command{On: rules.OnOpen, Body: `{"rpm":900}`, TTL: 10 * time.Minute}}}}))
		return p
	}
}

func told(t *testing.T, f *jobstest.Fleet) []commands.Command {
	t.Helper()
	all := must.Have(commands.Of(f.World.Connect(t, nil), f.Names).Read(t.Context(), f.World.Devices[0], 0))(t)
	return all.Commands
}

// TestRuleSendsOneCommandPerTransition: whatever is lost or killed, and whenever.
func TestRuleSendsOneCommandPerTransition(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	begin := func() trial {
		f, pipeline := coolingFleet(t, 100, 130, 131, 100, 140, 100)
		return trial{pipeline, f.Drain, func(about ...any) {
			t.Helper()
			all := told(t, f)
			if len(all) != 2 {
				t.Fatalf("%s: %d commands of 2 openings", fmt.Sprint(about...), len(all))
			}
			for _, c := range all {
				if c.Body != `{"rpm":900}` || c.Who != "rule hot" || c.Expires != c.ID.Sent().Add(10*time.Minute) ||
					!strings.HasPrefix(c.Incident, "hot~") {
					t.Errorf("%s: %+v", fmt.Sprint(about...), c)
				}
			}
		}}
	}
	everyFault(t, begin, true, faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOutDone)
	everyStop(t, begin, func(n int, done, dies bool) bool { return n%2 == 0 == done })
}

// TestFullListIsNotedOnTheIncident: the rule's command is not sent later either, when it would be wrong.
func TestFullListIsNotedOnTheIncident(t *testing.T) {
	t.Parallel()
	f, pipeline := coolingFleet(t, 130)
	to := commands.Of(f.World.Connect(t, nil), f.Names)
	for range schema.MaxCommands {
		must.Have(to.Send(t.Context(), schema.Command{Device: f.World.Devices[0], Body: "1"}, time.Hour))(t)
	}
	ctx, dying := dies(t, f)
	dying.Processors = pipeline(nil).Processors
	if err := f.Drain(ctx, dying); err == nil {
		t.Fatal("the worker was not killed")
	}
	must.Succeed(t, f.Drain(t.Context(), pipeline(nil)))
	notes := 0
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output(rules.Table)), tables.Query{}) {
		if _, kind, err := schema.IncidentRowKind(e.RowKey); err != nil || kind != 'p' {
			continue
		}
		n := must.Have(schema.NoteOf(e))(t)
		if notes++; n.What != schema.Noted || !strings.Contains(n.Text, "50 commands wait") || n.Who != "rule hot" {
			t.Errorf("%+v", n)
		}
	}
	if all := told(t, f); notes != 1 || len(all) != schema.MaxCommands {
		t.Errorf("%d notes, %d commands", notes, len(all))
	}
}

// TestHistorySendsNoCommands: a command for something that was over an hour ago would be wrong.
func TestHistorySendsNoCommands(t *testing.T) {
	f := seedDevice(t, 3, func(n int) tables.Entity {
		return temperature(time.Now().Add(time.Duration(n-600)*time.Minute), []float64{100, 130, 100}[n])
	})
	_, pipeline := coolingFleet(t, 1)
	p := f.Pipeline(t, nil)
	p.Processors = pipeline(nil).Processors
	must.Succeed(t, f.Drain(t.Context(), p))
	if all := told(t, f); len(all) != 0 {
		t.Errorf("%+v", all)
	}
}
