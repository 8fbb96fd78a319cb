package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// A pause is how a machine stops at an operation, and goes on after others have done what they do.
type pause string

const (
	before pause = "before" // its request is sent when it goes on
	after  pause = "after"  // its request was sent, and the answer came
	lost   pause = "lost"   // its request was sent, and no answer came
)

// TestInterleavedMachinesLoseNothing: a machine stops at an operation, another does all of what it does, and the first
// goes on, as one that was suspended. Then all is finished. At any moment of the log each reading is there once.
func TestInterleavedMachinesLoseNothing(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	tried := 0
	for _, first := range names() {
		for _, second := range names() {
			for _, how := range []pause{before, after, lost} {
				for n, more := tried%effort.Step(11), true; more; n += effort.Step(22) {
					what := fmt.Sprintf("%s stops %s operation %d, then %s", first, how, n, second)
					w := newWorld(t, a, fmt.Sprint("w", tried))
					tried++
					if more = w.interleave(t, what, actors[first], n, how, actors[second]); t.Failed() {
						t.FailNow()
					}
				}
			}
		}
	}
	t.Logf("%d worlds", tried)
}

// TestFirstMakersOfADay: the same where the day has no file yet, or no more, and the table perhaps no columns.
func TestFirstMakersOfADay(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	for _, retired := range []bool{false, true} {
		for _, second := range []string{"late", "erase", "july"} {
			for _, how := range []pause{before, after, lost} {
				for n, more := 0, true; more; n += effort.Step(1) {
					what := fmt.Sprintf("retired %v: late rows stop %s operation %d, then %s", retired, how, n, second)
					w := emptyWorld(t, a, fmt.Sprint("e", retired, second, how, n))
					if w.send(june, "a/1", "b/1"); retired {
						m := w.machine(t, nil)
						w.must(t, what, m.make(t.Context(), june))
						w.must(t, what, m.retire(t.Context()))
						w.send(june, "a/2", "b/2")
					}
					if second == "july" { // whose columns are new, as those of the first may be
						w.send(july, "c/1")
					}
					if more = w.interleave(t, what, (*machine).late, n, how, actors[second]); t.Failed() {
						t.FailNow()
					}
				}
			}
		}
	}
}

// interleave stops a machine at an operation, has another act, and finishes all. It reports whether the first had more
// operations.
func (w *world) interleave(t testing.TB, what string, first act, n int, how pause, second act) bool {
	t.Helper()
	gate := &faults.Gate{At: n, Stop: w.stopped(t, what, how, second)}
	if err := first(w.machine(t, gate), t.Context()); how != lost && err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	w.finish(t, what)
	return int(gate.N.Load()) > n
}

// stopped has another machine act where one has stopped.
func (w *world) stopped(t testing.TB, what string, how pause, second act) func(
	func() (*http.Response, error)) (*http.Response, error) {
	return func(send func() (*http.Response, error)) (answer *http.Response, err error) {
		if how != before {
			answer, err = send()
		}
		if err := second(w.machine(t, nil), context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("%s: the second: %v", what, err)
		}
		switch {
		case how == before:
			return send()
		case how == lost && err == nil:
			_ = answer.Body.Close()
			return nil, errors.New("the answer was lost")
		}
		return answer, err
	}
}

func (w *world) must(t testing.TB, what string, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}

// finish has others do what is left, and looks at all that there is. A device may be in two tables for some time, and
// is in one at the end.
func (w *world) finish(t testing.TB, what string) {
	t.Helper()
	worlds := []*world{w}
	if w.there != nil {
		worlds = append(worlds, w.there)
		w.must(t, what, w.there.machine(t, nil).createAndMake(t.Context()))
	}
	for _, one := range worlds {
		m := one.machine(t, nil)
		w.must(t, what, m.make(t.Context(), june))
		w.must(t, what, m.make(t.Context(), july))
		w.must(t, what, m.checkpoint(t.Context()))
		one.check(t, what, false)
		w.must(t, what, m.cleanLater(t.Context()))
	}
	for _, one := range worlds {
		one.check(t, what, true)
	}
}

// check compares what a reader finds with what devices have sent.
func (w *world) check(t testing.TB, what string, cleaned bool) {
	t.Helper()
	blobs := w.blobs(t)
	r := replayed(blobs)
	if r.problem != "" || len(r.files) == 0 {
		t.Fatalf("%s: the log: %s", what, r.problem)
	}
	want := slices.Concat(w.sent(june), w.sent(july))
	slices.Sort(want)
	for n, files := range r.files {
		last := n == len(r.files)-1
		var found []string
		for _, f := range files {
			content, is := blobs[f]
			if !is && last {
				t.Errorf("%s: file %s of the newest version is not there", what, f)
			}
			if is {
				found = append(found, strings.Split(string(content), "\n")...)
			}
		}
		slices.Sort(found)
		if once := slices.Compact(slices.Clone(found)); len(once) != len(found) {
			t.Errorf("%s: version %d has readings twice: %q", what, n, found)
		}
		if last && !slices.Equal(found, want) {
			t.Errorf("%s: the newest version has %q, want %q", what, found, want)
		}
		for device, from := range w.erased {
			if int64(n) >= from && strings.Contains(strings.Join(found, "\n"), device+"/") {
				t.Errorf("%s: version %d shows device %s, which was erased before version %d", what, n, device, from)
			}
		}
		for _, reading := range found {
			if column := fmt.Sprintf(`"furrow.sensor":"of %c"`, reading[0]); !strings.Contains(r.schemas[n], column) {
				t.Errorf("%s: version %d has no column for %s", what, n, reading)
			}
		}
	}
	for name, content := range blobs {
		switch version := 0; {
		case strings.HasSuffix(name, ".checkpoint.parquet"):
			must.Have(fmt.Sscanf(name, "_delta_log/%020d", &version))(t)
			if paths := checkpointed(t, content); !slices.Equal(paths, r.files[version]) {
				t.Errorf("%s: the checkpoint of version %d has %q, the log %q", what, version, paths, r.files[version])
			}
		case strings.HasPrefix(name, "_delta_log/"):
		case cleaned && !slices.Contains(r.newest(), name):
			t.Errorf("%s: file %s, of no version, is still there", what, name)
		}
	}
	if cleaned {
		w.checkRows(t, what)
		m := w.machine(t, nil)
		for _, wrong := range must.Have(m.table.Verify(t.Context(), m.objects))(t) {
			t.Errorf("%s: %s", what, wrong)
		}
	}
}

// checkRows looks for rows that nobody will look at again.
func (w *world) checkRows(t testing.TB, what string) {
	t.Helper()
	c := w.catalog(t, nil)
	own := tables.Is(c.Table(w.tenant, "readings").Key())
	for e, err := range c.rows.Entities(t.Context(), tables.Query{Range: tables.Range{Partitions: own}}) {
		must.Succeed(t, err)
		if kind, _, _ := strings.Cut(e.RowKey, "!"); kind == "p" || kind == "r" {
			if strings.HasPrefix(e.RowKey, "r!") && e.Timestamp > tables.TicksOf(time.Now().Add(-time.Hour)) {
				continue
			}
			t.Errorf("%s: row %s is still there", what, e.RowKey)
		}
	}
}
