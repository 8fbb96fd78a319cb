package jobs_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/azuretest"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var month = tables.Month{Year: 2026, Month: 11}

// A world is an account with the readings of a few devices. Any number of fleets
// read them, each with outputs of its own.
type world struct {
	account  tables.Account
	readings string
	devices  []tables.DeviceID
	rows     [][]tables.Entity // of each device, in row order
	fleets   atomic.Int32
}

func newWorld(t *testing.T, devices, rows int) *world {
	t.Helper()
	return newWorldSince(t, 2*time.Hour, devices, rows)
}

// newWorldSince has readings from so long ago until a minute ago, so that hours
// and perhaps days end in between.
func newWorldSince(t *testing.T, since time.Duration, devices, rows int) *world {
	t.Helper()
	account, err := tables.ParseAccount(azuretest.Local(t).ConnectionString())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{account: account, readings: "readings"}
	now := time.Now().UTC()
	for i := range devices {
		d := tables.DeviceID(fmt.Sprintf("contoso:d%02d", i))
		w.devices = append(w.devices, d)
		var own []tables.Entity
		for n := range rows {
			at := tables.TicksOf(now.Add(-since + time.Duration(n)*(since-time.Minute)/time.Duration(rows)))
			if last := rows - 9; n > last { // minute after minute
				at = tables.TicksOf(now.Add(time.Duration(n-rows) * 70 * time.Second))
			}
			e := tables.Entity{PartitionKey: string(d), RowKey: at.String()}
			e.Set("temperature", tables.Double(float64(i)+math.Sin(float64(n))))
			e.Set("humidity", tables.String(fmt.Sprint(40+n%7)))
			switch n % 11 {
			case 3:
				e.RowKey += "x" // the key of no reading
			case 5:
				e.Set("pressure", tables.String("nan"))
			case 7:
				e.Set("door", tables.String(`{"open":true,"by":"me"}`))
			}
			own = append(own, e)
		}
		w.rows = append(w.rows, own)
	}
	w.insert(t, w.readings, func(int) bool { return true })
	return w
}

// insert inserts the rows with the numbers that are wanted into a table.
func (w *world) insert(t *testing.T, readings string, wanted func(n int) bool) {
	t.Helper()
	table := w.connect(t, nil).Table(readings)
	must(t, table.Create(t.Context()))
	for _, rows := range w.rows {
		var ops []tables.Op
		for n, e := range rows {
			if wanted(n) {
				ops = append(ops, tables.Insert(e))
			}
		}
		groups, err := tables.Cut(ops)
		must(t, err)
		for _, g := range groups {
			_, err := table.Submit(t.Context(), g)
			must(t, err)
		}
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// connect gives a client that tries everything once, so that a fault is met by
// the job and not by the SDK.
func (w *world) connect(t *testing.T, through policy.Transporter) *tables.Client {
	t.Helper()
	c, err := tables.Connect(tables.Config{Account: w.account, Transport: through, Retry: policy.RetryOptions{MaxRetries: -1}})
	must(t, err)
	return c
}

// A fleet has every device of the world, and a pipeline with outputs of its own.
type fleet struct {
	world *world
	names tables.Names
	batch jobs.Batch
}

func (w *world) newFleet(t *testing.T) *fleet { return w.newFleetOf(t, w.readings) }

func (w *world) newFleetOf(t *testing.T, readings string) *fleet {
	t.Helper()
	names, err := tables.ParseNames(fmt.Sprintf("f%d", w.fleets.Add(1)))
	must(t, err)
	client := w.connect(t, nil)
	for _, name := range []string{names.Fleet(), names.Partitions("live"), names.Latest(), names.Rollups(), names.Rejects()} {
		must(t, client.Table(name).Create(t.Context()))
	}
	var ops []tables.Op
	for i, d := range w.devices {
		e, err := tables.Member{Month: month, Device: d, Tenant: tables.Tenant(fmt.Sprint("t", i%2)), Readings: readings}.Entity()
		must(t, err)
		ops = append(ops, tables.Insert(e))
	}
	_, err = client.Table(names.Fleet()).Submit(t.Context(), ops)
	must(t, err)
	return &fleet{w, names, jobs.Batch{Month: month, First: w.devices[0], Last: w.devices[len(w.devices)-1]}}
}

// pipeline is the fleet's, as a worker with that transport has it.
func (f *fleet) pipeline(t *testing.T, through policy.Transporter) *jobs.Pipeline {
	t.Helper()
	fold, err := rollup.New(rollup.Config{})
	must(t, err)
	return &jobs.Pipeline{Name: "live", Client: f.world.connect(t, through), Names: f.names,
		Processors: []jobs.Processor{{Name: "latest", Fold: latest.Fold{}}, {Name: "rollup", Fold: fold}}}
}

// firstHalf folds what was read an hour ago, so that there are open buckets.
func (f *fleet) firstHalf(t *testing.T) {
	t.Helper()
	p := f.pipeline(t, nil)
	p.Settle = time.Hour
	if _, err := p.Run(t.Context(), f.batch); err != nil {
		t.Fatal(err)
	}
}

// drain runs the batch until there is nothing left to do.
func (f *fleet) drain(ctx context.Context, p *jobs.Pipeline) error {
	var last error
	for try := range 200 {
		batch := f.batch
		batch.Chain = true
		r, err := p.Run(ctx, batch)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		for _, e := range r.Failed {
			err = e
		}
		if last = err; err == nil && r.Folded == 0 && r.Overtaken == 0 && len(r.Behind) == 0 && r.Rest == "" {
			return nil
		}
		if r.Overtaken > 0 { // in earnest two workers do not repeat the same batch at once
			time.Sleep(time.Duration(rand.IntN(1+min(try, 50))) * time.Millisecond)
		}
	}
	return fmt.Errorf("there is no end: %v", last)
}

// ends are all outputs and checkpoints, but for what tells who wrote them when.
func (f *fleet) ends(t *testing.T) map[string]string {
	t.Helper()
	client, out := f.world.connect(t, nil), map[string]string{}
	for _, name := range []string{f.names.Partitions("live"), f.names.Latest(), f.names.Rollups(), f.names.Rejects()} {
		for page, err := range client.Table(name).Rows(t.Context(), tables.Query{}) {
			must(t, err)
			for _, e := range page.Rows {
				values := map[string]string{}
				for _, p := range e.Properties {
					switch p.Name {
					case "Fence", "Claim", "Committed", "Open", "Chain", jobs.FenceProperty:
						continue
					}
					values[p.Name] = p.Value.String()
					if b := p.Value.Binary(); b != nil {
						values[p.Name] = fmt.Sprintf("%x", b)
					}
				}
				var text strings.Builder
				for _, n := range slices.Sorted(maps.Keys(values)) {
					fmt.Fprintf(&text, " %s=%s", n, values[n])
				}
				out[strings.TrimPrefix(name, f.names.Fleet()[:len(f.names.Fleet())-len("fleet")])+"/"+e.PartitionKey+"/"+e.RowKey] = text.String()
			}
		}
	}
	return out
}

// differ names the first difference between two ends.
func differ(got, want map[string]string) string {
	for _, k := range slices.Sorted(maps.Keys(want)) {
		if got[k] != want[k] {
			return fmt.Sprintf("%s is\n%s\nwant\n%s", k, got[k], want[k])
		}
	}
	for k := range got {
		if _, ok := want[k]; !ok {
			return k + " should not be there"
		}
	}
	return ""
}

// A gate is a transport that stops at one operation.
type gate struct {
	at   int
	stop func(send func() (*http.Response, error)) (*http.Response, error)
	n    atomic.Int32
}

func (g *gate) Do(r *http.Request) (*http.Response, error) {
	send := func() (*http.Response, error) { return http.DefaultClient.Do(r) }
	if int(g.n.Add(1))-1 == g.at {
		return g.stop(send)
	}
	return send()
}
