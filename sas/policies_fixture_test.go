package sas

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A fixture is a fleet with the devices of the revocation tests and every token that each of
// them ever got.
type fixture struct {
	t        testing.TB
	account  azuretest.Account
	names    schema.Names
	readings string
	clean    *Policies // of a process without faults
	devices  []schema.DeviceID
	tokens   map[schema.DeviceID][]string
	first    int // rows written so far
}

// The devices of a fixture: one to revoke, another one of its cohort, and one of each other
// cohort.
var (
	victim    = inCohort(0, 0)
	neighbour = inCohort(0, 1)
	strangers = []schema.DeviceID{inCohort(1, 0), inCohort(2, 0), inCohort(3, 0)}
)

// inCohort returns the nth device of a cohort.
func inCohort(cohort, n int) schema.DeviceID {
	for i := 0; ; i++ {
		if id := schema.DeviceID(fmt.Sprintf("pump-%d", i)); Cohort(id) == cohort {
			if n--; n < 0 {
				return id
			}
		}
	}
}

// newFixture returns a fixture whose devices have tokens. Several may share an account.
func newFixture(t testing.TB, account azuretest.Account) *fixture {
	t.Helper()
	names := must.Have(schema.ParseNames(azuretest.Name("d")[:16]))(t)
	d := &fixture{t: t, account: account, names: names, readings: names.Readings(), tokens: map[schema.DeviceID][]string{}}
	d.clean = d.process(nil)
	must.Succeed(t, d.clean.Client.Table(names.Devices()).Create(t.Context()))
	must.Succeed(t, d.clean.Ensure(t.Context(), d.readings))
	record, _, err := d.clean.read(t.Context(), d.readings)
	must.Succeed(t, err)
	for _, id := range append([]schema.DeviceID{victim, neighbour}, strangers...) {
		policy := record.Cohorts[Cohort(id)].ID
		d.register(id, tokenOf(policy))
		d.tokens[id] = []string{d.sign(id, policy)}
	}
	return d
}

// process returns the policies as another process uses them, through a transport.
func (d *fixture) process(through http.RoundTripper) *Policies {
	d.t.Helper()
	c, err := tables.Connect(tables.Config{
		Account:   tables.Account{Name: d.account.Name, Key: d.account.Key, Table: d.account.TableURL},
		Transport: transporter{through},
		Retry:     policy.RetryOptions{RetryDelay: time.Microsecond, MaxRetryDelay: time.Microsecond},
	})
	must.Succeed(d.t, err)
	return &Policies{Client: c, Names: d.names, Log: slog.New(slog.DiscardHandler)}
}

// A transporter adapts a RoundTripper to the SDK. Nil means the default transport.
type transporter struct{ http.RoundTripper }

func (t transporter) Do(req *http.Request) (*http.Response, error) {
	if t.RoundTripper == nil {
		return http.DefaultTransport.RoundTrip(req)
	}
	return t.RoundTrip(req)
}

func (d *fixture) register(id schema.DeviceID, tokens ...schema.Token) {
	d.t.Helper()
	device := d.device(id)
	device.Tokens = tokens
	e := must.Have(device.Entity())(d.t)
	must.Have(d.clean.Client.Table(d.names.Devices()).Do(d.t.Context(), tables.Insert(e)))(d.t)
	d.devices = append(d.devices, id)
}

func (d *fixture) device(id schema.DeviceID) schema.Device {
	return schema.Device{ID: id, Month: schema.Month{Year: 2026, Month: 11}, Tenant: "contoso", Readings: d.readings,
		Enrollment: "plant1", Status: schema.Active}
}

// tokenOf returns what the record of a device keeps of a token.
func tokenOf(policy string) schema.Token {
	return schema.Token{Policy: policy, Expiry: tables.TicksOf(time.Now().Add(time.Hour))}
}

// issue returns one more token for a device, in the steps of an Issuer.
func (d *fixture) issue(ctx context.Context, p *Policies, id schema.DeviceID) (string, error) {
	policy, err := d.readPolicy(ctx, p, id)
	if err != nil {
		return "", err
	}
	record, err := readActive(ctx, p, id)
	if err != nil {
		return "", err
	}
	record.Tokens = lastOf(append(record.Tokens, tokenOf(policy)))
	return d.sign(id, policy), p.registry().replace(ctx, &record)
}

func (d *fixture) readPolicy(ctx context.Context, p *Policies, id schema.DeviceID) (string, error) {
	policy, err := p.Current(ctx, d.readings, id)
	if err == nil && policy.Wait > 0 {
		err = &NotReadyError{After: policy.Wait}
	}
	return policy.ID, err
}

func readActive(ctx context.Context, p *Policies, id schema.DeviceID) (schema.Device, error) {
	record, err := p.registry().Get(ctx, id)
	if err == nil && record.Status != schema.Active {
		err = ErrRevoked
	}
	return record, err
}

func (d *fixture) sign(id schema.DeviceID, policy string) string {
	key := must.Have(base64.StdEncoding.DecodeString(d.account.Key))(d.t)
	token, err := Grant{Table: d.readings, Permissions: "a", Expiry: time.Now().Add(time.Hour), Policy: policy,
		Protocol: HTTPSAndHTTP, StartPartition: string(id), EndPartition: string(id)}.Sign(d.account.Name, key)
	must.Succeed(d.t, err)
	return token
}

// writes reports whether storage accepts a row of the device with the token.
func (d *fixture) writes(id schema.DeviceID, token string) bool {
	d.t.Helper()
	d.first++
	return d.puts(id, token, fmt.Sprintf("%019d", d.first))
}

func (d *fixture) puts(id schema.DeviceID, token, row string) bool {
	d.t.Helper()
	body := fmt.Sprintf(`{"PartitionKey":%q,"RowKey":%q,"temperature":21.5}`, id, row)
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost,
		d.account.TableURL+"/"+d.readings+"?"+token, strings.NewReader(body))
	must.Succeed(d.t, err)
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json;odata=nometadata"},
		"Prefer": {"return-no-content"}, "X-Ms-Version": {"2019-02-02"}}
	resp := must.Have(http.DefaultTransport.RoundTrip(req))(d.t)
	_, err = io.Copy(io.Discard, resp.Body)
	must.Succeed(d.t, errors.Join(err, resp.Body.Close()))
	if resp.StatusCode != http.StatusNoContent && resp.StatusCode != http.StatusForbidden {
		d.t.Errorf("a row of %s: status %d", id, resp.StatusCode)
	}
	return resp.StatusCode == http.StatusNoContent
}

// status returns the status in the device's record.
func (d *fixture) status(id schema.DeviceID) schema.Status {
	d.t.Helper()
	record := must.Have(d.clean.registry().Get(d.t.Context(), id))(d.t)
	return record.Status
}

// holds checks that no revoked device can write with any token that it ever got, or get another.
// Every other device can write: with its last token or, in the moved cohorts, with a new one.
func (d *fixture) holds(when string, moved ...int) {
	d.t.Helper()
	for _, id := range d.devices {
		if d.status(id) == schema.Revoked {
			if _, err := d.issue(d.t.Context(), d.clean, id); !errors.Is(err, ErrRevoked) {
				d.t.Errorf("%s: %s is revoked and asks for a token: %v", when, id, err)
			}
			for i, token := range d.tokens[id] {
				if d.writes(id, token) {
					d.t.Errorf("%s: %s is revoked and writes with token %d of %d", when, id, i+1, len(d.tokens[id]))
				}
			}
			continue
		}
		old := d.tokens[id]
		if last := len(old) - 1; last >= 0 && d.writes(id, old[last]) {
			continue
		}
		if !slices.Contains(moved, Cohort(id)) {
			d.t.Errorf("%s: %s of another cohort is locked out", when, id)
		}
		token, err := d.issue(d.t.Context(), d.clean, id)
		if err != nil || !d.writes(id, token) {
			d.t.Errorf("%s: %s is active and cannot write with a new token: %v", when, id, err)
		}
		d.tokens[id] = append(d.tokens[id], token)
	}
}
