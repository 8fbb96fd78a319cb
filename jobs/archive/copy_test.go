package archive_test

import (
	"bytes"
	"maps"
	"math/rand/v2"
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
