package sas

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"hash/fnv"
	"net"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// ClockSkew is how far a device's clock may be ahead when its token ends.
const ClockSkew = 5 * time.Minute

// A protocol is how a token may be used: its spr, and for plain HTTP the only
// address that it may come from.
type protocol struct{ name, from string }

func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// ip is the token's sip. Azure knows addresses of version 4 only, and what name
// resolution makes of localhost is not known; such tokens go without.
func (p protocol) ip() string {
	if ip := net.ParseIP(p.from); ip != nil && ip.To4() != nil {
		return p.from
	}
	return ""
}

// sign makes a token for a device: what is recorded of it, and what the device is
// told. It begins at once: a start would be refused by servers whose clocks are behind.
func (i *Issuer) sign(d schema.Device, e schema.Enrollment, policy string, now time.Time) (schema.Token, Answer, error) {
	expiry := now.Add(e.Life).UTC().Truncate(time.Second)
	from, to := tables.TicksOf(now.Add(-e.Backfill)), tables.TicksOf(expiry.Add(ClockSkew))
	text, err := Grant{
		Table: d.Readings, Permissions: "a", Expiry: expiry, Policy: policy, Protocol: i.scheme.name, IP: i.scheme.ip(),
		StartPartition: string(d.ID), StartRow: from.String(), EndPartition: string(d.ID), EndRow: to.String(),
	}.Sign(i.Account.Name, i.key)
	if err != nil {
		return schema.Token{}, Answer{}, err
	}
	token := schema.Token{Policy: policy, From: from, To: to, Expiry: tables.TicksOf(expiry), Fingerprint: Fingerprint(text)}
	return token, Answer{
		Device: d.ID, URL: i.URL + "/" + d.Readings, SAS: text, PartitionKey: d.ID, RowKeyFormat: RowKeyFormat,
		EarliestRowKey: from, LatestRowKey: to, Expires: expiry, RenewAfter: now.Add(e.Life * 2 / 3).UTC().Truncate(time.Second),
		SendEvery: int(cmp.Or(e.SendEvery, DefaultSendEvery) / time.Second), Batch: cmp.Or(e.Batch, DefaultBatch),
	}, nil
}

// What a device is told to do where its enrollment does not say.
const (
	DefaultSendEvery = time.Minute
	DefaultBatch     = tables.MaxOps
)

// Fingerprint tells a token among others, and says nothing of its signature.
func Fingerprint(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:8])
}

// ShardOf is the shard of its month that a device falls into, where a month has so
// many. It is asked once, when the device is registered.
func ShardOf(device schema.DeviceID, shards int) int {
	if shards < 2 {
		return 0
	}
	h := fnv.New32a()
	h.Write([]byte(device)) // never fails
	return int(h.Sum32() % uint32(shards))
}
