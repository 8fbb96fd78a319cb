package sas

import (
	"encoding/base64"
	"errors"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// expire makes the next Find read storage.
func (n *Enrollments) expire() {
	n.recent.mu.Lock()
	defer n.recent.mu.Unlock()
	n.recent.at = time.Time{}
}

func (n *Enrollments) putBack(t *testing.T, e schema.Enrollment) {
	t.Helper()
	row := must.Have(e.Entity())(t)
	must.Have(n.Table.Do(t.Context(), tables.InsertOrReplace(row)))(t)
	n.expire()
}

func TestRotatedKeysCannotBePutBack(t *testing.T) {
	n, _ := newEnrollments(t)
	leaked := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	_, err := n.Add(t.Context(), plant("line5"), nil, nil)
	must.Succeed(t, err)
	must.Have(n.Find(t.Context(), "line4"))(t)
	var now schema.Enrollment
	for range 2 { // the first keeps the leaked primary key as the secondary
		now = must.Have(n.Rotate(t.Context(), "line4"))(t)
	}
	n.expire()
	if _, err := n.Find(t.Context(), "line4"); err != nil {
		t.Errorf("after two rotations: %v", err)
	}

	n.putBack(t, leaked)
	if e, err := n.Find(t.Context(), "line4"); !errors.Is(err, ErrOldKey) {
		t.Errorf("the old row is accepted: %+v, %v", e, err)
	}
	if _, err := n.Find(t.Context(), "line5"); err != nil {
		t.Errorf("another enrollment: %v", err)
	}
	n.putBack(t, now)
	if _, err := n.Find(t.Context(), "line4"); err != nil {
		t.Errorf("with the newest row again: %v", err)
	}

	fresh := &Enrollments{Table: n.Table, SealingKey: n.SealingKey} // has seen nothing yet
	for rank, spoil := range map[Rank]func(*schema.Enrollment){
		Primary:   func(e *schema.Enrollment) { e.Primary = leaked.Primary },
		Secondary: func(e *schema.Enrollment) { e.Secondary = leaked.Secondary },
	} {
		spoiled := now
		spoil(&spoiled)
		if keys, err := fresh.Keys(spoiled); !errors.Is(err, ErrOldKey) {
			t.Errorf("with the old %s key: %d keys, %v", rank, len(keys), err)
		}
	}
}

func TestRotationsEndWhatAnOldRowBrought(t *testing.T) {
	n, _ := newEnrollments(t)
	old := must.Have(n.Add(t.Context(), plant("line4"), nil, nil))(t)
	leaked := must.Have(n.Keys(old))(t)
	must.Have(n.Rotate(t.Context(), "line4"))(t)
	must.Have(n.Find(t.Context(), "line4"))(t)
	n.putBack(t, old)
	for range 2 {
		must.Have(n.Rotate(t.Context(), "line4"))(t)
	}
	n.expire()
	e := must.Have(n.Find(t.Context(), "line4"))(t)
	keys := must.Have(n.Keys(e))(t)
	for _, k := range keys {
		if k.Base64() == leaked[0].Base64() || k.Base64() == leaked[1].Base64() {
			t.Error("a key of the old row is still valid")
		}
	}
}

func TestKeysWithoutACounterAreReadAndRotated(t *testing.T) {
	n, _ := newEnrollments(t)
	var err error
	n.SealingKey = must.Have(ParseSealingKey("AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))(t)
	e := plant("line4")
	// "sixteen bytes, k", sealed by an earlier version
	e.Primary, err = base64.StdEncoding.DecodeString("ARMWKBX5KRWDyKM321KAtkgNu2PJh1PSrHWh6QlbS4lMeZRLHB1LuGX1V6RU")
	must.Succeed(t, err)
	e.Admits = e.Life + e.Backfill
	n.putBack(t, e)
	must.Have(n.Find(t.Context(), "line4"))(t)
	e = must.Have(n.Rotate(t.Context(), "line4"))(t)
	n.expire()
	e = must.Have(n.Find(t.Context(), "line4"))(t)
	if keys, err := n.Keys(e); err != nil || string(keys[1]) != "sixteen bytes, k" {
		t.Errorf("after a rotation: %v", err)
	}
}
