package archive_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"

	"furrow/jobs/jobstest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestKilledTakeoversBesideKilledErasures: whoever takes the days over stands still at an operation, an erasure begins
// and is killed, the first goes on and is killed as well. Once the erasure was repeated, nothing has the devices, and
// everything else is there.
func TestKilledTakeoversBesideKilledErasures(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	effort.Each(t, 41, func(t *testing.T, n int) (more bool) {
		seed := rand.Uint64()
		r := rand.New(rand.NewPCG(seed, 1))
		x := newOlder(t)
		x.some(t)
		calm := x.maker(t, nil)
		x.markAll(t, calm)
		devices := []schema.DeviceID{"acme:2", "_under"}
		ctx, kill := context.WithCancel(t.Context())
		var left atomic.Int64
		left.Store(1 << 40)
		stopped, after, goesOn := r.IntN(120), int64(r.IntN(40)), r.IntN(3) == 0
		about := fmt.Sprintf("operation %d, seed %d", n, seed)
		gate := &faults.Gate{At: n, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			erasing, stop := context.WithCancel(t.Context())
			defer stop()
			through := &faults.Gate{At: stopped, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
				stop()
				return nil, context.Canceled
			}}
			for _, device := range devices {
				x.erase(t, device)
				_, _ = x.maker(t, through).Erase(erasing, jobstest.Month, x.members[device].Tenant, device)
			}
			if !goesOn {
				left.Store(after)
			}
			return send()
		}}
		first := x.maker(t, faults.Func(func(q *http.Request) (*http.Response, error) {
			if left.Add(-1) < 0 {
				kill()
				return nil, context.Canceled
			}
			return gate.Do(q)
		}))
		_ = x.work(ctx, first)
		kill()
		if more = int(gate.N.Load()) > n; !more {
			return false
		}
		for _, device := range devices {
			must.Have(x.maker(t, nil).Erase(t.Context(), jobstest.Month, x.members[device].Tenant, device))(t)
			x.nowhere(t, string(device), about)
		}
		must.Succeed(t, x.work(t.Context(), x.maker(t, nil)))
		x.migrated(t, about)
		for _, device := range devices {
			x.nowhere(t, string(device), about)
		}
		return true
	})
}
