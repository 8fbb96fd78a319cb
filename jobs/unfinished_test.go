package jobs_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/jobstest"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
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
			dying := f.Pipeline(t, watcher(func(r *http.Request, body string) error {
				committing = committing || strings.Contains(body, "LastReadRowKey")
				if committing && fails(body) {
					return errDead
				}
				return nil
			}))
			settings()[0].apply(t, dying)
			if _, err := dying.Do(t.Context(), f.Message(), deadPut{}, nil); !errors.Is(err, errDead) {
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
