package jobs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// TestDeadWorkersOutputsDoNotOutliveItsSettings: a worker writes the outputs of a device and dies. Another one, whose
// settings make none of them, takes the device over with a smaller portion and commits, so the rows of some outputs are
// left to jobs that find a finished claim.
func TestDeadWorkersOutputsDoNotOutliveItsSettings(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	start := time.Now().Add(-3 * time.Hour)
	for name, fails := range map[string]func(body string) bool{
		"dead":       func(string) bool { return true },
		"given back": func(body string) bool { return strings.Contains(body, "LastReadRowKey") },
	} {
		t.Run(name, func(t *testing.T) {
			f := seedDevice(t, 100, func(n int) tables.Entity {
				return temperature(start.Add(time.Duration(n)*time.Minute), float64(n%40))
			})
			committing := false
			dead := f.Pipeline(t, watcher(func(r *http.Request, body string) error {
				committing = committing || strings.Contains(body, "LastReadRowKey")
				if committing && fails(body) {
					return errDead
				}
				return nil
			}))
			settings()[0].apply(t, dead)
			if _, err := dead.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
				t.Fatalf("the first worker: %v", err)
			}
			if len(f.Ends(t)) == 0 {
				t.Fatal("it has left no output")
			}
			s := setting{over: time.Hour, kinds: map[string]fold.SensorKind{"temperature": fold.Ignored}}
			p := f.Pipeline(t, nil)
			s.apply(t, p)
			p.Portion, p.Most = 10, 10
			if n := jobstest.Work(t, p, f.Message()); n < 10 {
				t.Fatalf("100 rows were folded in %d jobs", n)
			}
			wantRows(t, f, f.World.Devices[0], 100)
			s.sameAsNew(t, f)
		})
	}
}

// TestOutputsThatArriveLateDoNotOutliveTheirSettings: a worker sends a transaction and dies. Another one, whose
// settings make none of these outputs, folds everything, and only then the transaction arrives. An hour later nothing
// of it is left.
func TestOutputsThatArriveLateDoNotOutliveTheirSettings(t *testing.T) {
	t.Parallel()
	start := time.Now().Add(-3 * time.Hour)
	for name, first := range map[string]bool{"of a new device": true, "of one that is folded": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, insert := minutely(t, start, upTo(90, 1)...)
			if !first {
				p := f.Pipeline(t, nil)
				settings()[0].apply(t, p)
				must.Succeed(t, f.Drain(t.Context(), p))
				insert(90, 91, 92, 93, 94, 95)
			}
			through, sent := dying(http.DefaultClient.Do)
			dead := f.Pipeline(t, through)
			settings()[0].apply(t, dead)
			if _, err := dead.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
				t.Fatalf("the first worker: %v", err)
			}
			s := settings()[0]
			s.kinds = map[string]fold.SensorKind{"temperature": fold.Ignored}
			next := func(after time.Duration) {
				p := hence(t, f, f.Pipeline(t, nil), after)
				s.apply(t, p)
				must.Succeed(t, f.Drain(t.Context(), p))
			}
			next(0)
			outputs := func() int {
				table := f.World.Connect(t, nil).Table(f.Names.Output("rollups"))
				rows := jobstest.Rows(t, table, tables.Query{})
				return len(slices.DeleteFunc(rows, func(e tables.Entity) bool {
					return !slices.ContainsFunc(e.Properties, func(p tables.Property) bool { return !strings.HasPrefix(p.Name, "_") })
				}))
			}
			settled := outputs()
			answer := must.Have(http.DefaultClient.Do(sent()))(t)
			must.Succeed(t, answer.Body.Close())
			if late := outputs(); answer.StatusCode/100 != 2 || late <= settled {
				t.Fatalf("%s: it arrives too early or too late: %d outputs became %d", answer.Status, settled, late)
			}
			next(50 * time.Minute)
			if outputs() == settled {
				t.Fatal("its outputs are gone while others may still arrive")
			}
			next(90 * time.Minute)
			s.sameAsNew(t, f)
			if left := outputs(); left != settled {
				t.Errorf("%d outputs are left instead of %d", left, settled)
			}
		})
	}
}

// TestNewestValuesOfADeadAttemptAreReplaced: settings show a sensor for as long as it takes a worker to write the
// newest values, and to die. With others, the state is what it was before.
func TestNewestValuesOfADeadAttemptAreReplaced(t *testing.T) {
	t.Parallel()
	f, _ := minutely(t, time.Now().Add(-3*time.Hour), upTo(90, 1)...)
	hides := settings()[0]
	hides.kinds = map[string]fold.SensorKind{"temperature": fold.Ignored}
	run := func(ctx context.Context, s setting, through policy.Transporter) error {
		p := f.Pipeline(t, through)
		s.apply(t, p)
		return f.Drain(ctx, p)
	}
	must.Succeed(t, run(t.Context(), hides, nil))
	shown := func() (n int) {
		for _, e := range jobstest.Rows(t, f.World.Connect(t, nil).Table(f.Names.Output("latest")), tables.Query{}) {
			if e.Get("temperature") != (tables.Value{}) {
				n++
			}
		}
		return n
	}
	ctx, die := context.WithCancel(t.Context())
	through := faults.Func(func(r *http.Request) (*http.Response, error) {
		body, err := bodyOf(r)
		if err != nil {
			return nil, err
		}
		answer, err := http.DefaultClient.Do(r)
		if strings.Contains(body+r.URL.Path, f.Names.Output("latest")) && strings.Contains(body, "temperature") {
			die()
		}
		return answer, err
	})
	if err := run(ctx, settings()[0], through); err == nil || shown() == 0 {
		t.Fatalf("no worker died after it had written newest values: %v", err)
	}
	hides.kinds["no such sensor"] = fold.Ignored
	must.Succeed(t, run(t.Context(), hides, later(2*time.Minute)))
	if n := shown(); n > 0 {
		t.Errorf("%d devices show a sensor that nobody wants", n)
	}
	hides.sameAsNew(t, f)
}

// dying sends requests, until it dies at the first transaction with outputs of minutes. That one is what sent returns.
func dying(send faults.Func) (through faults.Func, sent func() *http.Request) {
	var last *http.Request
	return func(r *http.Request) (*http.Response, error) {
		body, err := bodyOf(r)
		switch {
		case err != nil:
			return nil, err
		case last == nil && strings.Contains(body, "!1m!"):
			last = r.Clone(context.WithoutCancel(r.Context()))
			last.Body = io.NopCloser(strings.NewReader(body))
		}
		if last != nil {
			return nil, errDead
		}
		return send(r)
	}, func() *http.Request { return last }
}

func bodyOf(r *http.Request) (string, error) {
	if r.Body == nil {
		return "", nil
	}
	body, err := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	return string(body), err
}
