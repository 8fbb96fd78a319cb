package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// filing returns the fleet's pipeline with an archive of Parquet files, whose tables and objects share one transport.
func filing(t *testing.T, f *jobstest.Fleet, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	return filingOf(t, f, through, &archive.Config{Format: archive.Parquet, CloseAfter: time.Second})
}

// hourlyFiling is one with hourly files, and with rollups beside those of days.
func hourlyFiling(t *testing.T, f *jobstest.Fleet, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	return filingOf(t, f, through, &archive.Config{Format: archive.Parquet, CloseAfter: time.Second,
		Every: archive.Hourly, Rollups: []schema.Window{schema.Hour}})
}

func filingOf(t *testing.T, f *jobstest.Fleet, through policy.Transporter, c *archive.Config) *jobs.Pipeline {
	t.Helper()
	p := archiver(t, f, through, time.Second)
	p.Processors = []fold.Configured{jobstest.With(t, archive.Processor, c)}
	days := c.Days(p.Source(), p.Objects.(*archive.Store))
	days.FileBytes, days.Replace, days.Settle = 40*60, -1, time.Second
	p.Groups = map[schema.MarkKind]groups.Grouping{schema.ArchiveMark: days}
	return p
}

// file does the jobs of a month, and those that follow.
func file(ctx context.Context, p *jobs.Pipeline) (last error) {
	month := jobs.Message{Kind: jobs.Month, Pipeline: p.Name, Run: tables.TicksOf(time.Now()), Month: jobstest.Month}
	l := &jobstest.Line{Queue: []jobs.Message{month}, Delays: []time.Duration{0}}
	for {
		m, _, ok := l.Take()
		if !ok || ctx.Err() != nil {
			return errors.Join(last, ctx.Err())
		}
		r, err := p.Do(ctx, m, l, func(context.Context, jobs.Message) error { return nil })
		for _, why := range r.Strange {
			err = why
		}
		for d := range r.Failed {
			_, err = p.Release(ctx, d)
		}
		last = errors.Join(last, err)
	}
}

// filed returns the folder of every reading in Parquet files, by device and row key, and fails if one is there twice.
func filed(t *testing.T, f *jobstest.Fleet) map[string]string {
	t.Helper()
	found := map[string]string{}
	for name, content := range objects(t, f.World.Account, f.Names.Archive()) {
		if !strings.HasSuffix(name, ".parquet") || strings.HasPrefix(name, "rollups/") {
			continue
		}
		r := must.Have(columnar.Open(bytes.NewReader(content), int64(len(content))))(t)
		for {
			one, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			must.Succeed(t, err)
			id := one.Device + "/" + one.Key
			if found[id] != "" {
				t.Errorf("%s is in %s, too", id, found[id])
			}
			found[id] = name[:strings.LastIndex(name, "/")]
		}
	}
	return found
}

// closedReadings returns what Parquet files should have of the readings in storage, with those of closed hours.
func closedReadings(t *testing.T, f *jobstest.Fleet, hourly bool) map[string]string {
	t.Helper()
	now, want := tables.TicksOf(time.Now()), map[string]string{}
	today, thisHour := schema.DayOf(now), schema.Hour.Start(now)
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Readings), tables.Query{}) {
		r, err := schema.ReadingOf(e)
		if day := schema.DayOf(r.Key.Ticks); err == nil && day < today {
			want[e.PartitionKey+"/"+e.RowKey] = fmt.Sprintf("tenant=%s/date=%s", f.World.Member(r.Device, "").Tenant, day)
		} else if err == nil && hourly && r.Key.Ticks < thisHour {
			want[e.PartitionKey+"/"+e.RowKey] = fmt.Sprintf("hours/tenant=%s/date=%s/hour=%02d",
				f.World.Member(r.Device, "").Tenant, day, r.Key.Ticks.Time().Hour())
		}
	}
	return want
}

// TestFilesHaveEachReadingOfClosedDaysOnce however late it comes, with faults and kills, and with two group jobs at a
// time.
func TestFilesHaveEachReadingOfClosedDaysOnce(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	filesHaveEachReadingOnce(t, 7*24*time.Hour, false)
}

// TestHourlyFilesHaveEachReadingOnce of the hours of today that are over, and files of days those of all others.
func TestHourlyFilesHaveEachReadingOnce(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	filesHaveEachReadingOnce(t, 20*time.Hour, true)
}

func filesHaveEachReadingOnce(t *testing.T, since time.Duration, hourly bool) {
	seed := rand.Uint64()
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	w := jobstest.NewWorldSince(t, since, 5, 70)
	readings := "filed"
	// A row comes in its round: in order of time, or a minute, an hour or five days after others of its device.
	rounds := 4
	if testing.Short() {
		rounds = 2
	}
	roundOf := map[string]int{}
	for _, rows := range w.Rows {
		for n, e := range rows {
			at := 1 + n*(rounds-1)/len(rows)
			if r.IntN(4) == 0 {
				late := []time.Duration{time.Minute, time.Hour, 5 * 24 * time.Hour}[r.IntN(3)]
				at = min(rounds, at+1+int(late/(since/time.Duration(rounds))))
			}
			if hourly && r.IntN(2) == 0 { // so that rows of the last hours are late, too
				at = 1 + r.IntN(rounds)
			}
			roundOf[e.PartitionKey+e.RowKey] = at
		}
	}
	w.Create(t, readings)
	f := w.NewFleetOf(t, readings)
	filing := filing
	if hourly {
		filing = hourlyFiling
	}
	calm := filing(t, f, nil)
	must.Succeed(t, calm.Objects.(*archive.Store).Create(t.Context()))
	rates := map[faults.Fault]float64{}
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone, faults.EmptyPage} {
		rates[fault] = 0.015
	}
	for round := 1; round <= rounds; round++ {
		var all []tables.Entity
		for _, e := range slices.Concat(w.Rows...) {
			if roundOf[e.PartitionKey+e.RowKey] == round {
				all = append(all, e)
			}
		}
		jobstest.Insert(t, w.Connect(t, nil).Table(readings), all...)
		two := make(chan error)
		for worker := range 2 {
			through := &faults.Transport{Plan: faults.Random{Seed: seed + uint64(round*2+worker), Rates: rates}}
			p := filing(t, f, through)
			lives := time.Duration(r.IntN(2000)) * time.Millisecond
			go func() {
				ctx, kill := context.WithTimeout(t.Context(), lives)
				defer kill()
				_ = file(ctx, p)
				if ctx.Err() == nil {
					_, _ = p.Do(ctx, f.Audit(refold.Full), jobstest.NoPut{}, nil)
				}
				two <- nil
			}()
		}
		<-two
		<-two
		for _, d := range w.Devices { // faults may have it held
			must.Have(calm.Release(t.Context(), w.Place(d)))(t)
		}
		must.Succeed(t, f.Settle(t.Context(), calm))
		today := schema.DayOf(tables.TicksOf(time.Now()))
		for _, part := range archiveMarks(t, f) {
			if part.Hour > 0 && part.Day < today {
				t.Errorf("there is a mark of %s, an hour of a day that is over", part.Name())
			}
		}
		var got, want map[string]string
		for began := (time.Time{}); !began.Truncate(time.Hour).Equal(time.Now().Truncate(time.Hour)); {
			began = time.Now()
			for left := []string{""}; len(left) > 0; left = closedMarks(t, f) { // a file that was just made is too young
				must.Succeed(t, file(t.Context(), calm))
			}
			got, want = filed(t, f), closedReadings(t, f, hourly)
		}
		if !maps.Equal(got, want) {
			t.Fatalf("round %d, seed %d: %s", round, seed, jobstest.Differ(got, want))
		}
	}
}

// closedMarks returns the marks of days and hours that are over.
func closedMarks(t *testing.T, f *jobstest.Fleet) (left []string) {
	t.Helper()
	now := tables.TicksOf(time.Now())
	today, thisHour := schema.DayOf(now), now.Time().Hour()
	for _, part := range archiveMarks(t, f) {
		if part.Day < today || part.Hour > 0 && part.Hour <= thisHour {
			left = append(left, part.Name())
		}
	}
	return left
}

// archiveMarks returns what the marks of the archive are about.
func archiveMarks(t *testing.T, f *jobstest.Fleet) (all []schema.ArchivePart) {
	t.Helper()
	marks := tables.Query{Range: schema.Marks(jobstest.Month, schema.ArchiveMark)}
	for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Partitions("live")), marks) {
		all = append(all, must.Have(must.Have(schema.MarkOf(e))(t).Archive())(t))
	}
	return all
}
