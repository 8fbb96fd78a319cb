package sas

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
)

// A keyring finds enrollments and their keys.
type keyring interface {
	Find(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error)
	Renew(ctx context.Context) bool
	Keys(e schema.Enrollment) ([]Key, error)
	Confirm(ctx context.Context, id schema.EnrollmentID, readings string, number int64) (schema.Enrollment, error)
	CheckPrefix(ctx context.Context, e schema.Enrollment, device schema.DeviceID) error
	CheckSealingKey(ctx context.Context) error
}

// cohorts returns the stored policy for a token, as of a time after the call.
type cohorts interface {
	Current(ctx context.Context, readings string, device schema.DeviceID) (CurrentPolicy, error)
}

// IssuerConfig configures an Issuer. Every field except URL, Delegate, Authorities and OnFirst is required.
type IssuerConfig struct {
	Account     tables.Account // its key, if it has one, signs the tokens
	URL         string         // of the Table service as devices reach it; empty: the account's
	Enrollments keyring
	Policies    cohorts
	Registry    Registry
	Commands    commands.Table // that devices of enrollments with commands may read
	// Delegate returns user delegation keys, which sign the tokens of enrollments with AtExpiry if the account has no key.
	Delegate func(ctx context.Context, start, expiry time.Time) (tables.DelegationKey, error)
	// Authorities returns the authorities of devices' certificates. If it is nil, no certificate authenticates a device.
	Authorities func() *x509.CertPool
	OnFirst     func() // if not nil, is called when a device has got its first token
}

// An Issuer issues tokens. It is safe for concurrent use, and any number of them may run side
// by side.
//
// No revoked device gets a working token, in any interleaving. Issue reads the cohort's policy
// first. It then writes the token into the device's record, conditional on the version of the
// record that said "active". A revocation marks the record first and then replaces the policy.
// So if the conditional write succeeds, the device was active after the policy was read, and a
// later revocation replaces that policy. A new device's record is inserted with its first token:
// that succeeds only if no record existed after the policy was read, so nobody had revoked the device.
//
// The same holds for an enrollment that is disabled before its tokens are ended: Issue confirms
// that the enrollment is enabled by a read that began after it saw the last revocation.
//
// A device of an enrollment with commands gets a second token, for the table of commands, under that
// table's policies. Issue reads that policy before the other one, and revocations replace it later, so
// all of this holds for both.
//
// Tokens of an enrollment with AtExpiry have no policy. After a revocation no other is issued, and the
// last one of the device's record expires last.
type Issuer struct {
	IssuerConfig
	key    atomic.Pointer[[]byte] // nil if the account has none
	lent   delegation             // signs if it has none
	scheme protocol
	// known caches records as this issuer wrote them last. These devices have their fleet
	// rows. Writes check the record's version, so a stale entry costs one read and nothing else.
	known records
	turns sync.Map // by enrollment: see turn
}

// NewIssuer returns an Issuer. The account must contain its key, unless there is a Delegate.
func NewIssuer(c IssuerConfig) (*Issuer, error) {
	c.URL = strings.TrimSuffix(cmp.Or(c.URL, c.Account.Table), "/")
	i := &Issuer{IssuerConfig: c}
	i.lent.get = c.Delegate
	if c.Account.Key != "" || c.Delegate == nil {
		if err := i.SetKey(c.Account.Key); err != nil {
			return nil, err
		}
	}
	scheme, err := protocolOf(c.URL)
	if err != nil {
		return nil, err
	}
	i.scheme = scheme
	i.known, err = newRecords()
	return i, err
}

// SetKey replaces the account's key in all tokens from now on. Earlier ones work until they expire, or until Azure
// regenerates the key that signed them.
func (i *Issuer) SetKey(key string) error {
	decoded, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(decoded) == 0 {
		return fmt.Errorf("storage account %s: its key is needed to sign tokens: "+
			"use a connection string with an AccountKey", i.Account.Name)
	}
	i.key.Store(&decoded)
	return nil
}

// Authenticate returns the enrollment named in a device's Authorization header, or why the
// header does not prove that the device has its key. It returns a disabled enrollment with
// ErrDisabled. It does not read the device's record, so a client without a key learns nothing
// about the fleet.
func (i *Issuer) Authenticate(ctx context.Context, device schema.DeviceID, header string) (schema.Enrollment, error) {
	return i.renewing(ctx, func() (schema.Enrollment, error) { return i.authenticate(ctx, device, header) })
}

// renewing looks again if what is known of enrollments says no: they may have changed.
func (i *Issuer) renewing(ctx context.Context, authenticate func() (schema.Enrollment, error)) (
	schema.Enrollment, error,
) {
	e, err := authenticate()
	refused := errors.Is(err, ErrNoEnrollment) || errors.Is(err, ErrProofWrong) || errors.Is(err, ErrDisabled)
	if refused && i.Enrollments.Renew(ctx) {
		return authenticate()
	}
	return e, err
}

func (i *Issuer) authenticate(ctx context.Context, device schema.DeviceID, header string) (schema.Enrollment, error) {
	proof, err := ParseProof(header)
	if err != nil {
		return schema.Enrollment{}, err
	}
	id, ok := strings.CutSuffix(proof.Resource, "/registrations/"+string(device))
	if !ok {
		return schema.Enrollment{}, ErrProofResource
	}
	e, err := i.Enrollments.Find(ctx, schema.EnrollmentID(id))
	if err != nil {
		return schema.Enrollment{}, err
	}
	keys, err := i.Enrollments.Keys(e)
	if err != nil {
		return schema.Enrollment{}, err
	}
	var own []Key
	for _, k := range keys {
		own = append(own, k.Of(string(device)))
	}
	if err := proof.Verify(time.Now(), own...); err != nil {
		return schema.Enrollment{}, err
	}
	if e.Disabled {
		return e, ErrDisabled
	}
	return e, nil
}

// Issue issues a token to a device of an enrollment. It registers an unknown device, and
// completes a registration that was interrupted. The device's fleet row exists before Issue returns
// its first token.
func (i *Issuer) Issue(ctx context.Context, device schema.DeviceID, e schema.Enrollment) (Answer, error) {
	d, err := i.find(ctx, device, e, true)
	for range tries {
		if err != nil {
			return Answer{}, err
		}
		var a Answer
		if a, err = i.issue(ctx, d, e); !errors.Is(err, tables.ErrConflict) {
			return a, err
		}
		d, err = i.find(ctx, device, e, false)
	}
	return Answer{}, cmp.Or(err, tables.ErrConflict)
}

// find returns the record of a device and ensures that its fleet row exists, unless noted and the record has the row's
// version. The record of a new device has no version of its own: it is inserted with the first token.
func (i *Issuer) find(ctx context.Context, device schema.DeviceID, e schema.Enrollment, noted bool) (
	schema.Device, error,
) {
	if d, ok := i.known.get(device); ok && d.Enrollment == e.ID { // else it may have been removed, and registered again
		return d, nil
	}
	d, err := i.Registry.Get(ctx, device)
	removed := err == nil && d.Status.MayRegister()
	switch {
	case err == nil && !removed:
		if !noted {
			d.NotedIn = ""
		}
		if !d.Status.Left() && d.NotedIn == "" {
			err = i.Registry.follow(ctx, d)
		}
		return d, err
	case err != nil && !errors.Is(err, tables.ErrNotFound):
		return d, err
	case e.ImportOnly:
		return d, ErrNotRegistered
	}
	if err := i.Enrollments.CheckPrefix(ctx, e, device); err != nil {
		return d, err
	}
	if err := i.reserve(ctx, device, e); err != nil {
		return d, err
	}
	first := FirstContact(device, e, time.Now())
	if removed {
		return i.Registry.Register(ctx, first)
	}
	return first, nil
}

func (i *Issuer) reserve(ctx context.Context, device schema.DeviceID, e schema.Enrollment) error {
	if e.MaxDevices > 0 {
		done, err := i.turn(ctx, e.ID)
		if err != nil {
			return err
		}
		defer done()
	}
	return i.Registry.Places.reserve(ctx, e, device)
}

// FirstContact returns the record of a new device, with its enrollment's defaults.
func FirstContact(device schema.DeviceID, e schema.Enrollment, now time.Time) schema.Device {
	return schema.Device{
		ID: device, Month: schema.MonthOf(now, ShardOf(device, e.Shards)), Tenant: e.Tenant, Site: e.Site, Labels: e.Labels,
		Readings: e.Readings, Enrollment: e.ID, Status: schema.Active,
	}
}

// issue signs a token and writes it into the record, conditional on d's version.
func (i *Issuer) issue(ctx context.Context, d schema.Device, e schema.Enrollment) (Answer, error) {
	switch {
	case d.Enrollment != e.ID:
		return Answer{}, ErrOtherEnrollment
	case d.Status == schema.Revoked, d.Status.Left():
		return Answer{}, ErrRevoked
	}
	i.known.remove(d.ID) // until its write has succeeded
	policy, told, err := i.policies(ctx, d, e)
	if err != nil {
		return Answer{}, err
	}
	if wait := max(policy.Wait, told.Wait); wait > 0 {
		return Answer{}, &NotReadyError{After: wait}
	}
	switch now, err := i.Enrollments.Confirm(ctx, e.ID, d.Readings, policy.Number); {
	case err != nil:
		return Answer{}, err
	case now.Disabled:
		return Answer{}, ErrDisabled
	}
	watermark, err := i.watermark(ctx, d, e)
	if err != nil {
		return Answer{}, err
	}
	token, a, err := i.sign(ctx, d, e, policy.ID, time.Now(), watermark)
	if err == nil {
		err = i.addCommands(ctx, d, e, told.ID, &token, &a)
	}
	if err != nil {
		return Answer{}, err
	}
	d.Tokens = lastOf(append(d.Tokens[:len(d.Tokens):len(d.Tokens)], token))
	if err := i.wake(ctx, &d, time.Now()); err != nil {
		return Answer{}, err
	}
	if err := i.Registry.store(ctx, &d); err != nil {
		return Answer{}, err
	}
	i.known.add(d)
	if len(d.Tokens) == 1 && i.OnFirst != nil {
		i.OnFirst()
	}
	a.ServerTime = time.Now().UTC() // taken last, because the device sets its clock by it
	return a, nil
}

// policies returns the policies of a device's next tokens, for readings and for commands. Both are zero if its
// enrollment has AtExpiry.
func (i *Issuer) policies(ctx context.Context, d schema.Device, e schema.Enrollment) (own, told CurrentPolicy,
	err error) {
	switch {
	case e.AtExpiry:
		return own, told, nil
	case i.key.Load() == nil:
		return own, told, fmt.Errorf("enrollment %s: %w", e.ID, ErrNoKey)
	case e.Commands:
		if told, err = i.Policies.Current(ctx, i.Commands.Name, d.ID); err != nil {
			return own, told, err
		}
	}
	own, err = i.Policies.Current(ctx, d.Readings, d.ID)
	return own, told, err
}

// keptTokens is how many tokens a record keeps.
const keptTokens = 5

// lastOf returns the last tokens, and in place of the first of them the one that expires last: whoever cannot end it
// has to know of it.
func lastOf(tokens []schema.Token) []schema.Token {
	later := func(a, b schema.Token) int { return cmp.Compare(a.Expiry, b.Expiry) }
	kept := slices.Clone(tokens[max(0, len(tokens)-keptTokens):])
	if last := slices.MaxFunc(tokens, later); last.Expiry > slices.MaxFunc(kept, later).Expiry {
		kept[0] = last
	}
	return kept
}

// Ready returns why tokens cannot be issued: storage is unreachable, its tables are missing,
// the master key is another one than that of the enrollments, or this machine's clock differs
// from storage's, which would make tokens and devices' clocks wrong.
func (i *Issuer) Ready(ctx context.Context) error {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is("-")}, Size: 1}
	for page, err := range i.Registry.Devices.Rows(ctx, q) {
		if err != nil {
			return err
		}
		if off := time.Since(page.Time).Abs(); !page.Time.IsZero() && off > clockTolerance {
			return fmt.Errorf("the clocks of this machine and of storage differ by %v: correct this machine's clock",
				off.Round(time.Second))
		}
	}
	if i.Authorities != nil { // devices with certificates need no keys
		return nil
	}
	return i.Enrollments.CheckSealingKey(ctx)
}

// clockTolerance is much less than the 15 minutes that Azure allows, and much more than a
// slow request takes.
const clockTolerance = 2 * time.Minute

// protocolOf returns the protocols for tokens of a URL: plain HTTP only on loopback.
func protocolOf(text string) (protocol, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return protocol{}, fmt.Errorf("%q is not the URL of a Table service", text)
	}
	switch {
	case u.Scheme == "https":
		return protocol{name: HTTPS}, nil
	case u.Scheme == "http" && tables.IsLoopback(u.Hostname()):
		return protocol{name: HTTPSAndHTTP, from: u.Hostname()}, nil
	}
	return protocol{}, fmt.Errorf("%s: %w", text, ErrInsecureURL)
}
