package auth

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"strings"
	"time"

	"furrow/tables/local/internal/wire"
)

// oldestDelegation is the first version of a user delegation SAS of the Table and Queue services.
const oldestDelegation = "2025-07-05"

// maxDelegation is how long a user delegation key may be valid
// (learn.microsoft.com/rest/api/storageservices/get-user-delegation-key).
const maxDelegation = 7 * 24 * time.Hour

// maxKeyInfo limits the body of Get User Delegation Key, in bytes.
const maxKeyInfo = 4 << 10

// owner is the object ID and the tenant ID of every user delegation key: there are no Entra identities here.
const owner = "00000000-0000-0000-0000-000000000000"

// A Delegation is a user delegation key. Its fields are the elements of the answer and, without the value, parameters
// of a SAS. No key is stored: the value is derived from the account key and the other fields.
type Delegation struct {
	ObjectID, TenantID, Start, Expiry, Service, Version string
}

// value returns the key that signs.
func (v *Verifier) value(d Delegation) []byte {
	mac := hmac.New(sha256.New, v.Key)
	mac.Write([]byte(strings.Join([]string{"user delegation key", d.ObjectID, d.TenantID, d.Start, d.Expiry, d.Service,
		d.Version}, "\n")))
	return mac.Sum(nil)
}

// IssueDelegation returns the answer to Get User Delegation Key. Azure answers only to Entra's tokens; here the account
// key stands in for them.
func (v *Verifier) IssueDelegation(r *wire.Request) ([]byte, error) {
	body, err := r.ReadBody(maxKeyInfo)
	if err != nil {
		return nil, err
	}
	return v.delegate(body, r.Service, r.Now)
}

func (v *Verifier) delegate(body []byte, service wire.Service, now time.Time) ([]byte, error) {
	var info struct {
		Start, Expiry string
	}
	if err := wire.ParseXML(body, &info); err != nil {
		return nil, err
	}
	start, ok := parseTime(info.Start)
	if info.Start == "" {
		start, ok = now, true
	}
	if !ok || start.Sub(now).Abs() > maxDelegation {
		return nil, wire.BadNode("Start", info.Start)
	}
	end, ok := parseTime(info.Expiry)
	if !ok || !end.After(start) || !end.After(now) || end.Sub(now) > maxDelegation {
		return nil, wire.BadNode("Expiry", info.Expiry)
	}
	d := Delegation{ObjectID: owner, TenantID: owner, Start: instant(start), Expiry: instant(end),
		Service: string(service[:1]), Version: oldestDelegation}
	b := append([]byte(wire.XMLHeader), "<UserDelegationKey>"...)
	b = wire.AppendElements(b, [][2]string{{"SignedOid", d.ObjectID}, {"SignedTid", d.TenantID}, {"SignedStart", d.Start},
		{"SignedExpiry", d.Expiry}, {"SignedService", d.Service}, {"SignedVersion", d.Version},
		{"Value", base64.StdEncoding.EncodeToString(v.value(d))}})
	return append(b, "</UserDelegationKey>"...), nil
}

func instant(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05Z") }

// delegationOf returns the key that a user delegation SAS names, and checks the terms that such a SAS has more or less
// than others.
func delegationOf(r *wire.Request) (Delegation, error) {
	q := r.Query
	d := Delegation{ObjectID: q.Get("skoid"), TenantID: q.Get("sktid"), Start: q.Get("skt"), Expiry: q.Get("ske"),
		Service: q.Get("sks"), Version: q.Get("skv")}
	switch {
	case r.Service == wire.Blob:
		return d, wire.NotImplemented("user delegation SAS of blobs")
	case q.Get("sv") < oldestDelegation:
		return d, failed("A user delegation SAS of this service needs version " + oldestDelegation + " or later.")
	case q.Has("si"):
		return d, failed("A user delegation SAS has no stored access policy.")
	case q.Has("skdutid"), q.Has("sduoid"):
		return d, wire.NotImplemented("user delegation SAS that are bound to a user")
	case d.Service != string(r.Service[:1]):
		return d, failed("The user delegation key is for another service.")
	}
	return d, nil
}

// checkDelegation checks the time of the key that a user delegation SAS names: the SAS ends with it.
func checkDelegation(q url.Values, now time.Time) error {
	start, okStart := parseTime(q.Get("skt"))
	end, okEnd := parseTime(q.Get("ske"))
	switch {
	case !okStart || !okEnd:
		return failed("skt and ske must be the times of the user delegation key.")
	case now.Before(start) || !now.Before(end):
		return failed("The user delegation key is valid from " + wire.HTTPTime(start) + " to " + wire.HTTPTime(end) +
			", and the present is " + wire.HTTPTime(now) + ".")
	}
	return nil
}

// delegationText returns the string to sign of a user delegation SAS
// (learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas).
func delegationText(s wire.Service, q url.Values, canon string) string {
	lines := []string{q.Get("sp"), q.Get("st"), q.Get("se"), canon, q.Get("skoid"), q.Get("sktid"), q.Get("skt"),
		q.Get("ske"), q.Get("sks"), q.Get("skv"), q.Get("skdutid"), q.Get("sduoid"), q.Get("sip"), q.Get("spr"),
		q.Get("sv")}
	if s == wire.Table {
		lines = append(lines, q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk"))
	}
	return strings.Join(lines, "\n")
}
