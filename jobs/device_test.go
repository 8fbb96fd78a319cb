package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestEqualEndsHoweverTheWorkIsCut(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	w := jobstest.NewWorld(t, 3, 60)
	want := calm(t, w)
	for _, cut := range []struct{ batch, portion, most int }{
		{1, 1, 1}, {1, 1000, 20_000}, {50, 1, 7}, {50, 7, 20}, {99, 13, 13}, {99, 59, 60}, {99, 1000, 61}, {2, 60, 120},
	} {
		f := w.NewFleet(t)
		p := f.Pipeline(t, nil)
		p.Batch, p.Portion, p.Most = cut.batch, cut.portion, cut.most
		if n := jobstest.Work(t, p, f.Message()); n < 3*60/(cut.most+cut.portion) {
			t.Errorf("%+v: it took %d jobs", cut, n)
		}
		jobstest.SameEnds(t, f.Ends(t), want, cut)
	}
}

func TestDeviceFarBehindIsLeftToItsChain(t *testing.T) {
	w := jobstest.NewWorld(t, 2, 60)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Portion, p.Marks = 20, 0
	l := &jobstest.Line{}
	if _, err := p.Do(t.Context(), f.Message(), l, nil); err != nil || len(l.Queue) != 2 || l.Queue[0].Mark == "" ||
		l.Queue[0].First != l.Queue[0].Last {
		t.Fatalf("messages %+v, %v", l.Queue, err)
	}
	r, err := p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil)
	if err != nil || r.Devices != 0 {
		t.Errorf("the next slot's job looks at %d devices of a chain, %v", r.Devices, err)
	}
	l.Work(t, p)
	if r, err = p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil); err != nil || r.Devices != 2 || r.Rows != 0 {
		t.Errorf("after the chain: %+v, %v", r, err)
	}
}

func TestDeviceThatFailsIsTriedAloneThenHeld(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	bad := &switchable{device: w.Devices[1]}
	bad.on = true
	p.Processors = append(p.Processors, custom("bad", bad))
	l := &jobstest.Line{}
	r, err := p.Do(t.Context(), f.Message(), l, nil)
	if err != nil || r.Folded != 2 || len(r.Failed) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	if len(l.Queue) != 1 || l.Queue[0].First != w.Place(w.Devices[1]) || l.Queue[0].Last != w.Place(w.Devices[1]) ||
		l.Delays[0] == 0 {
		t.Fatalf("it is tried again by %+v after %v", l.Queue, l.Delays)
	}
	if e := f.Track(t, w.Devices[1]); e.Get("Attempts").Int() != 1 || e.Get("Fence").Int()+e.Get("Rows").Int() != 0 {
		t.Errorf("the track of the device whose fold panicked is %+v", e)
	}
	again, _, _ := l.Take()
	if r, err = p.Do(t.Context(), again, l, nil); err != nil || len(r.Failed) != 1 || len(l.Queue) != 0 {
		t.Fatalf("alone: %+v, %v, then %+v", r, err, l.Queue)
	}
	held, err := schema.TrackOf(f.Track(t, w.Devices[1]))
	if err != nil || !held.Failing() || held.Attempts != 2 || !strings.Contains(held.Reason, "as asked") ||
		strings.Contains(held.Reason, "\n") {
		t.Fatalf("%+v, %v", held, err)
	}
	if wait := time.Until(held.HeldUntil.Time()); wait < 50*time.Second || wait > 70*time.Second {
		t.Errorf("it is held for %v", wait)
	}
	bad.on = false
	if r, err = p.Do(t.Context(), f.Message(), l, nil); err != nil || r.Devices != 2 {
		t.Errorf("a held device is looked at: %+v, %v", r, err)
	}
	released, err := p.Release(t.Context(), w.Place(w.Devices[1]))
	if err != nil || !released {
		t.Fatalf("released %v, %v", released, err)
	}
	if r, err = p.Do(t.Context(), f.Message(), l, nil); err != nil || r.Devices != 3 || r.Rows != 20 {
		t.Errorf("after its release: %+v, %v", r, err)
	}
	if row, err := schema.TrackOf(f.Track(t, w.Devices[1])); err != nil || row.Failing() {
		t.Errorf("its failures are not over: %v", err)
	}
}

// A switchable processor panics at one device while it is on.
type switchable struct {
	device schema.DeviceID
	on     bool
}

func (f *switchable) Fold(d schema.Member, _ []byte, _ []fold.Sample) (fold.Result, error) {
	if f.on && d.Device == f.device {
		panic("as asked")
	}
	return fold.Result{State: []byte{1}}, nil
}

// greedy makes outputs or states that storage does not accept.
type greedy struct {
	device schema.DeviceID
	state  int
	output bool
}

func (f greedy) Fold(d schema.Member, _ []byte, samples []fold.Sample) (fold.Result, error) {
	out := fold.Result{State: []byte{1}}
	if d.Device != f.device {
		return out, nil
	}
	out.State = append(out.State, make([]byte, f.state)...)
	if f.output {
		e := fold.Effect{Output: fold.Output{Table: "rollups", PartitionKey: "t0!greedy", RowKey: string(d.Device)}}
		for i := range 3 {
			e.Properties = append(e.Properties, tables.Property{Name: fmt.Sprint("p-", i), Value: tables.Int64(1)})
		}
		out.Effects = []fold.Effect{e}
	}
	return out, nil
}

func TestOutputsThatStorageRefusesFailTheirDeviceAlone(t *testing.T) {
	for name, fold := range map[string]greedy{"state": {state: 2 << 20}, "output": {output: true}} {
		w := jobstest.NewWorld(t, 3, 20)
		f := w.NewFleet(t)
		p := f.Pipeline(t, nil)
		fold.device = w.Devices[1]
		p.Processors = append(p.Processors, custom("greedy", fold))
		r, err := p.Run(t.Context(), f.Batch)
		if err != nil || r.Folded != 2 || r.Rows != 40 || len(r.Failed) != 1 || r.Failed[w.Place(w.Devices[1])] == nil {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
	}
}

// cutCable is a transport that cannot read the readings of one device.
func cutCable(device string) faults.Func {
	return func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.RawQuery, device) && strings.Contains(r.URL.Path,
			"readings") {
			return nil, errors.New("the cable is cut")
		}
		return http.DefaultClient.Do(r)
	}
}

func TestDeviceWhoseReadingsCannotBeReadHoldsUpNoOther(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	f := w.NewFleet(t)
	p := f.Pipeline(t, cutCable("d01"))
	l := &jobstest.Line{}
	r, err := p.Do(t.Context(), f.Message(), l, nil)
	if err != nil || r.Folded != 2 || len(r.Failed) != 1 {
		t.Fatalf("the batch: %+v, %v", r, err)
	}
	if len(l.Queue) != 1 || l.Queue[0].First != w.Place(w.Devices[1]) || l.Queue[0].Last != w.Place(w.Devices[1]) {
		t.Fatalf("the device is tried again by %+v", l.Queue)
	}
	if r, err = p.Do(t.Context(), l.Queue[0], &jobstest.Line{}, nil); err != nil || len(r.Failed) != 1 {
		t.Fatalf("alone: %+v, %v", r, err)
	}
	held, err := schema.TrackOf(f.Track(t, w.Devices[1]))
	if err != nil || !held.Failing() || !strings.Contains(held.Reason, "the cable is cut") ||
		held.HeldUntil.Time().Before(time.Now()) {
		t.Errorf("%+v, %v", held, err)
	}
	wantRows(t, f, w.Devices[0], 20)
	wantRows(t, f, w.Devices[2], 20)
}

func TestStorageThatAnswersForNoDeviceIsTheJobsError(t *testing.T) {
	w := jobstest.NewWorld(t, 4, 5)
	f := w.NewFleet(t)
	p := f.Pipeline(t, cutCable("contoso"))
	if _, err := p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil); err == nil {
		t.Error("the batch is done")
	}
	for key := range f.Ends(t) {
		t.Errorf("%s was written", key)
	}
}

func TestBatchThatFailsAsAWholeIsSplit(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	f := w.NewFleet(t)
	m := f.Message()
	m.Attempts = 2
	l := &jobstest.Line{}
	if _, err := f.Pipeline(t, nil).Do(t.Context(), m, l, nil); err != nil || len(l.Queue) != 3 {
		t.Fatalf("it is taken apart into %+v, %v", l.Queue, err)
	}
	for i, one := range l.Queue {
		if one.First != w.Place(w.Devices[i]) || one.Last != w.Place(w.Devices[i]) || one.Attempts != 0 {
			t.Errorf("message %d is %+v", i, one)
		}
	}
}

// TestStrangeRowsConcernNobodyElse puts a malformed row into the fleet, and an unreadable one into the tracking table.
func TestStrangeRowsConcernNobodyElse(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 20)
	f := w.NewFleet(t)
	client := w.Connect(t, nil)
	strange := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: "t0!contoso:d01 (copy)"}
	strange.Set("Tenant", tables.Int64(7))
	must.Have(client.Table(f.Names.Fleet()).Do(t.Context(), tables.Insert(strange)))(t)
	broken := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(w.Place(w.Devices[1]).Key)}
	broken.Set("Ledger", tables.Binary([]byte("no ledger")))
	broken.Set("LastReadRowKey", tables.String(w.Rows[1][0].RowKey))
	must.Have(client.Table(f.Names.Partitions("live")).Do(t.Context(), tables.Insert(broken)))(t)
	p := f.Pipeline(t, nil)
	r, err := p.Do(t.Context(), f.Message(), &jobstest.Line{}, nil)
	if err != nil || r.Folded != 2 || r.Failed[w.Place(w.Devices[1])] == nil ||
		r.Strange["2026-11/t0!contoso:d01 (copy)"] == nil {
		t.Fatalf("the batch: %+v, %v", r, err)
	}
	row := f.Track(t, w.Devices[1])
	if held, err := schema.TrackOf(row); err != nil || !held.Failing() || !strings.Contains(held.Reason, "tracking row") {
		t.Errorf("%+v, %v", held, err)
	}
	if !strings.HasPrefix(row.Get("LastReadRowKey").Text(), w.Rows[1][0].RowKey) {
		t.Error("the checkpoint of the broken row has moved")
	}
	if r, err = p.Do(t.Context(), f.Audit(refold.Full), jobstest.NoPut{}, nil); err != nil || r.Devices != 3 {
		t.Errorf("the audit: %+v, %v", r, err)
	}
}

// watcher calls see with each request and its body before it is sent.
func watcher(see func(r *http.Request, body string) error) faults.Func {
	return func(r *http.Request) (*http.Response, error) {
		if r.Body != nil {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			if err := see(r, string(body)); err != nil {
				return nil, err
			}
		}
		return http.DefaultClient.Do(r)
	}
}

// wantRows ends the test where a device has other rows than n, or is to be folded again.
func wantRows(t *testing.T, f *jobstest.Fleet, d schema.DeviceID, n int64) {
	t.Helper()
	e := f.Track(t, d)
	if got, cursor, chain := e.Get("Rows").Int(), e.Get("Refold").Text(), e.Get("ChainMark").Text(); got != n ||
		cursor != "" || chain != "" {
		t.Fatalf("%s: %d rows are folded of %d, with the cursor %q and the chain %q", d, got, n, cursor, chain)
	}
}

func TestJobOfAnotherPipelineIsNotDone(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 1)
	f := w.NewFleet(t)
	m := f.Message()
	m.Pipeline = "other"
	if _, err := f.Pipeline(t, nil).Do(t.Context(), m, &jobstest.Line{}, nil); !errors.Is(err, jobs.ErrUnreadable) {
		t.Errorf("%v", err)
	}
}

// stray writes to a table that its processor does not declare.
type stray struct{}

func (stray) Fold(d schema.Member, _ []byte, _ []fold.Sample) (fold.Result, error) {
	o := fold.Output{Table: "nowhere", PartitionKey: "t0!stray", RowKey: string(d.Device)}
	return fold.Result{State: []byte{1}, Effects: []fold.Effect{{Output: o,
		Properties: []tables.Property{{Name: "x", Value: tables.Int32(1)}}}}}, nil
}

func TestAnOutputOfAnUndeclaredTableFailsItsDevice(t *testing.T) {
	w := jobstest.NewWorld(t, 1, 10)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	p.Processors = append(p.Processors, custom("stray", stray{}))
	r, err := p.Run(t.Context(), f.Batch)
	if err != nil || len(r.Failed) != 1 {
		t.Errorf("the device has not failed: %+v, %v", r, err)
	}
	q := tables.Query{Range: tables.Partition("t0!stray")}
	if rows := jobstest.Rows(t, w.Connect(t, nil).Table(f.Names.Output("rollups")), q); len(rows) > 0 {
		t.Error("the output went to rollups")
	}
}

// custom returns a processor for a test.
func custom(name string, f fold.Fold) fold.Configured {
	return fold.Configured{Processor: &fold.Processor{Name: name, Tables: []string{"rollups"}}, Fold: f}
}

// TestADeviceThatCrashesItsWorkersIsHeldAndItsBatchContinues has each worker crash at the fold of one device, as
// counted by the queue.
func TestADeviceThatCrashesItsWorkersIsHeldAndItsBatchContinues(t *testing.T) {
	for _, kind := range []jobs.Kind{jobs.Device, jobs.Audit} {
		w := jobstest.NewWorld(t, 5, 20)
		f := w.NewFleet(t)
		p := f.Pipeline(t, nil)
		first := f.Message()
		if kind == jobs.Audit {
			first.Kind, first.Audit = jobs.Audit, refold.Full
		}
		bad := w.Place(w.Devices[2])
		deaths := 0
		// do repeats a job until it returns. A job with the bad device does not.
		do := func(m jobs.Message) []jobs.Message {
			t.Helper()
			for m.Deaths = 0; ; m.Deaths++ {
				if m.Deaths <= 3 && m.First.Compare(bad) <= 0 && bad.Compare(m.Last) <= 0 {
					deaths++
					continue
				}
				l := &jobstest.Line{}
				must.Have(p.Do(t.Context(), m, l, func(context.Context, jobs.Message) error { return nil }))(t)
				return l.Queue
			}
		}
		queue := []jobs.Message{first}
		alone := 0
		for len(queue) > 0 {
			m := queue[0]
			queue = append(queue[1:], do(m)...)
			if m.First == m.Last {
				alone++
			}
		}
		if deaths != 8 || alone != 5 {
			t.Errorf("%s: %d workers have died, and %d devices were alone; want 8 and 5", kind, deaths, alone)
		}
		for _, d := range w.Devices {
			row, err := w.Connect(t, nil).Table(f.Names.Partitions("live")).Get(t.Context(), jobstest.Month.String(),
				string(w.Place(d).Key))
			if w.Place(d) != bad && kind == jobs.Audit {
				continue
			}
			must.Succeed(t, err)
			held := must.Have(schema.TrackOf(row))(t)
			switch {
			case held.Failing() != (w.Place(d) == bad):
				t.Errorf("%s: device %s is held: %v", kind, d, held.Failing())
			case held.Failing() && (!strings.Contains(held.Reason, "has crashed 4 workers") ||
				held.HeldUntil < tables.TicksOf(time.Now())):
				t.Errorf("%s: it is held until %v: %s", kind, held.HeldUntil.Time(), held.Reason)
			case !held.Failing() && held.Rows != 20:
				t.Errorf("%s: device %s has %d rows", kind, d, held.Rows)
			}
		}
	}
}

// TestAnOvertakenJobLeavesNothingToTheNextRun has somebody write the tracking row of a device between the job's read
// and its claim without folding anything, as the audit of the same run does.
func TestAnOvertakenJobLeavesNothingToTheNextRun(t *testing.T) {
	w := jobstest.NewWorld(t, 3, 40)
	want, f := calm(t, w), w.NewFleet(t)
	f.FirstHalf(t)
	partitions, touched := w.Connect(t, nil).Table(f.Names.Partitions("live")), 0
	p := f.Pipeline(t, watcher(func(r *http.Request, body string) error {
		if r.Method != http.MethodPost || !strings.Contains(body, partitions.Name) || touched > 0 {
			return nil
		}
		touched++
		track := f.Track(t, w.Devices[1])
		row := tables.Entity{PartitionKey: track.PartitionKey, RowKey: track.RowKey}
		_, err := partitions.Do(context.WithoutCancel(r.Context()), tables.Merge(row, tables.AnyETag))
		return err
	}))
	var line jobstest.Line
	if r := jobstest.Do(t, p, f.Message(), &line); r.Overtaken != 1 || r.Folded != 2 {
		t.Fatalf("%+v", r)
	}
	if len(line.Delays) != 1 || line.Delays[0] <= 0 || line.Delays[0] > 5*time.Second {
		t.Errorf("the messages %+v follow after %v", line.Queue, line.Delays)
	}
	if line.Work(t, p); !maps.Equal(f.Ends(t), want) {
		t.Error("the device waits for the next run")
	}
}
