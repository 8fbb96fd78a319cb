package sas

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"furrow/tables"
	"furrow/tables/schema"
)

// keyring is where enrollments are found, and their keys.
type keyring interface {
	Find(ctx context.Context, id schema.EnrollmentID) (schema.Enrollment, error)
	Keys(e schema.Enrollment) ([]Key, error)
}

// cohorts tells which stored policy a token must hang on now, and how long it is
// until that is in force. What it tells was true after it was asked.
type cohorts interface {
	Current(ctx context.Context, readings string, device schema.DeviceID) (policy string, wait time.Duration, err error)
}

// IssuerConfig is what an Issuer is made of. Every field is required, but URL.
type IssuerConfig struct {
	Account     tables.Account // whose key signs
	URL         string         // of the Table service, as devices reach it; empty: the account's
	Enrollments keyring
	Policies    cohorts
	Registry    Registry
}

// An Issuer issues tokens. It is safe for concurrent use, and any number of them
// may work side by side.
//
// No revoked device gets a token that works, whatever comes between what:
// issuing reads the cohort's policy first, and then writes the token into the
// device's record on the version of it that said "active". A revocation marks
// the record first, and then replaces the policy. So where the write succeeds the
// device was active after the policy was read, and if it is revoked later, that
// policy is the one that goes.
type Issuer struct {
	IssuerConfig
	key    []byte
	scheme protocol
	// known are records as this issuer wrote them last. A device that is among them
	// has its row in the fleet. The version is checked when the record is written, so
	// that a record that others have changed costs a read, and nothing else.
	known *lru.Cache[schema.DeviceID, schema.Device]
}

// known records take about a kilobyte each.
const knownDevices = 20_000

// NewIssuer is an Issuer for an account whose key is known.
func NewIssuer(c IssuerConfig) (*Issuer, error) {
	c.URL = strings.TrimSuffix(cmp.Or(c.URL, c.Account.Table), "/")
	key, err := base64.StdEncoding.DecodeString(c.Account.Key)
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("storage account %s: tokens are signed with the account's key, and it is not known: give a connection string that holds it", c.Account.Name)
	}
	scheme, err := protocolOf(c.URL)
	if err != nil {
		return nil, err
	}
	known, err := lru.New[schema.DeviceID, schema.Device](knownDevices)
	return &Issuer{IssuerConfig: c, key: key, scheme: scheme, known: known}, err
}

// Authenticate finds the enrollment that a device's Authorization header names,
// and says why the header does not prove that the device has its key. It does not
// look at the device, so that who has no key learns nothing of the fleet.
func (i *Issuer) Authenticate(ctx context.Context, device schema.DeviceID, header string) (schema.Enrollment, error) {
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
		return schema.Enrollment{}, ErrDisabled
	}
	return e, nil
}

// Issue gives a device of an enrollment a token. It registers a device that is not
// known, and completes what an earlier attempt has left undone.
func (i *Issuer) Issue(ctx context.Context, device schema.DeviceID, e schema.Enrollment) (Answer, error) {
	d, err := i.find(ctx, device, e)
	for range tries {
		if err != nil {
			return Answer{}, err
		}
		var a Answer
		if a, err = i.issue(ctx, d, e); !errors.Is(err, tables.ErrConflict) {
			return a, err
		}
		d, err = i.Registry.Get(ctx, device)
	}
	return Answer{}, cmp.Or(err, tables.ErrConflict)
}

// find is the record of a device whose fleet row is there.
func (i *Issuer) find(ctx context.Context, device schema.DeviceID, e schema.Enrollment) (schema.Device, error) {
	if d, ok := i.known.Get(device); ok {
		return d, nil
	}
	d, err := i.Registry.Get(ctx, device)
	switch {
	case err == nil:
		return d, i.Registry.complete(ctx, d)
	case !errors.Is(err, tables.ErrNotFound):
		return d, err
	case e.ImportOnly:
		return d, ErrNotRegistered
	}
	return i.Registry.Register(ctx, FirstContact(device, e, time.Now()))
}

// FirstContact is the record of a device that its enrollment is all that is known of.
func FirstContact(device schema.DeviceID, e schema.Enrollment, now time.Time) schema.Device {
	return schema.Device{
		ID: device, Month: schema.MonthOf(now, ShardOf(device, e.Shards)), Tenant: e.Tenant, Site: e.Site, Labels: e.Labels,
		Readings: e.Readings, Enrollment: e.ID, Status: schema.Active,
	}
}

// issue makes a token and writes it into the record, on the version that d is.
func (i *Issuer) issue(ctx context.Context, d schema.Device, e schema.Enrollment) (Answer, error) {
	i.known.Remove(d.ID) // until its write is known to have succeeded
	switch {
	case d.Enrollment != e.ID:
		return Answer{}, ErrOtherEnrollment
	case d.Status == schema.Revoked:
		return Answer{}, ErrRevoked
	}
	policy, wait, err := i.Policies.Current(ctx, d.Readings, d.ID)
	if err != nil {
		return Answer{}, err
	}
	if wait > 0 {
		return Answer{}, &NotReadyError{After: wait}
	}
	token, a, err := i.sign(d, e, policy, time.Now())
	if err != nil {
		return Answer{}, err
	}
	d.Tokens = lastOf(append(d.Tokens[:len(d.Tokens):len(d.Tokens)], token))
	if err := i.Registry.replace(ctx, &d); err != nil {
		return Answer{}, err
	}
	i.known.Add(d.ID, d)
	a.ServerTime = time.Now().UTC() // the device sets its clock by it, so it is taken last
	return a, nil
}

// keptTokens are how many tokens a record tells of.
const keptTokens = 5

func lastOf(tokens []schema.Token) []schema.Token {
	return tokens[max(0, len(tokens)-keptTokens):]
}

// Ready says why no token can be issued: storage cannot be reached, its tables are
// missing, or its clock and this one disagree, by which tokens and devices' clocks
// would be wrong.
func (i *Issuer) Ready(ctx context.Context) error {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is("-")}, Size: 1}
	for page, err := range i.Registry.Devices.Rows(ctx, q) {
		if err != nil {
			return err
		}
		if off := time.Since(page.Time).Abs(); !page.Time.IsZero() && off > clockTolerance {
			return fmt.Errorf("this machine's clock and that of storage differ by %v: set this one", off.Round(time.Second))
		}
	}
	return nil
}

// clockTolerance is small against the quarter of an hour that Azure allows, and
// large against a request that takes long.
const clockTolerance = 2 * time.Minute

// protocolOf is how tokens for a URL may be used: over plain HTTP only where
// nothing leaves the machine.
func protocolOf(text string) (protocol, error) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return protocol{}, fmt.Errorf("%q is no URL of a Table service", text)
	}
	switch {
	case u.Scheme == "https":
		return protocol{name: HTTPS}, nil
	case u.Scheme == "http" && loopback(u.Hostname()):
		return protocol{name: HTTPSAndHTTP, from: u.Hostname()}, nil
	}
	return protocol{}, fmt.Errorf("%s is neither https nor on this machine's loopback: tokens sent there could be overheard", text)
}
