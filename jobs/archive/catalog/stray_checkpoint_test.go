package catalog_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"

	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// TestAStrayCheckpointMisleadsNobody: its maker stood still while others published, made a checkpoint, and cleaned the
// log below that. Then it goes on. Readers that find no pointer list the folder.
func TestAStrayCheckpointMisleadsNobody(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	for _, erases := range []bool{false, true} {
		for at, more := 0, true; more; at += effort.Step(1) {
			what := fmt.Sprintf("suspended before operation %d, an erasure %v", at, erases)
			w := newWorld(t, a, fmt.Sprintf("k%d%v", at, erases))
			must.Succeed(t, w.machine(t, nil).publish(t.Context()))
			gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				m := w.machine(t, nil)
				must.Succeed(t, m.late(t.Context()))
				if erases {
					must.Succeed(t, m.eraseAll(t.Context()))
				}
				must.Succeed(t, m.checkpoint(t.Context()))
				must.Succeed(t, m.table.Cleaner(m.objects).CleanLog(t.Context(), 0))
				return send()
			}}
			c := w.machine(t, gate)
			must.Succeed(t, c.table.Log(c.objects).Checkpoint(t.Context(), true))
			more = int(gate.N.Load()) > at
			m := w.machine(t, nil)
			must.Succeed(t, m.late(t.Context()))
			must.Succeed(t, m.publish(t.Context()))
			if problem := w.followed(t); problem != "" {
				t.Errorf("%s: by the pointer: %s", what, problem)
			}
			var all []int
			blobs := w.blobs(t)
			for name := range blobs {
				if n, is := delta.VersionOf(name); is && name == delta.CheckpointFile(n) {
					all = append(all, int(n))
				}
			}
			if problem := w.followedFrom(t, blobs, slices.Max(all)); problem != "" {
				t.Errorf("%s: by listing: %s", what, problem)
			}
			must.Succeed(t, m.table.Cleaner(m.objects).CleanLog(t.Context(), 7*24*3600e9))
			for name := range w.blobs(t) {
				if n, is := delta.VersionOf(name); is && more && erases && int(n) < slices.Max(all) {
					t.Errorf("%s: %s, of an ended version, is still there", what, name)
				}
			}
		}
	}
}
