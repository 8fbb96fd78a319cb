package jobs_test

import (
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/tables/azuretest/must"
)

// TestPipelineThatReturnsAndIsRewoundEndsAsANewFleet: another one has written its outputs meanwhile, under other
// settings. Its tracking rows do not know that, so the configuration's page asks for a rewind.
func TestPipelineThatReturnsAndIsRewoundEndsAsANewFleet(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	f := w.NewFleet(t)
	live, main := f.Pipeline(t, nil), f.Pipeline(t, nil)
	main.Name = "main"
	w.Create(t, f.Names.Partitions(main.Name))
	first, second := settings()[0], settings()[7]
	first.apply(t, live)
	second.apply(t, main)
	for _, p := range []*jobs.Pipeline{live, main, live} {
		must.Succeed(t, f.Settle(t.Context(), p))
	}
	for _, d := range w.Devices {
		must.Have(live.Rewind(t.Context(), w.Member(d, f.Readings), jobs.Rewound{At: time.Now(), By: "a test"}))(t)
	}
	jobstest.Do(t, live, f.Audit(refold.Full), jobstest.NoPut{})
	must.Succeed(t, f.Settle(t.Context(), live))
	first.sameAsNew(t, f)
}

// TestProcessorThatReturnsEndsAsANewFleet: another pipeline has had it meanwhile, under other settings.
func TestProcessorThatReturnsEndsAsANewFleet(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	f := w.NewFleet(t)
	live, main := f.Pipeline(t, nil), f.Pipeline(t, nil)
	main.Name = "main"
	w.Create(t, f.Names.Partitions(main.Name))
	first, second := settings()[0], settings()[7]
	second.latest = false
	second.apply(t, main)
	first.apply(t, live)
	must.Succeed(t, f.Settle(t.Context(), live))
	settings()[1].apply(t, live)
	must.Succeed(t, f.Settle(t.Context(), live))
	must.Succeed(t, f.Settle(t.Context(), main))
	first.apply(t, live)
	must.Succeed(t, f.Settle(t.Context(), live))
	first.sameAsNew(t, f)
}
