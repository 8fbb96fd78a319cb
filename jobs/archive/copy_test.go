package archive_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestCopyThatFailsAnywhereEndsEqual after it was repeated, and follows objects that are replaced and gone.
func TestCopyThatFailsAnywhereEndsEqual(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	f, d := x.Fleet, x.maker(t, nil)
	must.Succeed(t, d.MakeDay(t.Context(), x.day))
	there := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	seed := rand.Uint64()
	t.Log("seed", seed)
	copies := func(round uint64) (n archive.Copied) {
		t.Helper()
		rates := map[faults.Fault]float64{faults.Cut: 0.1, faults.AnswerLost: 0.1, faults.ServerBusy: 0.1, faults.Twice: 0.1}
		through := &faults.Transport{Plan: faults.Random{Seed: seed + round, Rates: rates}}
		to := must.Have(archive.Connect(archive.StoreConfig{Account: there, Container: f.Names.Archive(), Transport: through,
			Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
		var err error
		for range 200 {
			if n, err = to.CopyFrom(t.Context(), d.Store, func(archive.Copied) {}); err == nil {
				break
			}
		}
		must.Succeed(t, err)
		from, got := objects(t, f.World.Account, f.Names.Archive()), objects(t, there, f.Names.Archive())
		if !maps.EqualFunc(from, got, bytes.Equal) || len(from) < 5 {
			t.Errorf("round %d: %d objects, %d at the source, or they differ", round, len(got), len(from))
		}
		return n
	}
	copies(0)
	if n := copies(1); n.Written+n.Deleted != 0 {
		t.Errorf("without a change: %+v", n)
	}
	must.Succeed(t, d.MakeDay(t.Context(), x.day))
	copies(2)
}

// TestCopyGoesOnWhereObjectsAreReplacedAndGone while it lists: they are for the next pass, which is needed.
func TestCopyGoesOnWhereObjectsAreReplacedAndGone(t *testing.T) {
	t.Parallel()
	x := newTables(t)
	f, d := x.Fleet, x.maker(t, nil)
	must.Succeed(t, d.MakeDay(t.Context(), x.day))
	there := must.Have(tables.ParseAccount(azuretest.Local(t).ConnectionString()))(t)
	to := must.Have(archive.Connect(archive.StoreConfig{Account: there, Container: f.Names.Archive()}))(t)
	names := slices.Sorted(maps.Keys(objects(t, f.World.Account, f.Names.Archive())))
	change := func(n archive.Copied) {
		if n.Objects == 0 { // all are listed, and none is copied
			must.Succeed(t, d.Store.Delete(t.Context(), names[0]))
			must.Succeed(t, d.Store.Put(t.Context(), names[len(names)-1], []byte("newer"), tables.AnyETag))
		}
	}
	if n := must.Have(to.CopyFrom(t.Context(), d.Store, change))(t); int(n.Written) != len(names) {
		t.Errorf("%+v of %d objects; one that is not copied needs another pass", n, len(names))
	}
	must.Have(to.CopyFrom(t.Context(), d.Store, func(archive.Copied) {}))(t)
	from, got := objects(t, f.World.Account, f.Names.Archive()), objects(t, there, f.Names.Archive())
	if !maps.EqualFunc(from, got, bytes.Equal) || len(from) != len(names)-1 {
		t.Errorf("%d objects, %d at the source, or they differ", len(got), len(from))
	}
}
