package archive_test

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// fewFiles is a fleet whose first tenant has two files a day, and their maker.
func fewFiles(t testing.TB) (*jobstest.Fleet, *archive.Days, archive.Folder) {
	t.Helper()
	w := jobstest.NewWorldSince(t, 2*24*time.Hour, 6, 30) // some of yesterday, at any time of the day
	f := w.NewFleet(t)
	must.Succeed(t, f.Drain(t.Context(), f.Pipeline(t, nil)))
	yesterday := schema.DayOf(tables.TicksOf(time.Now())) - 1
	d := daysOf(t, f, nil)
	must.Succeed(t, d.Store.Create(t.Context()))
	return f, d, archive.Folder{Tenant: "t0", Day: yesterday, Month: jobstest.Month}
}

func small(d *archive.Days) *archive.Days {
	d.FileBytes = 40 * 3 // a device a file: soon after midnight, only two rows of each are of yesterday
	return d
}

// elsewhere returns the maker with another container.
func elsewhere(t testing.TB, f *jobstest.Fleet, through policy.Transporter) *archive.Days {
	t.Helper()
	f.Names = must.Have(schema.ParseNames(fmt.Sprintf("a%016x", rand.Uint64())))(t)
	must.Succeed(t, daysOf(t, f, nil).Store.Create(t.Context()))
	return small(daysOf(t, f, through))
}

// TestKilledMakersLeaveWholeFiles at every operation, of a day with and without rollups and reports, and of an hour:
// what is there is right, a manifest describes what is there, and another maker does the rest.
func TestKilledMakersLeaveWholeFiles(t *testing.T) {
	t.Parallel()
	f, _, day := fewFiles(t)
	hour := hoursOf(day)[9]
	for ; len(inFolder(t, f, hour)) == 0; hour.Hour++ { // rows are more than an hour apart
	}
	for what, of := range map[string]struct {
		archive.Folder
		archive.Summed
	}{"a day": {Folder: day}, "a day with rollups": {day, sums}, "an hour": {Folder: hour}} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			sending := [][]bool{{false}, {true}}
			if of.Folder == day && len(of.Rollups) == 0 {
				sending = [][]bool{{false, true}}
			}
			killedMakers(t, *f, of.Folder, of.Summed, inFolder(t, f, of.Folder), sending)
		})
	}
}

// sums are files besides readings.
var sums = archive.Summed{Rollups: []schema.Window{schema.Hour, schema.Daily}, Reports: []schema.Window{schema.Hour},
	By: []schema.By{schema.ByTenant}}

// inFolder returns the readings in storage that a folder should have.
func inFolder(t testing.TB, f *jobstest.Fleet, folder archive.Folder) map[string]string {
	t.Helper()
	if folder.Hour == 0 {
		return of(f, folder, expected(t, f, func(day schema.Day) bool { return day == folder.Day }))
	}
	all := byHour(t, f, folder)
	maps.DeleteFunc(all, func(_, values string) bool {
		return !strings.HasPrefix(values, strings.TrimSuffix(folder.String(), "/")+"[")
	})
	return all
}

// killedMakers kills the makers of a folder at each of their operations, before or after it is sent.
func killedMakers(t *testing.T, f jobstest.Fleet, folder archive.Folder, summed archive.Summed,
	want map[string]string, sending [][]bool) {
	names := f.Names
	maker := func(d *archive.Days) *archive.Days {
		d.Source.Names, d.Summed = names, summed
		return small(d)
	}
	for n := 0; ; n += effort.Step(11) {
		for _, sent := range sending[n%len(sending)] {
			ctx, kill := context.WithCancel(t.Context())
			gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				if sent {
					if r, err := send(); err == nil {
						_ = r.Body.Close()
					}
				}
				kill()
				return nil, context.Canceled
			}}
			d := maker(elsewhere(t, &f, gate))
			_, err := d.MakeDay(ctx, folder, archive.Asked{})
			kill()
			if killed := int(gate.N.Load()) > n; killed != (err != nil) {
				t.Fatalf("operation %d: %v", n, err)
			} else if !killed {
				t.Logf("%d operations", n)
				same(t, archived(t, &f), want)
				return
			}
			for id, values := range archived(t, &f) {
				if values != want[id] {
					t.Fatalf("operation %d, sent %v: %s is %s, want %s", n, sent, id, values, want[id])
				}
			}
			if described(t, &f, d.Store, folder) {
				same(t, archived(t, &f), want, "operation ", n)
			}
			d = maker(daysOf(t, &f, nil))
			m := must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
			same(t, archived(t, &f), want, "after operation ", n)
			if !described(t, &f, d.Store, folder) {
				t.Fatalf("after operation %d there is no manifest", n)
			}
			if wrong := problemsOf(t, d, folder, m); wrong != "" || len(m.Rollups) != len(summed.Rollups)*len(m.Files) {
				t.Fatalf("after operation %d: %d files of rollups, %s", n, len(m.Rollups), wrong)
			}
		}
	}
}

// TestMakersWithAnyFaultEndEqual: two at a time, with random faults, while rows come late.
func TestMakersWithAnyFaultEndEqual(t *testing.T) {
	t.Parallel()
	seed := rand.Uint64()
	t.Log("seed", seed)
	f, d, folder := fewFiles(t)
	small(d)
	must.Have(d.MakeDay(t.Context(), folder, archive.Asked{}))(t)
	rates := map[faults.Fault]float64{}
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.Cut, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone} {
		rates[fault] = 0.02
	}
	var makers sync.WaitGroup
	for n := range 2 {
		through := &faults.Transport{Plan: faults.Random{Seed: seed + uint64(n), Rates: rates}}
		maker := small(daysOf(t, f, through))
		makers.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(n)))
			for row := range 15 {
				device := f.World.Devices[r.IntN(3)]
				late := tables.Entity{PartitionKey: string(device),
					RowKey: folder.Day.Start().Add(time.Duration(r.Int64N(int64(24*time.Hour)))).String() + "-late"}
				late.Set("late", tables.Double(float64(row)))
				_, err := f.World.Connect(t, nil).Table(f.Readings).Do(t.Context(), tables.Insert(late))
				for try := 0; err == nil || try < 200; try++ { // as the next runs do, until the mark is gone
					if _, err = maker.MakeDay(t.Context(), folder, archive.Asked{Devices: []schema.DeviceID{device}}); err == nil {
						break
					}
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	makers.Wait()
	want := expected(t, f, func(day schema.Day) bool { return day == folder.Day })
	for id := range want {
		if id > "contoso:d03" {
			delete(want, id)
		}
	}
	same(t, archived(t, f), want, "seed ", seed)
	if !described(t, f, d.Store, folder) {
		t.Error("there is no manifest")
	}
}
