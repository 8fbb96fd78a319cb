package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/jobs/archive/catalog"
	"furrow/jobs/archive/delta"
	"furrow/tables"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// remove has the devices leave and all files with them, and removes the table.
func (m *machine) remove(ctx context.Context) error {
	return errors.Join(m.empty(ctx), m.removeEmpty(ctx))
}

func (m *machine) removeEmpty(ctx context.Context) error { return m.table.RemoveEmpty(ctx, m.objects) }

// empty erases all devices. Of a table that was removed, it leaves what is left to the removal.
func (m *machine) empty(ctx context.Context) error {
	m.forget(func(string) bool { return true })
	m.mu.Lock()
	m.erasing = true
	m.mu.Unlock()
	err := m.table.RaiseEpoch(ctx)
	for n := schema.Day(0); err == nil && n < 5; n++ {
		err = again(func() error {
			s, err := m.table.Begin(ctx, day+n)
			if err != nil || len(s.Files) == 0 {
				return err
			}
			some := s.Files[:min(len(s.Files), 40)]
			if err = m.replace(ctx, s, some, nil, true); err == nil && len(some) < len(s.Files) {
				err = catalog.ErrStale
			}
			return err
		})
	}
	if errors.Is(err, catalog.ErrAbsent) {
		return nil
	}
	return err
}

// makeAgain makes the table that was removed again, with other devices.
func (m *machine) makeAgain(ctx context.Context) error {
	m.forget(func(string) bool { return true })
	m.send(june, "b/9")
	err := m.table.Create(ctx, columns())
	if err == nil {
		err = m.make(ctx, june)
	}
	if err == nil {
		err = m.publish(ctx)
	}
	return err
}

// pauses returns those that a test tries: all of them if it is long, otherwise one in turn.
func pauses(turn int) []pause {
	all := []pause{before, after, lost}
	if effort.Long() {
		return all
	}
	return all[turn%len(all):][:1]
}

func columns() []delta.Column {
	return []delta.Column{{Name: "device", Type: delta.Text}, {Name: "date", Type: delta.Date}}
}

// days has days of cleaning go by.
func (w *world) days(t testing.TB, what string) {
	t.Helper()
	for n := range 3 {
		m := w.machine(t, faults.Later(time.Duration(n+1)*25*time.Hour))
		w.must(t, what, m.clean(t.Context()))
		w.must(t, what, m.table.Cleaner(m.objects).CleanLog(t.Context(), 7*24*time.Hour))
	}
}

// unlisted has cleaning come so much later that the table is listed no longer.
func (m *machine) unlisted(ctx context.Context) error {
	return m.table.Cleaner(m.objects).CleanLog(ctx, 7*24*time.Hour)
}

const monthLater = 31 * 24 * time.Hour

// TestATableThatIsMadeAgainIsListed, also while cleaning takes the removed one out of the list.
func TestATableThatIsMadeAgainIsListed(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	for _, cleans := range []bool{false, true} { // which of both stands still
		for at, more := 0, true; more; at++ {
			w := newWorld(t, a.another(t), "tenant")
			must.Succeed(t, w.machine(t, nil).remove(t.Context()))
			first, second := (*machine).unlisted, (*machine).makeAgain
			if !cleans {
				first, second = second, first
			}
			gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
				must.Succeed(t, second(w.machine(t, faults.Later(monthLater)), t.Context()))
				return send()
			}}
			later := faults.Func(func(r *http.Request) (*http.Response, error) {
				answer, err := gate.Do(r)
				if err == nil {
					answer.Header.Set("Date", time.Now().Add(monthLater).UTC().Format(http.TimeFormat))
				}
				return answer, err
			})
			must.Succeed(t, first(w.machine(t, later), t.Context()))
			if more = int(gate.N.Load()) > at; !more {
				break
			}
			all, err := w.catalog(t, nil).Tables(t.Context(), w.tenant)
			if err != nil || len(all) != 1 {
				t.Errorf("cleaning %v stops at %d: the list has %v, %v", cleans, at, all, err)
			}
		}
	}
}

// removedAll looks for what is left of a table that was removed.
func (w *world) removedAll(t testing.TB, what string) {
	t.Helper()
	if all, err := w.catalog(t, nil).Tables(t.Context(), w.tenant); err != nil || len(all) != 1 {
		t.Errorf("%s: it has to be listed while it is cleaned: %v, %v", what, all, err)
	}
	w.must(t, what, w.machine(t, faults.Later(monthLater)).unlisted(t.Context()))
	for name := range w.blobs(t) {
		t.Errorf("%s: blob %s is still there", what, name)
	}
	for e, err := range w.catalog(t, nil).rows.Entities(t.Context(), tables.Query{}) {
		must.Succeed(t, err)
		if w.there != nil && w.there.has(t, e) { // it stays
			continue
		}
		if e.RowKey != "head" && e.RowKey != "log" {
			t.Errorf("%s: row %s is still there", what, e.RowKey)
		}
		if text := string(must.Have(e.MarshalJSON())(t)); strings.Contains(text, string(w.tenant)) {
			t.Errorf("%s: a row still names the tenant: %s", what, text)
		}
	}
}

// has reports whether a row of the catalog is the table's.
func (w *world) has(t testing.TB, e tables.Entity) bool {
	t.Helper()
	return e.PartitionKey == w.catalog(t, nil).Table(w.tenant, "readings").Key() ||
		strings.HasPrefix(e.RowKey, "t!"+string(w.tenant)+schema.Separator)
}

// madeAgain looks at a table that was made again: a reader sees that alone.
func (w *world) madeAgain(t testing.TB, what string) {
	t.Helper()
	if problem := w.followed(t); problem != "" {
		t.Errorf("%s: %s", what, problem)
	}
	m := w.machine(t, nil)
	var files []catalog.File
	for f, err := range m.table.AllFiles(t.Context()) {
		must.Succeed(t, err)
		files = append(files, f)
	}
	if found, err := m.read(t.Context(), files...); err != nil || strings.Join(found, " ") != "b/9" {
		t.Errorf("%s: it has %q, %v", what, found, err)
	}
	for name := range w.blobs(t) {
		if n, is := delta.VersionOf(name); is && n < 3 {
			t.Errorf("%s: %s, of the table that was removed, is still there", what, name)
		}
	}
	for _, wrong := range must.Have(m.table.Verify(t.Context(), m.objects))(t) {
		t.Errorf("%s: %s", what, wrong)
	}
}

// TestARemovedTableStaysRemoved: a machine stops at an operation, the table is removed, and the machine goes on. It
// puts nothing back, whether the table stays removed or is made again.
func TestARemovedTableStaysRemoved(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	n := 0
	for _, first := range names() {
		for _, again := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, again %v", first, again), func(t *testing.T) {
				a := newAccount(t)
				for _, how := range pauses(n) {
					for at, more := n%effort.Step(11), true; more; at += effort.Step(11) {
						what := fmt.Sprintf("stopped %s operation %d", how, at)
						w := newWorld(t, a.another(t), fmt.Sprint("tenant", n))
						n++
						if more = w.removeAt(t, what, first, at, how, again); t.Failed() {
							t.FailNow()
						}
					}
				}
			})
		}
	}
	t.Logf("%d worlds", n)
}

func (w *world) removeAt(t testing.TB, what, first string, at int, how pause, again bool) bool {
	t.Helper()
	gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (answer *http.Response, err error) {
		if how != before {
			answer, err = send()
		}
		m := w.machine(t, nil)
		w.must(t, what, m.remove(t.Context()))
		if again {
			w.must(t, what, m.makeAgain(t.Context()))
		}
		switch {
		case how == before:
			return send()
		case how == lost && err == nil:
			_ = answer.Body.Close()
			return nil, errors.New("the answer was lost")
		}
		return answer, err
	}}
	err := actors[first](w.machine(t, gate), t.Context())
	if stopped := int(gate.N.Load()) > at; !stopped {
		w.must(t, what, err)
		return false
	}
	if err != nil && how != lost && !errors.Is(err, catalog.ErrAbsent) {
		t.Errorf("%s: %v", what, err)
	}
	if again {
		w.forget(func(string) bool { return true }) // what the machine has sent
		w.send(june, "b/9")
		m := w.machine(t, nil)
		w.must(t, what, m.make(t.Context(), june))
		w.must(t, what, m.make(t.Context(), july))
		w.must(t, what, m.checkpoint(t.Context()))
	}
	w.days(t, what)
	if again {
		w.madeAgain(t, what)
	} else {
		w.removedAll(t, what)
	}
	return true
}

// TestRemovalsAreKilledAndRepeated, or go on after others, and the table is made again by those.
func TestRemovalsAreKilledAndRepeated(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	for i, then := range []string{"nothing", "late", "clean", "publish", "again"} {
		for _, how := range pauses(i) {
			at := 0
			for more := true; more; at += effort.Step(5) {
				what := fmt.Sprintf("a removal stops %s operation %d, then %s", how, at, then)
				w := newWorld(t, a.another(t), "tenant"+then)
				gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (answer *http.Response, err error) {
					if how != before {
						answer, err = send()
					}
					m := w.machine(t, nil)
					var errThen error
					switch then {
					case "nothing":
					case "again":
						errThen = errors.Join(m.remove(t.Context()), m.makeAgain(t.Context()))
					default:
						errThen = actors[then](m, t.Context())
					}
					if errThen != nil && !errors.Is(errThen, catalog.ErrAbsent) {
						t.Errorf("%s: %v", what, errThen)
					}
					if how == before {
						return send()
					}
					if how == lost && err == nil {
						_ = answer.Body.Close()
						err = errors.New("the answer was lost")
					}
					return answer, err
				}}
				w.must(t, what, w.machine(t, nil).empty(t.Context()))
				err := w.machine(t, gate).removeEmpty(t.Context())
				if more = int(gate.N.Load()) > at; more && then == "again" {
					w.forget(func(string) bool { return true })
					w.send(june, "b/9")
					w.must(t, what, w.machine(t, nil).checkpoint(t.Context()))
					w.days(t, what)
					w.madeAgain(t, what)
					continue
				}
				if how != lost {
					w.must(t, what, err)
				}
				w.must(t, what, w.machine(t, nil).remove(t.Context()))
				w.days(t, what)
				if w.removedAll(t, what); t.Failed() {
					t.FailNow()
				}
			}
		}
	}
}

// TestATableIsMadeAgainWhileItsRemovalIsUnfinished: whoever removed it was killed.
func TestATableIsMadeAgainWhileItsRemovalIsUnfinished(t *testing.T) {
	t.Parallel()
	a := newAccount(t)
	for at, more := 0, true; more; at += effort.Step(2) {
		w := newWorld(t, a.another(t), "tenant")
		what := fmt.Sprint("killed at operation ", at)
		ctx, kill := context.WithCancel(t.Context())
		gate := &faults.Gate{At: at, Stop: func(func() (*http.Response, error)) (*http.Response, error) {
			kill()
			return nil, context.Canceled
		}}
		must.Succeed(t, w.machine(t, nil).empty(t.Context()))
		err := w.machine(t, gate).removeEmpty(ctx)
		if more = int(gate.N.Load()) > at; !more {
			must.Succeed(t, err)
		}
		kill()
		m := w.machine(t, nil)
		must.Succeed(t, m.remove(t.Context()))
		must.Succeed(t, m.makeAgain(t.Context()))
		w.days(t, what)
		w.madeAgain(t, what)
	}
}

// TestManyFilesAndDaysAreRemoved, more than one transaction has room for.
func TestManyFilesAndDaysAreRemoved(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t, newAccount(t), "tenant")
	m := w.machine(t, nil)
	for n := range 5 {
		s := must.Have(m.table.Begin(t.Context(), day+schema.Day(n)))(t)
		c := &catalog.Change{Days: []catalog.Day{s.Day(june), s.Day(july)}}
		for range 40 {
			f := must.Have(m.table.Pend(t.Context(), day+schema.Day(n)))(t)
			f.Months = []schema.Month{june}
			c.New = append(c.New, f)
		}
		must.Have(m.table.Commit(t.Context(), s, c))(t)
	}
	must.Succeed(t, m.remove(t.Context()))
	w.days(t, "many files")
	w.removedAll(t, "many files")
}
