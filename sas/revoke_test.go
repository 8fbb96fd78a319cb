package sas

import (
	"cmp"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestRevokedDeviceCannotWriteUntilItIsRestored(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	d.holds("before")
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	if s := d.status(victim); s != schema.Revoked {
		t.Errorf("it is %s", s)
	}
	d.holds("after", 0)
	old := d.tokens[victim]
	must.Succeed(t, d.clean.Restore(t.Context(), d.device(victim)))
	d.holds("restored", 0)
	for _, token := range old {
		if d.writes(victim, token) {
			t.Error("a token from before the revocation works again")
		}
	}
	if s := d.status(victim); s != schema.Active {
		t.Errorf("it is %s", s)
	}
}

func TestRevocationAtExpiryLeavesTokens(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), true))
	if _, err := d.issue(t.Context(), d.clean, victim); !errors.Is(err, ErrRevoked) {
		t.Errorf("it asks for a token: %v", err)
	}
	for _, id := range d.devices {
		if !d.writes(id, d.tokens[id][0]) {
			t.Errorf("the token of %s no longer works", id)
		}
	}
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	d.holds("revoked at once after all", 0)
}

func TestRevokingOneOfAThousandTouchesNoOtherCohort(t *testing.T) {
	effort.Alone(t)
	d := newFixture(t, azuretest.Local(t))
	const n = 1000
	id := func(i int) schema.DeviceID { return schema.DeviceID(fmt.Sprintf("contoso:us-5260:%04d", i)) }
	each := func(do func(i int, id schema.DeviceID)) {
		var all sync.WaitGroup
		for part := range 8 {
			all.Go(func() {
				for i := part; i < n; i += 8 {
					do(i, id(i))
				}
			})
		}
		all.Wait()
	}
	tokens, row := make([]string, n), 0
	write := func(do func(i int, id schema.DeviceID, wrote bool)) {
		row++
		each(func(i int, id schema.DeviceID) { do(i, id, d.puts(id, tokens[i], fmt.Sprintf("%019d", row))) })
	}
	sign := func(i int, id schema.DeviceID) {
		policy, err := d.readPolicy(t.Context(), d.clean, id)
		if err != nil {
			t.Error(err)
		}
		tokens[i] = d.sign(id, policy)
	}
	each(sign)
	write(func(_ int, id schema.DeviceID, wrote bool) {
		if !wrote {
			t.Errorf("%s cannot write before", id)
		}
	})
	revoked := id(500)
	policy := must.Have(d.readPolicy(t.Context(), d.clean, revoked))(t)
	d.register(revoked, tokenOf(policy))
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(revoked), false))
	write(func(i int, id schema.DeviceID, wrote bool) {
		if mate := Cohort(id) == Cohort(revoked); wrote == mate {
			t.Errorf("%s can write: %v, in the revoked device's cohort: %v", id, wrote, mate)
		} else if mate && id != revoked {
			sign(i, id)
		}
	})
	write(func(_ int, id schema.DeviceID, wrote bool) {
		if wrote == (id == revoked) {
			t.Errorf("%s can write in the end: %v", id, wrote)
		}
	})
	d.tokens[revoked] = tokens[500:501]
	d.holds("in the end", Cohort(revoked))
}

func TestUnknownDeviceIsNotRevoked(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	if err := d.clean.Revoke(t.Context(), d.device("nobody"), false); !errors.Is(err, tables.ErrNotFound) {
		t.Errorf("the error is %v", err)
	}
	d.holds("after")
}

// A second revocation would cost the other devices of the cohort another new token.
func TestRevokingTwiceChangesNothing(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	for _, first := range []string{"revoke", "revoke at expiry", "restore"} {
		must.Succeed(t, operations[first](t.Context(), d.clean, d))
		record, _, err := d.clean.read(t.Context(), d.readings)
		must.Succeed(t, err)
		record.Changes = nil // as Run closes them after a minute
		must.Succeed(t, d.clean.swap(t.Context(), record))
		before, _, err := d.clean.read(t.Context(), d.readings)
		must.Succeed(t, err)
		must.Succeed(t, operations[first](t.Context(), d.process(nil), d))
		if after, _, err := d.clean.read(t.Context(), d.readings); err != nil || after.ETag != before.ETag {
			t.Errorf("%s twice changed the policies: %v", first, err)
		}
		if _, err := d.issue(t.Context(), d.clean, victim); (err == nil) != (first == "restore") {
			t.Errorf("%s twice: a token request gets %v", first, err)
		}
	}
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	d.holds("revoked after the second restoration", 0)
}

func TestOneRotationServesAllChangesBeforeIt(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	before, _, err := d.clean.read(t.Context(), d.readings)
	must.Succeed(t, err)
	for _, id := range []schema.DeviceID{victim, neighbour} {
		must.Have(d.clean.add(t.Context(), schema.Change{Device: id, To: schema.Revoked, Rotate: true}))(t)
	}
	s := must.Have(d.clean.reconcile(t.Context(), d.readings))(t)
	if s.record.Cohorts[0] != before.Spare || s.record.Spare.ID == before.Spare.ID ||
		[3]schema.Policy(s.record.Cohorts[1:]) != [3]schema.Policy(before.Cohorts[1:]) {
		t.Errorf("before %+v\nafter %+v", before, s.record)
	}
	d.holds("after", 0)
}

// Two revocations follow each other, and policies take half a minute to be in force everywhere.
func TestCohortWaitsForAYoungPolicy(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	slow := d.process(nil)
	slow.Delay = 30 * time.Second
	record, _, err := slow.read(t.Context(), d.readings)
	must.Succeed(t, err)
	for _, policy := range record.All() {
		policy.Since = policy.Since.Add(-time.Hour)
	}
	must.Succeed(t, slow.swap(t.Context(), record))

	must.Succeed(t, slow.Revoke(t.Context(), d.device(victim), false))
	if _, err := d.readPolicy(t.Context(), slow, neighbour); err != nil {
		t.Errorf("the spare is old, but issuing fails: %v", err)
	}
	must.Succeed(t, slow.Revoke(t.Context(), d.device(neighbour), false))
	_, err = d.readPolicy(t.Context(), slow, victim)
	if wait, ok := errors.AsType[*NotReadyError](err); !ok || wait.After < 25*time.Second || wait.After > 31*time.Second {
		t.Errorf("the next spare is young, and issuing fails with %v", err)
	}
	for _, id := range strangers {
		if _, err := d.readPolicy(t.Context(), slow, id); err != nil {
			t.Errorf("%s has to wait: %v", id, err)
		}
	}
	d.holds("after", 0)
}

func TestFullRecordDropsCompletedChangesOrRefuses(t *testing.T) {
	record := schema.Policies{Readings: "readings"}
	for i := range schema.MaxChanges + 10 {
		c := schema.Change{Device: schema.DeviceID(fmt.Sprint("pump-", i)), To: schema.Revoked, Done: true}
		must.Succeed(t, enter(&record, schema.Device{}, c))
	}
	if n, last := len(record.Changes), record.Changes[schema.MaxChanges-1]; n != schema.MaxChanges ||
		last.Number != schema.MaxChanges+10 {
		t.Errorf("%d changes, the last is %+v", n, last)
	}
	for i := range record.Changes {
		record.Changes[i].Done = false
	}
	if err := enter(&record, schema.Device{}, schema.Change{Device: "one-more"}); err == nil {
		t.Error("an open change was dropped")
	}
	restore := schema.Change{Device: record.Changes[5].Device, To: schema.Active}
	must.Succeed(t, enter(&record, schema.Device{Change: 900}, restore))
	if last := record.Changes[schema.MaxChanges-1]; last.Number != 901 || last.Rotate {
		t.Errorf("the change of a device from another table is %+v", last)
	}
}

func TestOpenChangeIsNotRecordedTwice(t *testing.T) {
	revoke := schema.Change{Device: "pump-7", To: schema.Revoked, Rotate: true}
	for _, c := range []struct {
		what string
		open schema.Change
		d    schema.Device
		want bool
	}{
		{"the same is open", schema.Change{Rotate: true}, schema.Device{}, true},
		{"open at expiry only", schema.Change{}, schema.Device{}, false},
		{"the opposite is open", schema.Change{To: schema.Active}, schema.Device{}, false},
		{"of another device", schema.Change{Device: "pump-8", Rotate: true}, schema.Device{}, false},
		{"completed", schema.Change{Rotate: true, Done: true}, schema.Device{Change: 5, Status: schema.Revoked}, true},
		{"completed, and the device was created again", schema.Change{Rotate: true, Done: true},
			schema.Device{Status: schema.Active}, false},
		{"completed, and the device has changed", schema.Change{Rotate: true, Done: true},
			schema.Device{Change: 5, Status: schema.Active}, false},
	} {
		c.open.Number, c.open.Device, c.open.To = 5, cmp.Or(c.open.Device, "pump-7"), cmp.Or(c.open.To, schema.Revoked)
		if got := has(schema.Policies{Changes: []schema.Change{c.open}}, c.d, revoke); got != c.want {
			t.Errorf("%s: %v", c.what, got)
		}
	}
}

// The earlier revocation is not completed when the later one replaces it in the record.
func TestLaterRevocationTakesOverTheRotation(t *testing.T) {
	d := newFixture(t, azuretest.Local(t))
	must.Have(d.clean.add(t.Context(), schema.Change{Device: victim, To: schema.Revoked, Rotate: true}))(t)
	record, _, err := d.clean.read(t.Context(), d.readings)
	must.Succeed(t, err)
	must.Succeed(t, enter(&record, schema.Device{}, schema.Change{Device: victim, To: schema.Revoked}))
	must.Succeed(t, d.clean.swap(t.Context(), record))
	d.heal()
	d.holds("after", 0)
	if d.status(victim) != schema.Revoked {
		t.Error("it is not revoked")
	}
}
