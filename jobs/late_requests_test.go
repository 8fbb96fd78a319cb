package jobs_test

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ghostLeft has a worker send a transaction and die while storage says a time; jobs under other settings follow with
// what storage says to each of them; the transaction arrives; then clocks are right, and hours pass.
func ghostLeft(t *testing.T, claimed time.Duration, before []policy.Transporter) {
	start := time.Now().Add(-3 * time.Hour)
	f, _ := minutely(t, start, upTo(90, 1)...)
	through, sent := dying(later(claimed))
	dead := f.Pipeline(t, through)
	settings()[0].apply(t, dead)
	if _, err := dead.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
		t.Fatalf("the first worker: %v", err)
	}
	s := settings()[0]
	s.kinds = map[string]fold.SensorKind{"temperature": fold.Ignored}
	next := func(p *jobs.Pipeline) {
		s.apply(t, p)
		must.Succeed(t, f.Drain(t.Context(), p))
	}
	outputs := func() int {
		table := f.World.Connect(t, nil).Table(f.Names.Output("rollups"))
		rows := jobstest.Rows(t, table, tables.Query{})
		return len(slices.DeleteFunc(rows, func(e tables.Entity) bool {
			return !slices.ContainsFunc(e.Properties, func(p tables.Property) bool { return !strings.HasPrefix(p.Name, "_") })
		}))
	}
	for _, through := range before {
		next(f.Pipeline(t, through))
	}
	settled := outputs()
	answer := must.Have(http.DefaultClient.Do(sent()))(t)
	must.Succeed(t, answer.Body.Close())
	if late := outputs(); answer.StatusCode/100 != 2 || late <= settled {
		t.Fatalf("%s: it arrives too early or too late: %d outputs became %d", answer.Status, settled, late)
	}
	for _, h := range []time.Duration{0, 90 * time.Minute, 3 * time.Hour, 5 * time.Hour} {
		next(hence(t, f, f.Pipeline(t, nil), h))
	}
	p := hence(t, f, f.Pipeline(t, nil), 6*time.Hour)
	s.apply(t, p)
	must.Succeed(t, f.Settle(t.Context(), p))
	if left := outputs(); left != settled {
		t.Errorf("%d outputs are left instead of %d", left, settled)
	}
}

// TestLateRequestsOfAnAttemptBeforeAClockWasAhead: settings change while storage's clock is a year ahead.
func TestLateRequestsOfAnAttemptBeforeAClockWasAhead(t *testing.T) {
	t.Parallel()
	ghostLeft(t, 0, []policy.Transporter{ahead()})
}

// TestLateRequestsOfAnAttemptWhileAClockIsAhead: settings change with right clocks; then one run sees storage two hours
// ahead.
func TestLateRequestsOfAnAttemptWhileAClockIsAhead(t *testing.T) {
	t.Parallel()
	ghostLeft(t, 0, []policy.Transporter{nil, later(2 * time.Hour)})
}

// TestLateRequestsOfAnAttemptThatBeganWhileAClockWasBehind: storage was 70 minutes behind when the attempt claimed.
func TestLateRequestsOfAnAttemptThatBeganWhileAClockWasBehind(t *testing.T) {
	t.Parallel()
	ghostLeft(t, -70*time.Minute, []policy.Transporter{nil})
}

func TestLateRequestsOfAnAttempt(t *testing.T) {
	t.Parallel()
	ghostLeft(t, 0, []policy.Transporter{nil})
}
