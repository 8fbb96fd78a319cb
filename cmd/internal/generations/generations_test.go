package generations

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/query"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

type fixture struct{ account tables.Account }

func newFixture(t *testing.T) *fixture {
	t.Helper()
	storage := azuretest.Local(t)
	return &fixture{tables.Account{Name: storage.Name, Key: storage.Key, Table: storage.TableURL}}
}

func (s *fixture) store(t *testing.T, through policy.Transporter) Store {
	t.Helper()
	c := must.Have(tables.Connect(tables.Config{Account: s.account, Transport: through,
		Retry: policy.RetryOptions{MaxRetries: -1}}))(t)
	return New(c.Table(schema.Names{}.Config()))
}

// text returns a configuration with a batch of n devices.
func text(n int) string {
	return fmt.Sprintf("# batch %d\npipelines: [{name: live, batch: %d, processors: [latest]}]\n", n, n)
}

func TestApplyStoresChangesAndRollbackAnOldTextAgain(t *testing.T) {
	s, ctx := newFixture(t).store(t, nil), t.Context()
	if _, found, err := s.Newest(ctx, 0); found || err != nil {
		t.Errorf("before the first: %v, %v", found, err)
	}
	if _, err := s.Rollback(ctx, 1, "ann"); !errors.Is(err, query.ErrNoGeneration) {
		t.Errorf("rolled back to nothing: %v", err)
	}
	for _, step := range []struct {
		do         func() (Change, error)
		generation int64
		stored     bool
		change     string
	}{
		{func() (Change, error) { return s.Apply(ctx, "f", text(1), "ann") }, 1, true, "the first one"},
		{func() (Change, error) { return s.Apply(ctx, "f", text(1), "bob") }, 1, false, "the first one"},
		{func() (Change, error) { return s.Apply(ctx, "f", text(2), "bob") }, 2, true, "live: batch 1, now 2"},
		{func() (Change, error) { return s.Offer(ctx, "f", text(1), "cron") }, 2, false, "live: batch 1, now 2"},
		{func() (Change, error) { return s.Offer(ctx, "f", text(3), "cron") }, 3, true, "live: batch 2, now 3"},
		{func() (Change, error) { return s.Apply(ctx, "f", text(3)+"#", "ann") }, 4, true, "nothing but the text"},
		{func() (Change, error) { return s.Rollback(ctx, 1, "ann") }, 5, true, "live: batch 3, now 1"},
		{func() (Change, error) { return s.Rollback(ctx, 1, "ann") }, 5, false, "live: batch 3, now 1"},
		{func() (Change, error) { return s.Rollback(ctx, 5, "ann") }, 5, false, "live: batch 3, now 1"},
	} {
		got, err := step.do()
		if err != nil || got.Holds.Generation != step.generation || got.Stored != step.stored ||
			got.Holds.Change != step.change {
			t.Errorf("want %+v; got %+v, %v", step, got, err)
		}
	}
	if newest, _, err := s.Newest(ctx, 4); err != nil || newest.Text != text(1) || newest.By != "ann" {
		t.Errorf("it is %+v, %v", newest, err)
	}
	var numbers []int64
	for _, c := range must.Have(s.History(ctx))(t) {
		if numbers = append(numbers, c.Generation); c.Text != "" || c.Stored == 0 {
			t.Errorf("the history has %+v", c)
		}
	}
	if !slices.Equal(numbers, []int64{5, 4, 3, 2, 1}) {
		t.Errorf("the history is %v", numbers)
	}
}

func TestInvalidConfigurationIsNotStored(t *testing.T) {
	s := newFixture(t).store(t, nil)
	_, err := s.Apply(t.Context(), "f.yaml", "pipelines: [{name: live, batch: 100, processors: [latst]}]", "ann")
	problems, ok := errors.AsType[config.Problems](err)
	if !ok || len(problems) != 2 || problems[0].File != "f.yaml" {
		t.Errorf("it says %v", err)
	}
	if _, found, err := s.Newest(t.Context(), 0); found || err != nil {
		t.Errorf("it is stored: %v, %v", found, err)
	}
}

// TestConcurrentAppliesLoseNothing: every successful one has a generation of its own, and the others fail.
func TestConcurrentAppliesLoseNothing(t *testing.T) {
	y := newFixture(t)
	const n = 12
	changes, errs := make([]Change, n), make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		s := y.store(t, nil)
		all.Go(func() {
			changes[i], errs[i] = s.Apply(t.Context(), "f", text(i+1), fmt.Sprint(i))
		})
	}
	all.Wait()
	stored := map[int64]string{}
	for i := range n {
		switch {
		case errors.Is(errs[i], ErrOvertaken):
		case errs[i] != nil || !changes[i].Stored:
			t.Errorf("%+v, %v", changes[i], errs[i])
		case stored[changes[i].Holds.Generation] != "":
			t.Errorf("generation %d is there twice", changes[i].Holds.Generation)
		default:
			stored[changes[i].Holds.Generation] = text(i + 1)
		}
	}
	history := must.Have(y.store(t, nil).History(t.Context()))(t)
	if len(history) != len(stored) || len(stored) == 0 {
		t.Errorf("%d applies succeeded, and %d generations are stored", len(stored), len(history))
	}
	for generation, want := range stored {
		if got := must.Have(y.store(t, nil).Get(t.Context(), generation))(t); got.Text != want {
			t.Errorf("generation %d is %q, want %q", generation, got.Text, want)
		}
	}
}

// TestConcurrentOffersAreOneGeneration: processes may start together with one file.
func TestConcurrentOffersAreOneGeneration(t *testing.T) {
	y := newFixture(t)
	var all sync.WaitGroup
	for range 8 {
		s := y.store(t, nil)
		all.Go(func() {
			if c, err := s.Offer(t.Context(), "f", text(1), "up"); err != nil || c.Holds.Generation != 1 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
	all.Wait()
	if h := must.Have(y.store(t, nil).History(t.Context()))(t); len(h) != 1 {
		t.Errorf("there are %d", len(h))
	}
}

// TestSuccessfulApplyIsStoredInSpiteOfFaults: after an error, it may be stored or not.
func TestSuccessfulApplyIsStoredInSpiteOfFaults(t *testing.T) {
	for _, fault := range []faults.Fault{faults.AnswerLost, faults.Twice, faults.ServerBusy, faults.TimedOut,
		faults.TimedOutDone} {
		for at := range 7 {
			y := newFixture(t)
			must.Have(y.store(t, nil).Apply(t.Context(), "f", text(1), "ann"))(t)
			c, err := y.store(t, &faults.Transport{Plan: faults.Script{at: fault}}).Apply(t.Context(), "f", text(2), "bob")
			history := must.Have(y.store(t, nil).History(t.Context()))(t)
			if err == nil && (!c.Stored || c.Holds.Generation != 2) || err == nil && len(history) != 2 || len(history) > 2 {
				t.Errorf("%s at %d: %+v, %v; %d generations", fault, at, c, err, len(history))
			}
			if errors.Is(err, ErrOvertaken) {
				t.Errorf("%s at %d: overtaken by itself: %v", fault, at, err)
			}
			again := must.Have(y.store(t, nil).Apply(t.Context(), "f", text(2), "bob"))(t)
			if again.Holds.Generation != 2 {
				t.Errorf("%s at %d: then it is generation %d", fault, at, again.Holds.Generation)
			}
		}
	}
}

func TestFollowerLoadsNewerGenerationsThatItCanUse(t *testing.T) {
	y := newFixture(t)
	s := y.store(t, nil)
	var said strings.Builder
	f := NewFollower(s, Loaded{Config: config.Default()}, schema.Process{}, slog.New(slog.NewTextHandler(&said, nil)))
	now := func() int64 {
		if err := f.Look(t.Context()); err != nil {
			t.Error(err)
		}
		c, _ := f.Current()
		return c.Generation
	}
	if got := now(); got != 0 {
		t.Errorf("without a stored one, it has generation %d", got)
	}
	_, changed := f.Current()
	must.Have(s.Apply(t.Context(), "f", text(1), "ann"))(t)
	if got := now(); got != 1 {
		t.Errorf("generation %d, want 1", got)
	}
	select {
	case <-changed:
	default:
		t.Error("the channel is not closed")
	}
	e := must.Have(schema.Configuration{Generation: 2, ID: "x", By: "a newer program",
		Text: "pipelines: [{name: live, processors: [latest], fromTheFuture: 1}]"}.Entity())(t)
	must.Have(s.Table.Do(t.Context(), tables.Insert(e)))(t)
	if got := now(); got != 1 || now() != 1 || strings.Count(said.String(), "fromTheFuture") != 1 {
		t.Errorf("generation %d, want 1; the log is\n%s", got, &said)
	}
	if err := f.Reach(t.Context(), 2); !errors.Is(err, ErrNewer) {
		t.Errorf("reached: %v", err)
	}
	must.Have(s.Apply(t.Context(), "f", text(3), "ann"))(t)
	if got := now(); got != 3 {
		t.Errorf("generation %d, want 3", got)
	}
	if err := f.Reach(t.Context(), 2); err != nil {
		t.Errorf("an older one: %v", err)
	}
}

// TestReachReadsStorageOnceForManyJobs: a thousand messages of a missing generation must not cause a thousand requests.
func TestReachReadsStorageOnceForManyJobs(t *testing.T) {
	y := newFixture(t)
	must.Have(y.store(t, nil).Apply(t.Context(), "f", text(1), "ann"))(t)
	count := &counting{}
	f := NewFollower(y.store(t, count), Loaded{Generation: 1, Config: config.Default()}, schema.Process{},
		slog.New(slog.DiscardHandler))
	began := time.Now()
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if err := f.Reach(t.Context(), 2); !errors.Is(err, ErrNewer) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n, most := count.n, 2+int(time.Since(began)/reachEvery); n > most {
		t.Errorf("%d requests, want at most %d", n, most)
	}
}

// counting counts requests, which come one at a time.
type counting struct{ n int }

func (c *counting) Do(r *http.Request) (*http.Response, error) {
	c.n++
	return http.DefaultClient.Do(r)
}

func TestFollowerFollowsUntilItsContextEnds(t *testing.T) {
	s := newFixture(t).store(t, nil)
	f := NewFollower(s, Loaded{Config: config.Default()}, schema.Process{}, slog.New(slog.DiscardHandler))
	f.Every = time.Millisecond
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- f.Run(ctx) }()
	for n := range 3 {
		_, changed := f.Current()
		must.Have(s.Apply(ctx, "f", text(n+1), "ann"))(t)
		<-changed
	}
	if c, _ := f.Current(); c.Generation != 3 || c.Config.Pipelines[0].Batch != 3 {
		t.Errorf("it has %+v", c)
	}
	cancel()
	must.Succeed(t, <-ended)
}

// TestAFleetKeepsTheDefaultsThatItBeganWith whatever is applied later, so that nothing is folded again. One that begins
// now has those of today.
func TestAFleetKeepsTheDefaultsThatItBeganWith(t *testing.T) {
	const bare = "pipelines: [{name: live, processors: [latest, rollup]}]\n"
	windows := func(s Store) string {
		t.Helper()
		return fmt.Sprint(must.Have(s.Holding(t.Context(), config.File{}))(t).Config.Pipelines[0].Rollups())
	}
	for began, want := range map[string]string{"": "[15m 1h 1d]", bare: "[1m 1h 1d]", text(1): "[1m 1h 1d]"} {
		s := newFixture(t).store(t, nil)
		if began != "" { // as an earlier version has stored it
			must.Have(s.insert(t.Context(), schema.Configuration{Generation: 1, Text: began, Format: 2}))(t)
		}
		must.Have(s.Apply(t.Context(), "f", bare, "ann"))(t)
		if got := windows(s); got != want {
			t.Errorf("a fleet that began with %q has %s; want %s", began, got, want)
		}
		change := must.Have(s.Apply(t.Context(), "f", "# no more than this\n"+bare, "bob"))(t)
		if change.Holds.Change != "nothing but the text" {
			t.Errorf("it changes %s", change.Holds.Change)
		}
		must.Have(s.Rollback(t.Context(), 1, "ann"))(t)
		must.Have(s.Apply(t.Context(), "f", bare, "ann"))(t)
		if got := windows(s); got != want {
			t.Errorf("after a rollback, a fleet that began with %q has %s; want %s", began, got, want)
		}
	}
}
