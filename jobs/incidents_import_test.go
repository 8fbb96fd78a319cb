package jobs_test

import (
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// An importer writes history of some devices of a watched fleet: readings that would open and close incidents.
type importer struct {
	*watched
	random *rand.Rand
	notes  map[schema.DeviceID]schema.Imports
}

// imports writes readings of hours, days or weeks before the fleet begins, perhaps again what an import before wrote,
// and notes that as an import does: before the rows, and when they are written. Rows of the last hour before a run
// would not be about the past.
func (i *importer) imports() {
	i.t.Helper()
	client := i.World.Connect(i.t, nil)
	for _, d := range i.World.Devices {
		if i.random.IntN(3) == 0 {
			continue
		}
		from := watchedSince.Add(-time.Duration(3+i.random.IntN(40*24)) * time.Hour)
		var rows []tables.Entity
		for k := range 1 + i.random.IntN(12) {
			at := from.Add(time.Duration(k*7) * time.Minute)
			e := tables.Entity{PartitionKey: string(d), RowKey: tables.TicksOf(at).String()}
			e.Set("oil", tables.Double(float64(150+i.random.IntN(100))))
			e.Set("action", tables.String([...]string{"opened", "closed"}[i.random.IntN(2)]))
			rows = append(rows, e)
		}
		note := schema.Import{ID: tables.TicksOf(i.now()) + tables.Ticks(len(i.notes[d])), From: tables.TicksOf(from),
			To: tables.TicksOf(from.Add(2 * time.Hour)), Until: tables.TicksOf(i.now().Add(schema.ImportLease))}
		i.note(client, d, note)
		for _, e := range rows {
			must.Have(client.Table(i.Readings).Do(i.t.Context(), tables.InsertOrReplace(e)))(i.t)
		}
		if i.random.IntN(4) > 0 { // otherwise it was killed, and its note ends by itself
			note.Until = 0
			i.note(client, d, note)
		}
	}
}

func (i *importer) note(client *tables.Client, d schema.DeviceID, note schema.Import) {
	i.t.Helper()
	i.notes[d] = i.notes[d].With(note, tables.TicksOf(i.now()))
	e := tables.Entity{PartitionKey: jobstest.Month.String(), RowKey: string(i.World.Place(d).Key)}
	must.Succeed(i.t, i.notes[d].Set(&e))
	must.Have(client.Table(i.Names.Fleet()).Do(i.t.Context(), tables.Merge(e, tables.AnyETag)))(i.t)
}

// TestEqualIncidentsWithImports imports history at random times, also before the first reading of a device, while two
// workers have random faults. It opens, closes and changes nothing.
func TestEqualIncidentsWithImports(t *testing.T) {
	t.Parallel()
	w := newWatchedWorld(t)
	want := calmIncidents(t, w)
	eachSeed(t, func(t *testing.T, seed uint64) {
		f := newWatched(t, w)
		i := &importer{f, rand.New(rand.NewPCG(seed, 5)), map[schema.DeviceID]schema.Imports{}}
		f.clock.set(round(0))
		i.imports()
		must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		f.play(func(n int) {
			if i.random.IntN(2) == 0 {
				i.imports()
			}
			done := make(chan error)
			for worker := range uint64(2) {
				p := f.pipeline(&faults.Transport{Plan: faults.Random{Seed: 37*seed + 2*uint64(n) + worker, Rates: someFaults()},
					Delay: 20 * time.Millisecond})
				go func() { done <- f.Drain(t.Context(), p) }()
			}
			for range 2 {
				must.Succeed(t, <-done)
			}
			must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil)))
		})
		jobstest.SameEnds(t, f.ended(), want)
	})
}

// TestImportWhileAJobReadsOpensNothing has the import begin when a job has read the membership, and not yet the rows.
func TestImportWhileAJobReadsOpensNothing(t *testing.T) {
	t.Parallel()
	w := newWatchedWorld(t)
	want := calmIncidents(t, w)
	f := newWatched(t, w)
	i := &importer{f, rand.New(rand.NewPCG(7, 5)), map[schema.DeviceID]schema.Imports{}}
	f.clock.set(round(0))
	var once sync.Once
	must.Succeed(t, f.Drain(t.Context(), f.pipeline(faults.Func(func(r *http.Request) (*http.Response, error) {
		if r.Method == http.MethodGet && strings.Contains(r.URL.Path, f.Readings) {
			once.Do(i.imports)
		}
		return http.DefaultClient.Do(r)
	}))))
	f.play(func(int) { must.Succeed(t, f.Drain(t.Context(), f.pipeline(nil))) })
	jobstest.SameEnds(t, f.ended(), want)
}
