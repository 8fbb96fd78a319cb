package jobs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/report"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// A reportQueue has the messages of reports. It fails now and then, whether or not it has taken the message.
type reportQueue struct {
	mu       sync.Mutex
	messages []string
	puts     int
}

func (q *reportQueue) put(_ context.Context, queue, text string) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.puts++
	if queue != "reports" || q.puts%13 == 0 {
		return errors.New("the queue is busy")
	}
	q.messages = append(q.messages, text)
	if q.puts%17 == 0 {
		return errors.New("the answer of the queue is lost")
	}
	return nil
}

type reportEvent struct {
	ID   string
	Data struct {
		Tenant, By, Group, Window, Part string
		Time                            time.Time
		Revision                        int64
		Sensors                         map[string]struct {
			Count, Devices             int64
			Sum, Min, Max, First, Last float64
		}
	}
}

// checkQueue compares the newest revisions in the queue with the readings. Messages with the same ID must be the same.
func (f *reported) checkQueue(about ...any) {
	f.t.Helper()
	byID, newest := map[string]string{}, map[string]reportEvent{}
	for _, text := range f.queue.messages {
		var e reportEvent
		must.Succeed(f.t, json.Unmarshal([]byte(text), &e))
		if was, again := byID[e.ID]; again && was != text {
			f.t.Fatalf("%sthe message %s was\n%s\nand is\n%s", fmt.Sprint(about...), e.ID, was, text)
		}
		byID[e.ID] = text
		d := e.Data
		key := fmt.Sprint(d.Tenant, d.Window, d.By, d.Group, tables.TicksOf(d.Time))
		if was := newest[key]; was.Data.Revision == d.Revision && was.ID != e.ID {
			f.t.Fatalf("%s%s and %s are of the same revision", fmt.Sprint(about...), was.ID, e.ID)
		} else if d.Revision > was.Data.Revision {
			newest[key] = e
		}
	}
	found := 0
	for key, e := range newest {
		found += len(e.Data.Sensors)
		for name, g := range e.Data.Sensors {
			w := f.counted()[key+name]
			if g.Count != w.Count || g.Devices != w.Devices || g.Min != w.Min || g.Max != w.Max || g.First != w.First ||
				g.Last != w.Last || math.Abs(g.Sum-w.Sum) > 1e-9*math.Abs(w.Sum) {
				f.t.Fatalf("%s%s: the queue has %+v, want %+v", fmt.Sprint(about...), e.ID, g, w)
			}
		}
	}
	if want := len(f.counted()); found != want {
		f.t.Fatalf("%sthe queue has %d reports of sensors, want %d", fmt.Sprint(about...), found, want)
	}
}

// queuedReports begins trials as unhappyReports does, with a queue.
func queuedReports(t *testing.T, seed uint64) func() trial {
	w := jobstest.NewWorldSince(t, 2*time.Hour, 2, 10)
	return func() trial {
		f := newReported(t, w, seed)
		f.queue = &reportQueue{}
		f.arrive(3)
		must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
		f.arrive(4)
		return trial{f.pipeline, f.run, func(about ...any) {
			t.Helper()
			f.end()
			f.check(append(about, ": ")...)
			f.checkQueue(append(about, ": ")...)
		}}
	}
}

func TestClosedReportsAreQueuedOnceByIDWhereverAWorkerDies(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyStop(t, queuedReports(t, 3), func(n int, done, dies bool) bool { return dies && n%3 == 2*number(done) })
}

func TestClosedReportsAreQueuedOnceByIDWithAnyFault(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	everyFault(t, queuedReports(t, 4), true, faults.AnswerLost, faults.Twice)
}

// TestOpenReportsAreNotQueued also waits for the time after the end of a bucket, and then for a late row.
func TestOpenReportsAreNotQueued(t *testing.T) {
	w := jobstest.NewWorldSince(t, 2*time.Hour, 2, 10)
	f := newReported(t, w, 1)
	f.queue = &reportQueue{}
	work := func(at time.Time) (messages int) {
		t.Helper()
		f.clock.set(at)
		for range 4 {
			must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
			_ = f.group(t.Context(), f.pipeline(nil)) // the queue fails now and then
		}
		return len(f.queue.messages)
	}
	hour := schema.Hour.Start(tables.TicksOf(f.at(1))).Time()
	send := func(at time.Time) {
		e := tables.Entity{PartitionKey: string(w.Devices[0]), RowKey: tables.TicksOf(at).String()}
		e.Set("oil", tables.Double(1))
		jobstest.Insert(t, w.Connect(t, nil).Table(f.Readings), e)
	}
	send(hour.Add(time.Minute))
	if n := work(hour.Add(59 * time.Minute)); n != 0 {
		t.Errorf("%d messages about open buckets", n)
	}
	if n := work(hour.Add(64 * time.Minute)); n != 0 {
		t.Errorf("%d messages before all devices can be in a closed bucket", n)
	}
	first := work(hour.Add(66 * time.Minute))
	if first == 0 || work(hour.Add(70*time.Minute)) != first {
		t.Errorf("%d messages about the closed bucket, and then %d", first, len(f.queue.messages))
	}
	send(hour.Add(2 * time.Minute))
	must.Succeed(t, f.run(t.Context(), f.pipeline(nil)))
	var last reportEvent
	must.Succeed(t, json.Unmarshal([]byte(f.queue.messages[len(f.queue.messages)-1]), &last))
	if last.Data.Revision != 2 || last.Data.Sensors["oil"].Count != 2 {
		t.Errorf("after a late row, the last message is %+v", last)
	}
}

// A dyingPut is the transport of a worker that is killed when it puts its nth message, before or after storage has it.
type dyingPut struct {
	at   int
	done bool
	kill context.CancelFunc
}

func (d *dyingPut) Do(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/messages") {
		return http.DefaultClient.Do(r)
	}
	if d.at--; d.at != 0 {
		return http.DefaultClient.Do(r)
	}
	defer d.kill()
	if d.done {
		if answer, err := http.DefaultClient.Do(r); err == nil {
			answer.Body.Close()
		}
	}
	return nil, context.Canceled
}

// TestReportsReachAStorageQueueOnceByID kills workers while they put reports of closed buckets into a queue of the
// account.
func TestReportsReachAStorageQueueOnceByID(t *testing.T) {
	t.Parallel()
	in := azuretest.FromEnv(t)
	f := newReported(t, jobstest.NewWorldIn(t, in, 2*time.Hour, 2, 10), 5)
	name := azuretest.Name("reports")
	queue := in.Queues(t).NewQueueClient(name)
	pipeline := func(through policy.Transporter) *jobs.Pipeline {
		client := must.Have(worker.Connect(worker.Config{Account: f.World.Account, Transport: through,
			Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
		p := f.pipeline(nil)
		reports := p.Groups[schema.ReportMark].(*report.Reports)
		reports.Queue, reports.Enqueue = name, client.PutText
		return p
	}
	f.arrive(3)
	must.Succeed(t, f.run(t.Context(), pipeline(nil)))
	t.Cleanup(func() { must.Have(queue.Delete(context.WithoutCancel(t.Context()), nil))(t) })
	f.arrive(4)
	f.clock.set(reportedSince.AddDate(0, 0, 3)) // all buckets have closed
	for _, death := range []dyingPut{{at: 1, done: true}, {at: 1}, {at: 3, done: true}, {at: 2}} {
		ctx, kill := context.WithCancel(t.Context())
		death.kill = kill
		if err := f.run(ctx, pipeline(&death)); !errors.Is(err, context.Canceled) {
			t.Fatalf("the worker was not killed at its put: %v", err)
		}
		kill()
	}
	must.Succeed(t, f.run(t.Context(), pipeline(nil)))
	f.queue = &reportQueue{}
	for {
		got := must.Have(queue.DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{
			NumberOfMessages: to.Ptr[int32](32), VisibilityTimeout: to.Ptr[int32](3600)}))(t)
		if len(got.Messages) == 0 {
			break
		}
		for _, m := range got.Messages {
			f.queue.messages = append(f.queue.messages, *m.MessageText)
		}
	}
	f.check()
	f.checkQueue()
}
