package sas

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"furrow/tables/azuretest"
	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// A toldFixture is a fixture whose devices also have a token each that reads their commands.
type toldFixture struct {
	*fixture
	reading map[schema.DeviceID]string
}

func newToldFixture(t *testing.T, account azuretest.Account) *toldFixture {
	t.Helper()
	d := &toldFixture{newFixture(t, account), map[schema.DeviceID]string{}}
	must.Succeed(t, d.clean.Ensure(t.Context(), d.names.Commands()))
	for _, id := range d.devices {
		policy := must.Have(d.clean.Current(t.Context(), d.names.Commands(), id))(t).ID
		must.Have(d.clean.registry().Update(t.Context(), id, func(r *schema.Device) error {
			r.Tokens[0].Commands = policy
			return nil
		}))(t)
		d.reading[id] = d.signRead(id, policy)
	}
	return d
}

func (d *toldFixture) signRead(id schema.DeviceID, policy string) string {
	key := must.Have(base64.StdEncoding.DecodeString(d.account.Key))(d.t)
	return must.Have(Grant{Table: d.names.Commands(), Expiry: time.Now().Add(time.Hour), Policy: policy,
		Protocol: HTTPSAndHTTP, StartPartition: string(id), EndPartition: string(id)}.Sign(d.account.Name, key))(d.t)
}

// reads reports whether storage answers a query for the commands of a device.
func (d *toldFixture) reads(id schema.DeviceID, token string) bool {
	d.t.Helper()
	filter := url.QueryEscape("PartitionKey eq '" + string(id) + "'")
	req := must.Have(http.NewRequestWithContext(context.Background(), http.MethodGet,
		d.account.TableURL+"/"+d.names.Commands()+"()?$filter="+filter+"&"+token, nil))(d.t)
	req.Header = http.Header{"Accept": {"application/json;odata=nometadata"}, "X-Ms-Version": {"2019-02-02"}}
	resp := must.Have(http.DefaultTransport.RoundTrip(req))(d.t)
	_, err := io.Copy(io.Discard, resp.Body)
	must.Succeed(d.t, errors.Join(err, resp.Body.Close()))
	if resp.StatusCode != http.StatusOK && resp.StatusCode != http.StatusForbidden {
		d.t.Errorf("commands of %s: status %d", id, resp.StatusCode)
	}
	return resp.StatusCode == http.StatusOK
}

// holdsBoth checks both tokens of all devices: those of a revoked one do not work, and those of other cohorts do.
func (d *toldFixture) holdsBoth(when string) {
	d.t.Helper()
	d.holds(when, 0)
	for _, id := range d.devices {
		if reads := d.reads(id, d.reading[id]); reads && d.status(id) == schema.Revoked {
			d.t.Errorf("%s: %s is revoked and reads its commands", when, id)
		} else if !reads && Cohort(id) != Cohort(victim) {
			d.t.Errorf("%s: %s of another cohort cannot read its commands", when, id)
		}
	}
}

func (d *toldFixture) healBoth() {
	d.t.Helper()
	p := d.process(nil)
	p.round(d.t.Context())
	if c := p.Counts(); c.Undone > 0 || c.Errors > 0 || c.Tables != 2 {
		d.t.Errorf("after a round: %+v", c)
	}
}

func TestOneRevocationEndsBothTokensWhereverItIsKilled(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	account := azuretest.Local(t)
	for _, done := range []bool{false, true} {
		for at := 0; ; at++ {
			d := newToldFixture(t, account)
			ctx, cancel := context.WithCancel(t.Context())
			through := &crash{at: at, done: done, end: cancel}
			err := d.process(through).Revoke(ctx, d.device(victim), false)
			cancel()
			if int(through.n.Load()) <= at {
				must.Succeed(t, err)
				d.holdsBoth("without a crash")
				break
			}
			when := fmt.Sprintf("crash at request %d (done: %v)", at, done)
			d.healBoth()
			d.holdsBoth(when)
			must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
			d.holdsBoth(when + ", and again")
			if d.status(victim) != schema.Revoked || d.reads(victim, d.reading[victim]) {
				t.Errorf("%s: it is %s", when, d.status(victim))
			}
		}
	}
}

// TestNoTokenForCommandsOutlivesARevocationDuringItsIssuance: the steps of an issuance come between the requests of a
// revocation in every order.
func TestNoTokenForCommandsOutlivesARevocationDuringItsIssuance(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	account := azuretest.Local(t)
	issued, refused := 0, 0
	try := func(readAt, writeAt int) *steps {
		d := newToldFixture(t, account)
		var told CurrentPolicy
		var policy, token string
		var err error
		through := &steps{before: func(n int) {
			if n == readAt {
				if told, err = d.clean.Current(t.Context(), d.names.Commands(), victim); err == nil {
					policy, err = d.readPolicy(t.Context(), d.clean, victim)
				}
			}
			if n != writeAt || err != nil {
				return
			}
			record, errRead := readActive(t.Context(), d.clean, victim)
			if err = errRead; err == nil {
				made := tokenOf(policy)
				made.Commands = told.ID
				record.Tokens = append(record.Tokens, made)
				err = d.clean.registry().replace(t.Context(), &record)
			}
			if err == nil {
				token = d.signRead(victim, told.ID)
			}
		}}
		must.Succeed(t, d.process(through).Revoke(t.Context(), d.device(victim), false))
		if token == "" {
			refused++
		} else if issued++; d.reads(victim, token) {
			t.Errorf("policies read before request %d, device written before %d: the token works", readAt, writeAt)
		}
		d.holdsBoth(fmt.Sprintf("policies read before request %d, device written before %d", readAt, writeAt))
		return through
	}
	alone := try(-1, -1)
	requests := int(alone.n.Load())
	for _, write := range append([]int{-1}, alone.writes...) {
		for writeAt := write + 1; writeAt < requests; writeAt += 2 {
			try(write+1, writeAt)
		}
	}
	if len(alone.writes) < 7 || issued < 5 || refused < requests {
		t.Errorf("%d tokens issued and %d refused during %d requests with %d writes: not all orders were tried", issued,
			refused, requests, len(alone.writes))
	}
}

// TestTokenForCommandsEndsAlthoughTheOtherHasEnded: another revocation has moved the cohort of the readings table
// alone.
func TestTokenForCommandsEndsAlthoughTheOtherHasEnded(t *testing.T) {
	d := newToldFixture(t, azuretest.Local(t))
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), true))
	must.Succeed(t, d.clean.EndTokens(t.Context(), d.readings, [schema.Cohorts]bool{true}))
	if d.writes(victim, d.tokens[victim][0]) || !d.reads(victim, d.reading[victim]) {
		t.Fatal("the token for readings works, or that for commands does not")
	}
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	d.holdsBoth("revoked again")
	before, _, err := d.clean.read(t.Context(), d.names.Commands())
	must.Succeed(t, err)
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	after, _, err := d.clean.read(t.Context(), d.names.Commands())
	must.Succeed(t, err)
	if before.ETag != after.ETag {
		t.Error("revoking it once more changes the policies")
	}
}

func TestRevokingADeviceWithoutCommandsKeepsTokensForCommands(t *testing.T) {
	d := newToldFixture(t, azuretest.Local(t))
	must.Have(d.clean.registry().Update(t.Context(), victim, func(r *schema.Device) error {
		r.Tokens[0].Commands = ""
		return nil
	}))(t)
	must.Succeed(t, d.clean.Revoke(t.Context(), d.device(victim), false))
	if !d.reads(neighbour, d.reading[neighbour]) {
		t.Error("another device of the cohort cannot read its commands")
	}
}
