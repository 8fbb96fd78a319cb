package jobs_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/rate"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ackRow is a reading of a temperature that also acknowledges a command.
func ackRow(at time.Time, ack string) tables.Entity {
	e := temperature(at, 21)
	e.Set(schema.AckProperty, tables.String(ack))
	return e
}

// commandRows returns the rows of the table commands, by key.
func commandRows(t *testing.T, f *jobstest.Fleet) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Commands()), tables.Query{}) {
		found[e.PartitionKey+"/"+e.RowKey] = fmt.Sprint(e.Properties)
	}
	return found
}

const ackedID = "0639308592000000000-a1b2c3d4"

func acks(n int) string {
	return fmt.Sprintf(`{"id":%q,"state":%q,"result":{"n":%d}}`, ackedID, schema.AckStates()[n%3], n)
}

// TestAcknowledgementsAreSafeLateRepeatedAndRefolded folds, audits and rewinds.
func TestAcknowledgementsAreSafeLateRepeatedAndRefolded(t *testing.T) {
	since := time.Now().Add(-3 * time.Hour)
	row := func(n int) tables.Entity { return ackRow(since.Add(time.Duration(n)*time.Minute), acks(n)) }
	f := seedDevice(t, 20, func(n int) tables.Entity { return row(2 * n) })
	p := f.Pipeline(t, nil)
	must.Succeed(t, f.Drain(t.Context(), p))
	before := commandRows(t, f)
	if len(before) != 20 {
		t.Fatalf("%d acknowledgements of 20: %v", len(before), before)
	}
	send(t, f, 5, func(n int) tables.Entity { return row(2*n + 1) }) // late
	jobstest.Do(t, p, f.Audit(refold.Full), jobstest.NoPut{})
	after := commandRows(t, f)
	if len(after) != 25 {
		t.Errorf("%d acknowledgements of 25", len(after))
	}
	key := string(f.World.Devices[0]) + "/" + ackedID + "!ack!" + row(3).RowKey
	if got := after[key]; !strings.Contains(got, schema.CommandReceived) || !strings.Contains(got, `{"n":3}`) {
		t.Errorf("%s: %s", key, got)
	}
	must.Have(p.Rewind(t.Context(), f.World.Member(f.World.Devices[0], f.Readings),
		jobs.Rewound{To: tables.TicksOf(since), At: time.Now(), By: "test", Mark: "m"}))(t)
	must.Succeed(t, f.Settle(t.Context(), p))
	jobstest.SameEnds(t, commandRows(t, f), after, "after a rewind")
	if n := rejectCount(t, f); n != 0 {
		t.Errorf("%d rejects", n)
	}
}

// TestAcknowledgementsSurviveFaultsAndDeadWorkers: each is written once, whatever happens to whom.
func TestAcknowledgementsSurviveFaultsAndDeadWorkers(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	since := time.Now().Add(-time.Hour)
	begin := func() trial {
		f := seedDevice(t, 7, func(n int) tables.Entity { return ackRow(since.Add(time.Duration(n)*time.Minute), acks(n)) })
		return trial{func(through policy.Transporter) *jobs.Pipeline { return f.Pipeline(t, through) }, f.Drain,
			func(about ...any) {
				t.Helper()
				if got := commandRows(t, f); len(got) != 7 {
					t.Errorf("%s: %d acknowledgements of 7", fmt.Sprint(about...), len(got))
				}
			}}
	}
	everyFault(t, begin, true, faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOutDone)
	everyStop(t, begin, func(n int, done, dies bool) bool { return n%2 == 0 == done })
}

// TestForeignAcknowledgementsAreRejects: whatever a device sends, the rest of its reading is folded.
func TestForeignAcknowledgementsAreRejects(t *testing.T) {
	bad := []string{"", "{", "7", `{"id":"pump","state":"succeeded"}`, `{"id":"` + ackedID + `","state":"done"}`,
		`{"state":"failed"}`, `{"id":"0639308592000000000","state":"failed"}`,
		`{"id":"` + ackedID + `!ack!x","state":"failed"}`, `{"id":"../devices","state":"failed"}`}
	since := time.Now().Add(-time.Hour)
	f := seedDevice(t, len(bad)+2, func(n int) tables.Entity {
		at := since.Add(time.Duration(n) * time.Minute)
		switch n - len(bad) {
		case 0:
			return ackRow(at, fmt.Sprintf(`{"id":%q,"state":"failed","result":%q,"more":1}`, ackedID, strings.Repeat("x", 9000)))
		case 1:
			e := ackRow(at, "")
			e.Set(schema.AckProperty, tables.Int32(7))
			return e
		}
		return ackRow(at, bad[n])
	})
	// Another pipeline of the fleet neither writes nor refuses acknowledgements.
	other := f.Pipeline(t, nil)
	other.Name, other.Processors = "other", []fold.Configured{rate.Processor.Default()}
	must.Succeed(t, f.World.Connect(t, nil).Table(f.Names.Partitions("other")).Create(t.Context()))
	must.Have(other.Run(t.Context(), f.Batch))(t)
	if got := commandRows(t, f); len(got) != 0 {
		t.Errorf("a pipeline without latest writes %v", got)
	}
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	if n := rejectCount(t, f); n != int64(len(bad))+1 {
		t.Errorf("%d rejects of %d", n, len(bad)+1)
	}
	for n, r := range ring(t, f, "live") {
		if r.Sensor != schema.AckProperty || r.Reason == "" {
			t.Errorf("reject %d: %+v", n, r)
		}
	}
	got := commandRows(t, f)
	if len(got) != 1 {
		t.Fatalf("%v", got)
	}
	for _, e := range got {
		if !strings.Contains(e, "failed") || len(e) > 5000 {
			t.Errorf("a long result: %d bytes", len(e))
		}
	}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("latest")), tables.Query{}) {
		if !strings.Contains(fmt.Sprint(e.Properties), "temperature") || strings.Contains(fmt.Sprint(e.Properties), "_ack") {
			t.Errorf("latest: %v", e.Properties)
		}
	}
}

// TestAcknowledgementNeedsNoTableOfCommands: a device may send one although nobody has ever sent a command.
func TestAcknowledgementNeedsNoTableOfCommands(t *testing.T) {
	t.Parallel()
	f := seedDevice(t, 1, func(int) tables.Entity { return ackRow(time.Now().Add(-time.Hour), acks(0)) })
	if os.Getenv("FURROW_TEST_STORAGE") != "" {
		t.Skip("a table that is being deleted cannot be created for a while")
	}
	must.Succeed(t, f.World.Connect(t, nil).Table(f.Names.Commands()).Delete(t.Context()))
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	if got := commandRows(t, f); len(got) != 1 {
		t.Errorf("%v", got)
	}
}
