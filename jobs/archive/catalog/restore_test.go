package catalog_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A backup is what there was at a moment.
type backup struct {
	rows   []tables.Entity
	blobs  map[string][]byte
	source map[schema.Month][]string
}

func (w *world) backup(t testing.TB) (b backup) {
	t.Helper()
	for e, err := range w.catalog(t, nil).rows.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		b.rows = append(b.rows, e)
	}
	b.blobs, b.source = w.blobs(t), map[schema.Month][]string{june: w.sent(june), july: w.sent(july)}
	return b
}

// restoreRows has the rows of a backup take the place of those that there are.
func (w *world) restoreRows(t testing.TB, b backup) {
	t.Helper()
	rows := w.catalog(t, nil).rows
	for e, err := range rows.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		must.Have(rows.Do(t.Context(), tables.Delete(e.PartitionKey, e.RowKey, tables.AnyETag)))(t)
	}
	for _, e := range b.rows {
		must.Have(rows.Do(t.Context(), tables.Insert(e)))(t)
	}
}

// restore also has the blobs of the backup, and what devices had sent.
func (w *world) restore(t testing.TB, b backup) {
	t.Helper()
	w.restoreRows(t, b)
	m := w.machine(t, nil)
	for name := range w.blobs(t) {
		must.Succeed(t, m.objects.Delete(t.Context(), m.table.Folder()+name))
	}
	for name, content := range b.blobs {
		must.Succeed(t, m.objects.Put(t.Context(), m.table.Folder()+name, content, ""))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.source, w.erased, w.erasing = maps.Clone(b.source), map[string]int64{}, false
}

// TestARestoreBesideAMachineLosesNothing: while one stands still, a backup is restored. Then each table gets a fresh
// log, as restoring asks for, before the machine goes on or afterwards. A request that cleaning has sent may delete a
// file that has come back: then Verify says so.
func TestARestoreBesideAMachineLosesNothing(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	tried := 0
	for _, name := range names() {
		for at, more := 0, true; more; at += effort.Step(4) {
			for _, freshFirst := range []bool{true, false} {
				what := fmt.Sprintf("%s stops at operation %d, a fresh log before it goes on: %v", name, at, freshFirst)
				w := newWorld(t, a.another(t), fmt.Sprint("b", tried))
				tried++
				more = w.restoredAt(t, what, name, at, freshFirst)
				if t.Failed() {
					t.FailNow()
				}
			}
		}
	}
	t.Logf("%d worlds", tried)
}

func (w *world) restoredAt(t testing.TB, what, name string, at int, freshFirst bool) bool {
	t.Helper()
	b, m := w.backup(t), w.machine(t, nil)
	w.must(t, what, errors.Join(m.late(t.Context()), m.merge(t.Context()), m.checkpoint(t.Context()), m.late(t.Context())))
	restored := false
	gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
		w.restore(t, b)
		if restored = true; freshFirst {
			w.must(t, what, m.fresh(t.Context()))
		}
		return send()
	}}
	err := actors[name](w.machine(t, gate), t.Context()) // may fail: what it has seen has gone
	if !restored {
		w.must(t, what, err)
		return false
	}
	if !freshFirst {
		w.must(t, what, m.fresh(t.Context()))
	}
	missing := 0
	for _, wrong := range must.Have(m.table.Verify(t.Context(), m.objects))(t) {
		if strings.HasSuffix(wrong, "is not there") {
			missing++
		}
	}
	w.must(t, what, errors.Join(m.make(t.Context(), june), m.make(t.Context(), july), m.checkpoint(t.Context())))
	if problem := w.followed(t); problem != "" {
		t.Errorf("%s: %s", what, problem)
	}
	s := must.Have(m.table.Begin(t.Context(), day))(t)
	found, err := m.read(t.Context(), s.Files...)
	w.must(t, what, err)
	want := slices.Concat(w.sent(june), w.sent(july))
	slices.Sort(found)
	if slices.Sort(want); !slices.Equal(found, want) {
		t.Errorf("%s: the table has %q, want %q", what, found, want)
	}
	if missing > 0 && !strings.Contains(name, "clean") && name != "days later" {
		t.Errorf("%s: %d files were missing", what, missing)
	}
	return true
}
