package sas

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"net"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ClockSkew is how far a device's clock may be ahead when its token expires.
const ClockSkew = 5 * time.Minute

// A protocol is the spr of a token and, for plain HTTP, the only client address.
type protocol struct{ name, from string }

// ip is the token's sip. Azure supports only IPv4 addresses, and localhost may resolve to any
// address; such tokens have none.
func (p protocol) ip() string {
	if ip := net.ParseIP(p.from); ip != nil && ip.To4() != nil {
		return p.from
	}
	return ""
}

// sign signs a token and returns its record and the answer to the device. The token has no
// start time, because servers with late clocks would refuse it.
func (i *Issuer) sign(
	ctx context.Context, d schema.Device, e schema.Enrollment, policy string, now time.Time, watermark tables.Ticks,
) (schema.Token, Answer, error) {
	expiry := now.Add(e.Life).UTC().Truncate(time.Second)
	from, to := max(watermark, tables.TicksOf(now.Add(-e.Backfill))), tables.TicksOf(expiry.Add(ClockSkew))
	text, err := i.grant(ctx, d, Grant{Table: d.Readings, Permissions: "a", Policy: policy, Expiry: expiry,
		StartRow: from.String(), EndRow: to.String()})
	if err != nil {
		return schema.Token{}, Answer{}, err
	}
	token := schema.Token{Policy: policy, From: from, To: to, Expiry: tables.TicksOf(expiry),
		Fingerprint: Fingerprint(text)}
	return token, Answer{
		Device: d.ID, URL: i.URL + "/" + d.Readings, SAS: text, PartitionKey: d.ID, RowKeyFormat: RowKeyFormat,
		EarliestRowKey: from, LatestRowKey: to, Expires: expiry,
		RenewAfter: now.Add(e.Life * 2 / 3).UTC().Truncate(time.Second),
		SendEvery:  int(cmp.Or(e.SendEvery, DefaultSendEvery) / time.Second), Batch: cmp.Or(e.Batch, DefaultBatch),
	}, nil
}

// leastKept is how long retention keeps readings at least: younger ones lie above every watermark.
const leastKept = 9 * 24 * time.Hour

// watermark returns the time below which retention may have deleted readings of a device, for one of the tenants that
// it belonged to then. No job folds new ones there, so no token admits them. It matters where the allowance of an
// enrollment has grown. Retention may know only the old one: so the memberships say first what a token will admit, and
// retention, which raises a watermark on the version that it has read, reads them again.
func (i *Issuer) watermark(ctx context.Context, d schema.Device, e schema.Enrollment) (below tables.Ticks, err error) {
	admits := e.Life + e.Backfill + ClockSkew
	if admits < leastKept || d.ETag == "" { // a new device has no readings
		return 0, nil
	}
	below, err = i.Registry.Admit(ctx, d, admits)
	if errors.Is(err, schema.ErrNewer) {
		return 0, nil // a newer program maintains it
	}
	return below, err
}

// Admit makes the memberships of a device say that rows so old may be stored, and returns the time below which no token
// may admit any, since retention may have deleted readings there.
func (r Registry) Admit(ctx context.Context, d schema.Device, age time.Duration) (below tables.Ticks, err error) {
	for range tries {
		if below, err = r.tryAdmit(ctx, d, age); !errors.Is(err, tables.ErrConflict) {
			break
		}
	}
	return below, err
}

func (r Registry) tryAdmit(ctx context.Context, d schema.Device, age time.Duration) (below tables.Ticks, err error) {
	all, _, err := r.membershipsOf(ctx, d)
	for _, m := range all {
		if below = max(below, m.PassedTo()); m.Admits < age {
			_, errWrite := r.Fleet.Do(ctx, tables.Merge(m.Admitting(age), m.ETag))
			err = cmp.Or(err, errWrite)
		}
	}
	return below, err
}

// grant signs a token for a device's partition.
func (i *Issuer) grant(ctx context.Context, d schema.Device, g Grant) (string, error) {
	g.Protocol, g.IP = i.scheme.name, i.scheme.ip()
	g.StartPartition, g.EndPartition = string(d.ID), string(d.ID)
	if key := i.key.Load(); key != nil {
		return g.Sign(i.Account.Name, *key)
	}
	return i.lent.sign(ctx, i.Account.Name, g)
}

// Suggestions to devices if their enrollment has none.
const (
	DefaultSendEvery = time.Minute
	DefaultBatch     = tables.MaxOps
	// PollEvery is how often a device reads its commands.
	PollEvery = 5 * time.Minute
)

// StatedInterval returns how often devices of an enrollment send, if it says so: the default says nothing.
func StatedInterval(e schema.Enrollment) time.Duration {
	if e.SendEvery == DefaultSendEvery {
		return 0
	}
	return e.SendEvery
}

// StatedIntervals returns those of all enrollments that state one.
func (n *Enrollments) StatedIntervals(ctx context.Context) (map[schema.EnrollmentID]time.Duration, error) {
	found, err := n.All(ctx)
	all := map[schema.EnrollmentID]time.Duration{}
	for _, e := range found {
		if every := StatedInterval(e); every > 0 {
			all[e.ID] = every
		}
	}
	return all, err
}

// Fingerprint identifies a token without revealing its signature.
func Fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}

// ShardOf returns a new device's shard of its month, if a month has that many shards. It is
// only used when a device is registered.
func ShardOf(device schema.DeviceID, shards int) int {
	if shards < 2 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(device)) // never fails
	return int(h.Sum32() % uint32(shards))
}

// RowKeyFormat names the format of a reading's row key: 19 digits of ticks (100 ns since
// 0001-01-01 UTC), and if several readings share a tick, a dash and a suffix.
const RowKeyFormat = "ticks19[-suffix]"

// An Answer is a token and how to use it. As JSON it is the endpoint's response. Members may
// be added, but none changes.
type Answer struct {
	Device       schema.DeviceID `json:"device"`
	URL          string          `json:"url"` // of the device's readings table
	SAS          string          `json:"sas"` // the token: the query of the URL
	PartitionKey schema.DeviceID `json:"partitionKey"`
	RowKeyFormat string          `json:"rowKeyFormat"`

	// The first and the last row key that the token admits.
	EarliestRowKey tables.Ticks `json:"earliestRowKey"`
	LatestRowKey   tables.Ticks `json:"latestRowKey"`

	Expires    time.Time `json:"expires"`
	RenewAfter time.Time `json:"renewAfter"`
	ServerTime time.Time `json:"serverTime"`

	SendEvery int `json:"sendEvery"` // suggested seconds between sends
	Batch     int `json:"batch"`     // suggested rows in a transaction

	// A second token, if the device's enrollment has commands: it reads the device's partition of the table of commands,
	// and nothing else. It expires with the first. These members have names of their own and are no object, so that
	// small devices can search for them.
	CommandsURL     string `json:"commandsUrl,omitzero"`     // of the table of commands
	CommandsSAS     string `json:"commandsSas,omitzero"`     // the token: the query of the URL
	CommandsEvery   int    `json:"commandsEvery,omitzero"`   // suggested seconds between reads
	CommandsWaiting int    `json:"commandsWaiting,omitzero"` // how many commands wait now; absent: none
}
