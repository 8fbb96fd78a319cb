package catalog_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// spoilt are states of a log from which only a fresh one helps.
var spoilt = map[string]func(*world, testing.TB){
	"foreign version": func(w *world, t testing.TB) {
		m := w.machine(t, nil)
		log := replayed(w.blobs(t))
		next, own := len(log.files), log.newest()[0]
		foreign := `{"commitInfo":{"operation":"OPTIMIZE","operationParameters":{"targetSize":104857600}}}
{"remove":{"path":"` + own + `","deletionTimestamp":1,"dataChange":false}}
{"add":{"path":"date%3D0055-10-05/part-0.parquet","partitionValues":{"date":null},"size":1,"modificationTime":1,` +
			`"dataChange":false,"tags":{"a":"b"}}}
`
		must.Succeed(t, m.objects.Put(t.Context(), fmt.Sprintf("%s_delta_log/%020d.json", m.table.Folder(), next),
			[]byte(foreign), ""))
		must.Succeed(t, m.late(t.Context()))
		if err := m.publish(t.Context()); !errors.Is(err, catalog.ErrForeign) {
			t.Errorf("publishing into a foreign log: %v", err)
		}
	},
	"deleted log": func(w *world, t testing.TB) {
		m := w.machine(t, nil)
		for name := range w.blobs(t) {
			if strings.HasPrefix(name, "_delta_log/") {
				must.Succeed(t, m.objects.Delete(t.Context(), m.table.Folder()+name))
			}
		}
	},
	"damaged pointer": func(w *world, t testing.TB) {
		m := w.machine(t, nil)
		must.Succeed(t, m.checkpoint(t.Context()))
		name := m.table.Folder() + "_delta_log/_last_checkpoint"
		must.Succeed(t, m.objects.Delete(t.Context(), name))
		must.Succeed(t, m.objects.Put(t.Context(), name, []byte("{"), ""))
	},
	"older catalog": func(w *world, t testing.TB) {
		m := w.machine(t, nil)
		before := w.backup(t)
		must.Succeed(t, m.late(t.Context()))
		must.Succeed(t, m.checkpoint(t.Context()))
		must.Succeed(t, m.late(t.Context()))
		must.Succeed(t, m.publish(t.Context()))
		w.restoreRows(t, before)
	},
}

// fresh makes a fresh log.
func (m *machine) fresh(ctx context.Context) error { return m.table.Log(m.objects).FreshLog(ctx) }

// freshly looks at a fresh log: it has the truth, for readers who open it and for those who had the old one open.
func (w *world) freshly(t testing.TB, what string, old map[string]bool, newest int) {
	t.Helper()
	blobs := w.blobs(t)
	if problem := w.followed(t); problem != "" {
		t.Errorf("%s: %s", what, problem)
	}
	var last struct{ Version int }
	must.Succeed(t, json.Unmarshal(blobs["_delta_log/_last_checkpoint"], &last))
	live := maps.Clone(old)
	for n := newest + 1; n <= last.Version; n++ { // a reader that had the newest version of the old log
		file, is := blobs[fmt.Sprintf("_delta_log/%020d.json", n)]
		if !is {
			live = nil // and has to open it again
			break
		}
		must.Succeed(t, follow(file, live))
	}
	if paths := checkpointed(t, blobs[fmt.Sprintf("_delta_log/%020d.checkpoint.parquet", last.Version)]); live != nil &&
		!slices.Equal(slices.Sorted(maps.Keys(live)), paths) {
		t.Errorf("%s: whoever had the old log open finds %q, who opens it %q", what, slices.Sorted(maps.Keys(live)), paths)
	}
	first := string(blobs[fmt.Sprintf("_delta_log/%020d.json", last.Version)])
	_, id, is := strings.Cut(first, `"metaData":{"id":"`)
	if !is || !strings.Contains(first, `"protocol"`) {
		t.Errorf("%s: the log begins with %s", what, first)
	}
	for n := range last.Version {
		if is && strings.Contains(string(blobs[fmt.Sprintf("_delta_log/%020d.json", n)]), id[:36]) {
			t.Errorf("%s: version %d has the id of the fresh log", what, n)
		}
	}
}

// opened returns what a reader finds in a log, and its newest version.
func (w *world) opened(t testing.TB) (live map[string]bool, newest int) {
	t.Helper()
	live, blobs := map[string]bool{}, w.blobs(t)
	for newest = 0; blobs[fmt.Sprintf("_delta_log/%020d.json", newest)] != nil; newest++ {
		must.Succeed(t, follow(blobs[fmt.Sprintf("_delta_log/%020d.json", newest)], live))
	}
	return live, newest - 1
}

// TestAFreshLogHasTheTruth: another publishes, works, cleans, erases or makes a fresh log while it is made, or its
// maker is killed and another makes it.
func TestAFreshLogHasTheTruth(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	n := 0
	for _, state := range slices.Sorted(maps.Keys(spoilt)) {
		for _, then := range []string{"killed", "late", "publish", "checkpoint", "clean", "fresh", "erase"} {
			t.Run(state+", "+then, func(t *testing.T) {
				a := newAccount(t)
				for _, how := range pauses(n) {
					for at, more := 3*n%effort.Step(23), true; more; at += effort.Step(23) {
						what := fmt.Sprintf("stopped %s operation %d", how, at)
						w := newWorld(t, a.another(t), fmt.Sprint("f", n))
						n++
						must.Succeed(t, w.machine(t, nil).publish(t.Context()))
						spoilt[state](w, t)
						if more = w.freshAt(t, what, at, how, then); t.Failed() {
							t.FailNow()
						}
					}
				}
			})
		}
	}
	t.Logf("%d worlds", n)
}

// TestACommitBesideAFreshLogIsAboveIt: a commit stands still at each of its operations, while others make a fresh log,
// whose numbers are above that of somebody else.
func TestACommitBesideAFreshLogIsAboveIt(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	const foreign = 20_000 // further than the numbers that a fresh log leaves out
	for at, more := 0, true; more; at++ {
		w := newWorld(t, a, fmt.Sprint("above", at))
		must.Succeed(t, w.machine(t, nil).publish(t.Context()))
		gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
			m := w.machine(t, nil)
			must.Succeed(t, m.objects.Put(t.Context(), m.table.Folder()+delta.VersionFile(foreign), []byte("{}"), ""))
			must.Succeed(t, m.fresh(t.Context()))
			return send()
		}}
		must.Succeed(t, w.machine(t, gate).late(t.Context()))
		must.Succeed(t, w.machine(t, nil).publish(t.Context()))
		if more = int(gate.N.Load()) > at; !more {
			break
		}
		if problem := w.followed(t); problem != "" {
			t.Errorf("a fresh log at operation %d: %s", at, problem)
		}
		if s := must.Have(w.machine(t, nil).table.State(t.Context()))(t); s.Published <= foreign+1 {
			t.Errorf("a fresh log at operation %d: what is committed then is version %d", at, s.Published)
		}
	}
}

// TestOthersBesideAFreshLogLoseNothing: a machine stands still at an operation while a fresh log is made, as after a
// restore, and goes on.
func TestOthersBesideAFreshLogLoseNothing(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	tried := 0
	for _, name := range names() {
		for _, how := range []pause{before, after, lost} {
			for at, more := tried%effort.Step(6), true; more; at += effort.Step(6) {
				what := fmt.Sprintf("%s stops %s operation %d, then a fresh log", name, how, at)
				w := newWorld(t, a, fmt.Sprint("o", tried))
				tried++
				gate := &faults.Gate{At: at, Stop: w.stopped(t, what, how, (*machine).fresh)}
				if err := actors[name](w.machine(t, gate), t.Context()); how != lost {
					w.must(t, what, err)
				}
				m := w.machine(t, nil)
				w.must(t, what, errors.Join(m.make(t.Context(), june), m.make(t.Context(), july), m.checkpoint(t.Context())))
				if problem := w.followed(t); problem != "" {
					t.Errorf("%s: %s", what, problem)
				}
				s := must.Have(m.table.Begin(t.Context(), day))(t)
				found := must.Have(m.read(t.Context(), s.Files...))(t)
				want := slices.Concat(w.sent(june), w.sent(july))
				slices.Sort(found)
				if slices.Sort(want); !slices.Equal(found, want) {
					t.Errorf("%s: the table has %q, want %q", what, found, want)
				}
				if more = int(gate.N.Load()) > at; t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d worlds", tried)
}

func (w *world) freshAt(t testing.TB, what string, at int, how pause, then string) bool {
	t.Helper()
	old, newest := w.opened(t)
	ctx, kill := context.WithCancel(t.Context())
	defer kill()
	gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (answer *http.Response, err error) {
		if how != before {
			answer, err = send()
		}
		m := w.machine(t, nil)
		var errThen error
		switch then {
		case "killed":
			kill()
		case "fresh":
			errThen = m.fresh(t.Context())
		case "erase":
			if errThen = m.eraseAll(t.Context()); errors.Is(errThen, catalog.ErrForeign) {
				errThen = nil
			}
		case "late", "clean":
			errThen = actors[then](m, t.Context())
		default:
			if errThen = actors[then](m, t.Context()); errors.Is(errThen, catalog.ErrForeign) {
				errThen = nil
			}
		}
		w.must(t, what, errThen)
		if how == before {
			return send()
		}
		if how == lost && err == nil {
			_ = answer.Body.Close()
			err = errors.New("the answer was lost")
		}
		return answer, err
	}}
	if err := w.machine(t, gate).fresh(ctx); how != lost && then != "killed" {
		w.must(t, what, err)
	} else if err != nil {
		w.must(t, what, w.machine(t, nil).fresh(t.Context()))
	}
	if then != "erase" && then != "checkpoint" && then != "late" {
		w.freshly(t, what, old, newest)
	}
	m := w.machine(t, nil)
	if then == "erase" { // the log was foreign meanwhile: it is told to be repeated
		w.must(t, what, m.eraseAll(t.Context()))
	}
	w.must(t, what, m.late(t.Context()))
	w.must(t, what, m.checkpoint(t.Context()))
	if problem := w.followed(t); problem != "" {
		t.Errorf("%s: later: %s", what, problem)
	}
	w.must(t, what, m.table.Cleaner(m.objects).CleanLog(t.Context(), 0))
	if problem := w.followed(t); problem != "" {
		t.Errorf("%s: cleaned: %s", what, problem)
	}
	if then == "erase" {
		for name, content := range w.blobs(t) {
			if strings.HasPrefix(name, "_delta_log/") && strings.Contains(string(content), "a/") {
				t.Errorf("%s: %s names the erased device", what, name)
			}
		}
	}
	return int(gate.N.Load()) > at
}
