package jobs_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

var (
	moveSeeds = flag.Int("move-seeds", 3, "number of random histories of moves")
	moveSeed  = flag.Uint64("move-seed", 0, "one history of moves")
)

// movingFleet is a fleet whose devices have records, so that they can move.
type movingFleet struct {
	*jobstest.Fleet
	t      testing.TB
	random *rand.Rand
	hidden []tables.Entity // rows that arrive late
}

func newMovingFleet(t testing.TB, random *rand.Rand) *movingFleet {
	t.Helper()
	w := jobstest.NewWorldSince(t, 3*24*time.Hour, 2, 60)
	w.Rates = random.IntN(2) == 0
	late := w.Readings + "late"
	w.Create(t, late)
	f := &movingFleet{Fleet: w.NewFleetOf(t, late), t: t, random: random}
	var visible []tables.Entity
	for _, rows := range w.Rows {
		for _, e := range rows {
			if random.IntN(6) == 0 {
				f.hidden = append(f.hidden, e)
			} else {
				visible = append(visible, e)
			}
		}
	}
	jobstest.Insert(t, w.Connect(t, nil).Table(late), visible...)
	w.Create(t, f.Names.Devices())
	for _, d := range w.Devices {
		m := w.Member(d, late)
		e := must.Have(schema.Device{ID: d, Month: m.Month, Tenant: m.Tenant, Readings: late,
			Status: schema.Active}.Entity())(t)
		jobstest.Insert(t, w.Connect(t, nil).Table(f.Names.Devices()), e)
	}
	f.Batch.Last = schema.Member{Month: jobstest.Month, Tenant: "t9", Device: w.Devices[1]}.Place()
	return f
}

// registry returns the registry of the fleet through a transport.
func (f *movingFleet) registry(through policy.Transporter) sas.Registry {
	return sas.NewRegistry(f.World.Connect(f.t, through), f.Names)
}

// killed does something that is killed at a random operation, before or after storage has done it.
func (f *movingFleet) killed(most int, do func(context.Context, policy.Transporter)) {
	ctx, kill := context.WithCancel(f.t.Context())
	defer kill()
	sent := f.random.IntN(2) == 0
	do(ctx, &faults.Gate{At: f.random.IntN(most), Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		if sent {
			if answer, err := send(); err == nil {
				_ = answer.Body.Close()
			}
		}
		kill()
		return nil, context.Canceled
	}})
}

// move moves a random device to a random tenant at a random time of its history, if it can be moved then.
func (f *movingFleet) move() {
	i := f.random.IntN(len(f.World.Devices))
	rows := f.World.Rows[i]
	at := tables.TicksBefore(rows[f.random.IntN(len(rows))].RowKey) + tables.Ticks(f.random.IntN(2))
	mv := sas.Move{Device: f.World.Devices[i], To: schema.Tenant(fmt.Sprint("t", f.random.IntN(3))), At: at}
	f.killed(12, func(ctx context.Context, through policy.Transporter) { _, _ = f.registry(through).Move(ctx, mv) })
	if f.random.IntN(3) > 0 {
		_, _ = f.registry(nil).Move(f.t.Context(), mv)
	}
}

// step does something, perhaps killed: a move, a run, an audit, a rewind, or late rows arrive.
func (f *movingFleet) step() {
	switch f.random.IntN(5) {
	case 0, 1:
		f.move()
	case 2:
		n := f.random.IntN(len(f.hidden) + 1)
		jobstest.Insert(f.t, f.World.Connect(f.t, nil).Table(f.Readings), f.hidden[:n]...)
		f.hidden = f.hidden[n:]
	case 3:
		f.killed(60, func(ctx context.Context, through policy.Transporter) {
			p := f.pipeline(through)
			p.Settle = time.Duration(f.random.IntN(70)) * time.Hour
			_ = f.Drain(ctx, p)
		})
	case 4:
		f.killed(60, func(ctx context.Context, through policy.Transporter) {
			_, _ = f.pipeline(through).Do(ctx, f.Audit(refold.Full), jobstest.NoPut{}, nil)
		})
	}
}

// pipeline folds and refolds a few rows at a time.
func (f *movingFleet) pipeline(through policy.Transporter) *jobs.Pipeline {
	p := f.Pipeline(f.t, through)
	p.Portion = 5 + f.random.IntN(60)
	return p
}

// members returns all memberships of the fleet.
func (f *movingFleet) members() (all []schema.Member) {
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(f.Names.Fleet()), tables.Query{}) {
		all = append(all, must.Have(schema.MemberOf(e))(f.t))
	}
	return all
}

// TestMovedReadingsAreInExactlyOneTenant: after any history of moves, late rows, audits and runs, all of them killed at
// any operation, the outputs are those of a new fleet with the same memberships, and each reading counts once, for the
// tenant that had the device.
func TestMovedReadingsAreInExactlyOneTenant(t *testing.T) {
	t.Parallel()
	for range *moveSeeds {
		seed := cmp.Or(*moveSeed, rand.Uint64())
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			f := newMovingFleet(t, rand.New(rand.NewPCG(seed, 0)))
			for range 4 + f.random.IntN(9) {
				f.step()
			}
			jobstest.Insert(t, f.World.Connect(t, nil).Table(f.Readings), f.hidden...)
			for _, d := range f.World.Devices { // what was interrupted is completed by the next token, at the latest
				stored := must.Have(f.registry(nil).Get(t.Context(), d))(t)
				must.Have(f.registry(nil).Register(t.Context(), stored))(t)
			}
			must.Succeed(t, f.Settle(t.Context(), f.pipeline(nil)))
			f.mustEqualNew()
			f.mustCountOnce()
		})
	}
}

// TestMoveEmptiesOpenBucketsOfADeadAttempt: the first job of a device died between its outputs and its commit, and then
// the device moves, as of a day before the buckets that are open.
func TestMoveEmptiesOpenBucketsOfADeadAttempt(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	for at := range 40 {
		f := newMovingFleet(t, rand.New(rand.NewPCG(1, 0)))
		ctx, kill := context.WithCancel(t.Context())
		stop := func(func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}
		_ = f.Drain(ctx, f.Pipeline(t, &faults.Gate{At: at, Stop: stop}))
		kill()
		client, device, rows := f.World.Connect(t, nil), f.World.Devices[0], f.World.Rows[0]
		day := "!1d!" + schema.DayOf(tables.TicksBefore(rows[len(rows)-1].RowKey)).String()
		open := slices.ContainsFunc(jobstest.Rows(t, client.Table(f.Names.Output("rollups")), tables.Query{}),
			func(e tables.Entity) bool {
				return strings.Contains(e.PartitionKey, day) && strings.HasPrefix(e.RowKey, string(device))
			})
		member := must.Have(f.registry(nil).Get(t.Context(), device))(t).Member()
		track, err := client.Table(f.Names.Partitions("live")).Get(t.Context(), member.Month.String(), string(member.Key()))
		if !open || err != nil || track.Get(schema.TrackCheckpoint).Text() != "" {
			continue
		}
		mv := sas.Move{Device: device, To: "t1", At: tables.TicksBefore(rows[5].RowKey)}
		must.Have(f.registry(nil).Move(t.Context(), mv))(t)
		must.Succeed(t, f.Settle(t.Context(), f.Pipeline(t, nil)))
		f.mustEqualNew()
		return
	}
	t.Error("no job died between its outputs and its commit")
}

// mustEqualNew compares outputs and rejects with those of a new fleet with the same memberships.
func (f *movingFleet) mustEqualNew() {
	f.t.Helper()
	calm := f.mustHaveOutputsOfNew()
	if got, want := f.rejects(f.Names), f.rejects(calm.Names); !slices.Equal(got, want) {
		f.t.Errorf("the rejects are %q, want %q", got, want)
	}
}

func (f *movingFleet) mustHaveOutputsOfNew() (calm *jobstest.Fleet) {
	f.t.Helper()
	calm = f.World.NewFleetOf(f.t, f.Readings)
	calm.Batch = f.Batch
	fleet := f.World.Connect(f.t, nil).Table(calm.Names.Fleet())
	for _, m := range f.members() {
		e := must.Have(m.Entity())(f.t)
		must.Have(fleet.Do(f.t.Context(), tables.InsertOrReplace(e)))(f.t)
	}
	must.Succeed(f.t, calm.Settle(f.t.Context(), calm.Pipeline(f.t, nil)))
	ends := func(of *jobstest.Fleet) map[string]string {
		all := of.Ends(f.t)
		maps.DeleteFunc(all, func(key, _ string) bool {
			return strings.HasPrefix(key, "partitions") || strings.HasPrefix(key, "rejects")
		})
		return all
	}
	jobstest.SameEnds(f.t, ends(f.Fleet), ends(calm))
	return calm
}

// rejects returns which rows the rings of the tenants have, as far as these had the device then. A job that died before
// a move may have left a row twice.
func (f *movingFleet) rejects(of schema.Names) []string {
	all := map[string]bool{}
	for _, e := range jobstest.Rows(f.t, f.World.Connect(f.t, nil).Table(of.Rejects()), tables.Query{}) {
		r := must.Have(schema.RejectOf(e))(f.t)
		for _, m := range f.members() {
			if m.Device == r.Device && m.Ring() == r.Ring && m.Has(tables.TicksBefore(r.Row)) {
				all[fmt.Sprint(m.Tenant, r.Device, r.Row, r.Reason)] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// mustCountOnce compares the row counts of the tenants with storage's rows, by row key.
func (f *movingFleet) mustCountOnce() {
	f.t.Helper()
	client := f.World.Connect(f.t, nil)
	members := f.members()
	want := map[schema.Place]int64{}
	for _, e := range jobstest.Rows(f.t, client.Table(f.Readings), tables.Query{}) {
		owners := slices.DeleteFunc(slices.Clone(members), func(m schema.Member) bool {
			return string(m.Device) != e.PartitionKey || !m.Has(tables.TicksBefore(e.RowKey))
		})
		if len(owners) != 1 {
			f.t.Fatalf("row %s of %s is in %d tenants", e.RowKey, e.PartitionKey, len(owners))
		}
		want[owners[0].Place()]++
	}
	for _, e := range jobstest.Rows(f.t, client.Table(f.Names.Partitions("live")), tables.Query{}) {
		track := must.Have(schema.TrackOf(e))(f.t)
		if track.Rows != want[track.Place] {
			f.t.Errorf("%s has folded %d rows, want %d", track.Place, track.Rows, want[track.Place])
		}
		delete(want, track.Place)
	}
	for place, n := range want {
		f.t.Errorf("%s has folded none of %d rows", place, n)
	}
}
