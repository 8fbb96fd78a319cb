package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
)

// eraseAll erases a device, and ends the versions that had it.
func (m *machine) eraseAll(ctx context.Context) error {
	err := m.erase(ctx, "a")
	if err == nil {
		err = m.table.Cleaner(m.objects).EndVersions(ctx)
	}
	return err
}

// TestABlobThatNoRowKnowsGoesAfterAnErasure: a job stands still between naming its file and putting it, for longer than
// cleaning remembers the name. Its device is erased, it puts the blob, and is killed.
func TestABlobThatNoRowKnowsGoesAfterAnErasure(t *testing.T) {
	t.Parallel()
	w := newWorld(t, newAccount(t), "strays")
	m := w.machine(t, nil)
	f := must.Have(m.table.Pend(t.Context(), day))(t)
	for n := range 3 {
		must.Succeed(t, w.machine(t, faults.Later(time.Duration(n+1)*25*time.Hour)).clean(t.Context()))
	}
	must.Succeed(t, m.eraseAll(t.Context()))
	must.Succeed(t, m.objects.Put(t.Context(), m.table.Path(&f), []byte("a/1"), ""))
	w.days(t, "stray")
	for _, wrong := range must.Have(m.table.Verify(t.Context(), m.objects))(t) {
		t.Error(wrong)
	}
	must.Succeed(t, m.objects.Put(t.Context(), m.table.Path(&f), []byte("a/1"), ""))
	later := w.machine(t, faults.Later(31*24*time.Hour))
	must.Succeed(t, later.table.Cleaner(later.objects).CleanLog(t.Context(), 7*24*time.Hour))
	if _, err := m.read(t.Context(), f); err != nil {
		t.Error("the folder is listed for longer than thirty days")
	}
}

// TestNoFileOfAJobIsTakenForAStray: others work while the folder is compared with rows.
func TestNoFileOfAJobIsTakenForAStray(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	for _, other := range []string{"late", "merge", "retire"} {
		for _, stop := range effort.Of(20, 7) { // where the other stands still until the folder was listed
			for at, more := 0, true; more; at += effort.Step(2) {
				what := fmt.Sprintf("%s stops at %d, goes on at operation %d of listing", other, stop, at)
				w := newWorld(t, a, fmt.Sprintf("s%s-%d-%d", other, stop, at))
				must.Succeed(t, w.machine(t, nil).eraseAll(t.Context()))
				turn := w.start(t, other, stop)
				turn.next()
				gate := &faults.Gate{At: at, Stop: func(send func() (*http.Response, error)) (*http.Response, error) {
					turn.next()
					return send()
				}}
				m := w.machine(t, gate)
				must.Succeed(t, m.table.Cleaner(m.objects).CleanLog(t.Context(), 0))
				more = int(gate.N.Load()) > at
				turn.next()
				must.Succeed(t, errors.Join(turn.err, w.machine(t, nil).checkpoint(t.Context())))
				if problem := w.followed(t); problem != "" {
					t.Errorf("%s: %s", what, problem)
				}
				for _, wrong := range must.Have(m.table.Verify(t.Context(), w.machine(t, nil).objects))(t) {
					t.Errorf("%s: %s", what, wrong)
				}
			}
		}
	}
}
