package sas

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"net/http"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// newEnrollments returns an empty table of enrollments in an account of its own.
func newEnrollments(t *testing.T) (*Enrollments, tables.Account) {
	t.Helper()
	served := azuretest.Local(t)
	account := must.Have(tables.ParseAccount(served.ConnectionString()))(t)
	c := must.Have(tables.Connect(tables.Config{Account: account}))(t)
	n := &Enrollments{Table: c.Table("enrollments"), SealingKey: NewSealingKey()}
	must.Succeed(t, n.Table.Create(t.Context()))
	return n, account
}

func plant(id schema.EnrollmentID) schema.Enrollment {
	return schema.Enrollment{ID: id, Tenant: "contoso", Readings: "readings", Life: time.Hour, Backfill: 24 * time.Hour}
}

func TestEnrollmentIsReadAsItWasAdded(t *testing.T) {
	n, _ := newEnrollments(t)
	primary := NewKey()
	added := must.Have(n.Add(t.Context(), plant("line4"), primary, nil))(t)
	if added.Admits != 25*time.Hour {
		t.Errorf("it admits rows of %v", added.Admits)
	}
	for _, find := range []func() (schema.Enrollment, error){
		func() (schema.Enrollment, error) { return n.Get(t.Context(), "line4") },
		func() (schema.Enrollment, error) { return n.Find(t.Context(), "line4") },
		func() (schema.Enrollment, error) {
			all, err := n.All(t.Context())
			return all[0], err
		},
	} {
		if got, err := find(); err != nil || !reflect.DeepEqual(got, added) {
			t.Errorf("got  %+v, %v\nwant %+v", got, err, added)
		}
	}
	keys, err := n.Keys(added)
	if err != nil || len(keys) != 2 || keys[0].Base64() != primary.Base64() || len(keys[1]) != maxKey {
		t.Errorf("its keys are %v, %v", keys, err)
	}
	if _, err := n.Add(t.Context(), plant("line4"), nil, nil); !errors.Is(err, tables.ErrExists) {
		t.Errorf("it can be added twice: %v", err)
	}
	if got, err := n.Get(t.Context(), "line4"); err != nil || got.ETag != added.ETag {
		t.Errorf("adding it twice has changed it (%v)", err)
	}
	for _, find := range []func(context.Context, schema.EnrollmentID) (schema.Enrollment, error){n.Get, n.Find} {
		if _, err := find(t.Context(), "line5"); !errors.Is(err, ErrNoEnrollment) {
			t.Errorf("an unknown enrollment: %v", err)
		}
	}
}

func TestFleetWithoutEnrollmentsHasNone(t *testing.T) {
	n, _ := newEnrollments(t)
	must.Succeed(t, n.Table.Delete(t.Context()))
	if all, err := n.All(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("All is %v, %v", all, err)
	}
	for _, find := range []func(context.Context, schema.EnrollmentID) (schema.Enrollment, error){n.Get, n.Find} {
		if _, err := find(t.Context(), "line5"); !errors.Is(err, ErrNoEnrollment) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestOneSealingKeySealsAllEnrollments(t *testing.T) {
	n, _ := newEnrollments(t)
	e := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	other := &Enrollments{Table: n.Table, SealingKey: NewSealingKey()}
	if _, err := other.Keys(e); !errors.Is(err, ErrSealingKey) {
		t.Errorf("another sealing key opens its keys: %v", err)
	}
	if _, err := other.Add(t.Context(), plant("line5"), nil, nil); !errors.Is(err, ErrSealingKey) {
		t.Errorf("another sealing key adds an enrollment: %v", err)
	}
	if _, err := other.Rotate(t.Context(), "line4"); !errors.Is(err, ErrSealingKey) {
		t.Errorf("another sealing key rotates its keys: %v", err)
	}
}

// TestIssuerWithAnotherSealingKeyIsNotReady, unless nobody needs it, or it opens the keys of some enrollment.
func TestIssuerWithAnotherSealingKeyIsNotReady(t *testing.T) {
	n, account := newEnrollments(t)
	c := must.Have(tables.Connect(tables.Config{Account: account}))(t)
	registry := Registry{Devices: c.Table("devices")}
	must.Succeed(t, registry.Devices.Create(t.Context()))
	var authorities func() *x509.CertPool
	ready := func(key SealingKey) error {
		started := &Enrollments{Table: n.Table, SealingKey: key}
		i := must.Have(NewIssuer(IssuerConfig{Account: account, Enrollments: started, Registry: registry,
			Authorities: authorities}))(t)
		return i.Ready(t.Context())
	}
	must.Succeed(t, ready(NewSealingKey()))
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	must.Succeed(t, ready(n.SealingKey))
	if err := ready(NewSealingKey()); !errors.Is(err, ErrSealingKey) {
		t.Errorf("with another sealing key: %v", err)
	}
	authorities = x509.NewCertPool
	must.Succeed(t, ready(NewSealingKey()))
	authorities = nil
	foreign := plant("foreign")
	foreign.Primary = must.Have(NewSealingKey().Seal(NewKey(), foreign.ID, Primary, 1))(t)
	must.Have(n.Table.Do(t.Context(), tables.Insert(must.Have(foreign.Entity())(t))))(t)
	must.Succeed(t, ready(n.SealingKey))
}

func TestReplacedSealingKeyOpensKeysWithoutARestart(t *testing.T) {
	n, _ := newEnrollments(t)
	e := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	now := NewSealingKey()
	started := &Enrollments{Table: n.Table, SealingKey: NewSealingKey(), Reread: func() SealingKey { return now }}
	if _, err := started.Keys(e); !errors.Is(err, ErrSealingKey) {
		t.Errorf("a wrong sealing key, and another wrong one: %v", err)
	}
	now = n.SealingKey
	want := must.Have(n.Keys(e))(t)
	same := func(a, b Key) bool { return bytes.Equal(a, b) }
	if got, err := started.Keys(e); err != nil || !slices.EqualFunc(got, want, same) {
		t.Errorf("after the right one came: %v", err)
	}
	now = NewSealingKey()
	if _, err := started.Keys(e); err != nil {
		t.Errorf("a key that was opened: %v", err)
	}
}

func TestLongTokensNeedTheirOwnTable(t *testing.T) {
	n, _ := newEnrollments(t)
	long := plant("boots")
	long.Life, long.Readings = 30*24*time.Hour, "readingsboots"
	for _, e := range []schema.Enrollment{plant("line4"), plant("line5"), long} {
		must.Have(n.Add(t.Context(), e, nil, nil))(t)
	}
	intruder := plant("line6")
	intruder.Readings = "ReadingsBoots" // the same table to storage
	if _, err := n.Add(t.Context(), intruder, nil, nil); err == nil {
		t.Error("an enrollment was added to the table of one with a long life")
	}
	long.ID, long.Readings = "boots2", "readings"
	if _, err := n.Add(t.Context(), long, nil, nil); err == nil {
		t.Error("an enrollment with a long life was added to the table of others")
	}
	setLife := func(id schema.EnrollmentID, life time.Duration) error {
		_, err := n.Change(t.Context(), id, func(e *schema.Enrollment) error { e.Life = life; return nil })
		return err
	}
	if setLife("line4", LongLife+time.Second) == nil {
		t.Error("an enrollment in the table of others got a long life")
	}
	if err := setLife("boots", 60*24*time.Hour); err != nil {
		t.Errorf("an enrollment with its own table: %v", err)
	}
}

func TestAdmitsNeverDecreases(t *testing.T) {
	n, _ := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	for _, step := range []struct{ life, backfill, admits time.Duration }{
		{time.Minute, 24 * time.Hour, 25 * time.Hour}, {time.Minute, 0, 25 * time.Hour},
		{12 * time.Hour, 24 * time.Hour, 36 * time.Hour}, {time.Hour, 0, 36 * time.Hour},
	} {
		e, err := n.Change(t.Context(), "line4", func(e *schema.Enrollment) error {
			e.Life, e.Backfill, e.Admits = step.life, step.backfill, 0
			return nil
		})
		if err != nil || e.Admits != step.admits {
			t.Errorf("after %+v it admits %v, %v", step, e.Admits, err)
		}
	}
}

// TestAdmitsStaysWhereALongerLifeIsUndone: an endpoint may have issued a token with it in between.
func TestAdmitsStaysWhereALongerLifeIsUndone(t *testing.T) {
	n, account := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("boots"), nil, nil))(t)
	var meanwhile sync.Once
	client := must.Have(tables.Connect(tables.Config{Account: account,
		Transport: faults.Func(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodPut {
				meanwhile.Do(func() { must.Have(n.Add(t.Context(), plant("valves"), nil, nil))(t) })
			}
			return http.DefaultClient.Do(r)
		})}))(t)
	other := &Enrollments{Table: client.Table("enrollments"), SealingKey: n.SealingKey}
	_, err := other.Change(t.Context(), "boots", func(e *schema.Enrollment) error {
		e.Life = 30 * LongLife
		return nil
	})
	if e := must.Have(n.Get(t.Context(), "boots"))(t); err == nil || e.Life != time.Hour || e.Admits < 30*LongLife {
		t.Errorf("the life is %v, and rows of %v are admitted, after %v", e.Life, e.Admits, err)
	}
}

func TestConcurrentEnrollmentChangesLoseNothing(t *testing.T) {
	n, _ := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := n.Change(t.Context(), "line4", func(e *schema.Enrollment) error { e.Batch++; return nil }); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if e, err := n.Get(t.Context(), "line4"); err != nil || e.Batch != 4 {
		t.Errorf("the batch is %d, %v", e.Batch, err)
	}
}

func TestRotationKeepsThePrimaryKeyAsSecondary(t *testing.T) {
	n, _ := newEnrollments(t)
	e := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	before := must.Have(n.Keys(e))(t)
	e, err := n.Rotate(t.Context(), "line4")
	must.Succeed(t, err)
	after := must.Have(n.Keys(e))(t)
	if after[1].Base64() != before[0].Base64() {
		t.Error("the old primary key is not the secondary")
	}
	if after[0].Base64() == before[0].Base64() || after[0].Base64() == before[1].Base64() {
		t.Error("the primary key is not new")
	}
}

// An interposed transport calls before ahead of the first request of a method, and may lose its
// answer.
type interposed struct {
	method string
	once   sync.Once
	before func()
	lose   bool
}

func (i *interposed) Do(r *http.Request) (*http.Response, error) {
	first := false
	if r.Method == i.method {
		i.once.Do(func() { first = true })
	}
	if first && i.before != nil {
		i.before()
	}
	res, err := http.DefaultClient.Do(r)
	if first && i.lose && err == nil {
		res.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	return res, err
}

// through returns the same enrollments as reached through a transport.
func (n *Enrollments) through(t *testing.T, account tables.Account, transport policy.Transporter) *Enrollments {
	t.Helper()
	c, err := tables.Connect(tables.Config{Account: account, Transport: transport,
		Retry: policy.RetryOptions{RetryDelay: time.Millisecond}})
	must.Succeed(t, err)
	return &Enrollments{Table: c.Table(n.Table.Name), SealingKey: n.SealingKey}
}

// Two rotations would end the key that devices have.
func TestConcurrentRotationsRotateOnce(t *testing.T) {
	n, account := newEnrollments(t)
	e := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	before := must.Have(n.Keys(e))(t)
	slow := n.through(t, account, &interposed{method: http.MethodPut, before: func() {
		must.Have(n.Rotate(t.Context(), "line4"))(t)
	}})
	if _, err := slow.Rotate(t.Context(), "line4"); !errors.Is(err, tables.ErrConflict) {
		t.Errorf("the slower one ends with %v", err)
	}
	e, err := n.Get(t.Context(), "line4")
	must.Succeed(t, err)
	if after, err := n.Keys(e); err != nil || after[1].Base64() != before[0].Base64() {
		t.Errorf("the key of the devices no longer works (%v)", err)
	}
}

func TestRotationSurvivesConcurrentChanges(t *testing.T) {
	n, account := newEnrollments(t)
	must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	slow := n.through(t, account, &interposed{method: http.MethodPut, before: func() {
		must.Have(n.Change(t.Context(), "line4", func(e *schema.Enrollment) error { e.Disabled = true; return nil }))(t)
	}})
	if e, err := slow.Rotate(t.Context(), "line4"); err != nil || !e.Disabled {
		t.Errorf("it ends with %+v, %v", e, err)
	}
}

func TestLostAnswersChangeNothing(t *testing.T) {
	n, account := newEnrollments(t)
	adding := n.through(t, account, &interposed{method: http.MethodPost, lose: true})
	e := must.Have(adding.Add(t.Context(), plant("line4"), nil, nil))(t)
	before := must.Have(n.Keys(e))(t)
	e, err := n.through(t, account, &interposed{method: http.MethodPut, lose: true}).Rotate(t.Context(), "line4")
	must.Succeed(t, err)
	if after, err := n.Keys(e); err != nil || after[1].Base64() != before[0].Base64() {
		t.Errorf("a rotation was done twice (%v)", err)
	}
}
