package sas

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A killing transport lets some writes through, then one whose answer is lost, and nothing more.
type killing struct{ writes atomic.Int32 }

func (k *killing) Do(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodGet && k.writes.Load() >= 0 {
		return http.DefaultClient.Do(r)
	}
	left := k.writes.Add(-1)
	if left < -1 {
		return nil, errors.New("killed")
	}
	res, err := http.DefaultClient.Do(r)
	if err == nil && left < 0 {
		res.Body.Close()
		return nil, errors.New("killed")
	}
	return res, err
}

// replaced returns a new SealingKey that knows one that it replaces.
func replaced(t *testing.T, m SealingKey) SealingKey {
	t.Helper()
	return must.Have(ParseSealingKey(NewSealingKey().Base64() + "\nformer\n" + m.Base64() + "\n"))(t)
}

// Whoever knows both keys opens every enrollment, wherever the process that seals them again is killed. Run again, it
// completes, and the former key is needed no longer.
func TestResealingLosesNothingWhereverItIsKilled(t *testing.T) {
	n, account := newEnrollments(t)
	was := map[schema.EnrollmentID][]Key{}
	for i := range 3 {
		e := must.Have(n.Add(t.Context(), plant(schema.EnrollmentID(fmt.Sprint("line", i))), nil, nil))(t)
		was[e.ID] = must.Have(n.Keys(e))(t)
	}
	opens := func(n *Enrollments, what string) (open int) {
		t.Helper()
		for _, e := range must.Have(n.All(t.Context()))(t) {
			keys, err := n.Keys(e)
			if err == nil && !slices.EqualFunc(keys, was[e.ID], func(a, b Key) bool { return bytes.Equal(a, b) }) {
				t.Errorf("%s: enrollment %s has other keys", what, e.ID)
			}
			if err == nil {
				open++
			}
		}
		return open
	}
	for after := range len(was) {
		former := n.SealingKey
		n = n.through(t, account, nil)
		n.SealingKey = replaced(t, former)
		dying := &killing{}
		dying.writes.Store(int32(after))
		if _, err := n.through(t, account, dying).Reseal(t.Context()); err == nil {
			t.Fatal("it was not killed")
		}
		endpoint := &Enrollments{Table: n.Table, SealingKey: former, Reread: func() SealingKey { return n.SealingKey }}
		if got := opens(endpoint, "both keys"); got != len(was) {
			t.Errorf("killed after %d writes, both keys open %d", after, got)
		}
		own := &Enrollments{Table: n.Table, SealingKey: n.SealingKey.WithoutFormer()}
		if got := opens(own, "the new key"); got != after+1 {
			t.Errorf("killed after %d writes, the new key opens %d", after, got)
		}
		if resealed, err := n.Reseal(t.Context()); err != nil || resealed != len(was)-after-1 {
			t.Errorf("run again, it seals %d, %v", resealed, err)
		}
		if got := opens(own, "the new key"); got != len(was) {
			t.Errorf("in the end, the new key opens %d", got)
		}
		if got := opens(&Enrollments{Table: n.Table, SealingKey: former}, "the former key"); got != 0 {
			t.Errorf("in the end, the former key opens %d", got)
		}
	}
}

// Keys that leaked and were rotated could otherwise be put back just before, and would be sealed as the newest.
func TestResealingDoesNotRenewOldKeys(t *testing.T) {
	n, _ := newEnrollments(t)
	leaked := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	must.Have(n.Rotate(t.Context(), "line4"))(t)
	must.Have(n.Find(t.Context(), "line4"))(t)
	n.putBack(t, leaked)
	operator := &Enrollments{Table: n.Table, SealingKey: replaced(t, n.SealingKey)}
	n.Reread = func() SealingKey { return operator.SealingKey }
	must.Have(operator.Reseal(t.Context()))(t)
	if _, err := n.Find(t.Context(), "line4"); !errors.Is(err, ErrOldKey) {
		t.Errorf("an endpoint that has seen newer keys finds %v", err)
	}
}

func TestResealingNamesEachEnrollmentThatItCannotOpen(t *testing.T) {
	n, _ := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	other := plant("line5")
	must.Succeed(t, (&Enrollments{SealingKey: NewSealingKey()}).seal(&other, nil, nil))
	n.putBack(t, other)
	n.SealingKey = replaced(t, n.SealingKey)
	resealed, err := n.Reseal(t.Context())
	if resealed != 1 || !errors.Is(err, ErrSealingKey) {
		t.Errorf("%d, %v", resealed, err)
	}
	if _, err := (&Enrollments{Table: n.Table}).Reseal(t.Context()); !errors.Is(err, ErrNoSealingKey) {
		t.Errorf("without a key: %v", err)
	}
}

// A rotation by a process that has only the former key is found by the next pass.
func TestResealingMeetsARotation(t *testing.T) {
	n, account := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	slow := n.through(t, account, &interposed{method: http.MethodPut, before: func() {
		must.Have(n.Rotate(t.Context(), "line4"))(t)
	}})
	slow.SealingKey = replaced(t, n.SealingKey)
	must.Have(slow.Reseal(t.Context()))(t)
	e := must.Have(n.Get(t.Context(), "line4"))(t)
	own := &Enrollments{SealingKey: slow.SealingKey.WithoutFormer()}
	if _, err := own.Keys(e); err != nil {
		t.Error(err)
	}
}
