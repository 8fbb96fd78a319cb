package jobs_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// filing returns the fleet's pipeline with the archive alone, whose tables and files share one transport.
func filing(t testing.TB, f *jobstest.Fleet, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	return filingOf(t, f, through, &archive.Config{CloseAfter: time.Second})
}

// hourlyFiling is one with files of hours, and with rollups beside those of days.
func hourlyFiling(t testing.TB, f *jobstest.Fleet, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	return filingOf(t, f, through, &archive.Config{CloseAfter: time.Second, Every: archive.Hourly,
		Rollups: []schema.Window{schema.Hour}})
}

func filingOf(t testing.TB, f *jobstest.Fleet, through policy.Transporter, c *archive.Config) *jobs.Pipeline {
	t.Helper()
	store := must.Have(archive.Connect(archive.StoreConfig{Account: f.World.Account, Container: f.Names.Archive(),
		Transport: azuretest.Transport(through), Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	p := f.Pipeline(t, through)
	p.Processors = []fold.Configured{jobstest.With(t, archive.Processor, c)}
	made := c.Grouping(p.Source(), store)
	made.FileBytes, made.Quiet, made.Settle = 40*60, -1, time.Second
	p.Groups = map[schema.MarkKind]groups.Grouping{schema.ArchiveMark: made}
	return p
}

// tablesOf returns what makes the tables of a pipeline with an archive.
func tablesOf(p *jobs.Pipeline) *archive.Tables {
	return p.Groups[schema.ArchiveMark].(*archive.Tables)
}

// newArchive makes the container of a pipeline's archive.
func newArchive(t testing.TB, p *jobs.Pipeline) {
	t.Helper()
	must.Succeed(t, tablesOf(p).Store.Create(t.Context()))
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
	newArchive(t, calm)
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
		nothingWrong(t, calm, fmt.Sprintf("round %d, seed %d", round, seed))
	}
}

// TestChangedSettingsMakeDaysAgainThatHaveMarks: everything that there is gets a mark, and some of it has one.
func TestChangedSettingsMakeDaysAgainThatHaveMarks(t *testing.T) {
	t.Parallel()
	effort.Alone(t)
	f := jobstest.NewWorldSince(t, 4*days, 2, 40).NewFleet(t)
	p := filing(t, f, nil)
	newArchive(t, p)
	must.Succeed(t, f.Drain(t.Context(), p))
	must.Succeed(t, file(t.Context(), p))
	m := schema.Mark{Month: jobstest.Month, Kind: schema.ArchiveMark, Tenant: "t0", Name: dayAgo(1).String()}
	must.Have(p.Source().Tracking().Do(t.Context(), tables.InsertOrReplace(m.Entity())))(t)
	with := filingOf(t, f, nil, &archive.Config{CloseAfter: time.Second, Rollups: []schema.Window{schema.Hour}})
	must.Succeed(t, file(t.Context(), with))
	if left := closedMarks(t, f); len(left) > 0 {
		t.Errorf("left are the marks %v", left)
	}
	jobstest.SameEnds(t, filed(t, f), closedReadings(t, f, false))
	nothingWrong(t, with, "with rollups")
}
