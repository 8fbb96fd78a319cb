package auth

import (
	"cmp"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"furrow/tables/local/internal/wire"
)

// oldestSAS is the first version with sip and spr in the string to sign.
const oldestSAS = "2015-04-05"

// bySAS checks a service SAS in Azure's order: form, signature, time, protocol and
// address. Permissions and ranges are checked later, for the operation.
func (v *Verifier) bySAS(r *wire.Request, res Resource) (*Grant, error) {
	q := r.Query
	if q.Get("sv") < oldestSAS {
		return nil, failed("A SAS of version " + oldestSAS + " or later is required.")
	}
	for name, values := range q {
		if len(values) > 1 { // otherwise one could be signed and the other applied
			return nil, failed("The parameter " + name + " is given more than once.")
		}
	}
	if q.Has("ss") {
		return v.accountSAS(r)
	}
	g := &Grant{Name: res.Name}
	canon, err := v.canonical(r, res, g)
	if err != nil {
		return nil, err
	}
	text, key := sasText(r.Service, q, canon), v.Key
	if q.Has("skoid") {
		d, err := delegationOf(r)
		if err != nil {
			return nil, err
		}
		text, key = delegationText(r.Service, q, canon), v.value(d)
	}
	if !signed(key, text, q.Get("sig")) {
		return nil, failed("Signature did not match. String to sign used was " + text)
	}
	var policies []Policy
	if q.Get("si") != "" {
		policies = v.Policies(g.Name)
	}
	g.query = q
	if g.Perms, err = g.permissions(policies, r.Now); err != nil {
		return nil, err
	}
	if err := checkOrigin(r); err != nil {
		return nil, err
	}
	g.Headers = overrides(q)
	return g, nil
}

// canonical returns the resource as it is signed, and fills in g.
func (v *Verifier) canonical(r *wire.Request, res Resource, g *Grant) (string, error) {
	base := "/" + string(r.Service) + "/" + v.Account + "/"
	switch r.Service {
	case wire.Table:
		// The URL of a transaction names no table: tn does. Elsewhere the two must agree.
		tn := r.Query.Get("tn")
		if res.Name != "" && !strings.EqualFold(tn, res.Name) {
			return "", failed("The SAS is for the table " + tn + ", and the request is for another resource.")
		}
		g.Name = tn
		var err error
		g.Range, err = rangeOf(r.Query)
		return base + strings.ToLower(tn), err
	case wire.Blob:
		return v.canonicalBlob(r.Query.Get("sr"), base, res)
	}
	return base + res.Name, nil
}

func (v *Verifier) canonicalBlob(sr, base string, res Resource) (string, error) {
	switch sr {
	case "c":
		return base + res.Name, nil
	case "b":
		if res.Blob == "" {
			return "", (&Grant{}).OwnerOnly()
		}
		return base + res.Name + "/" + res.Blob, nil
	case "bs", "bv", "d":
		return "", wire.NotImplemented("SAS of snapshots, versions and directories (sr=" + sr + ")")
	}
	return "", failed("sr must be b or c.")
}

// sasText returns the string to sign of a service SAS
// (learn.microsoft.com/rest/api/storageservices/create-service-sas).
func sasText(s wire.Service, q url.Values, canon string) string {
	lines := []string{q.Get("sp"), q.Get("st"), q.Get("se"), canon, q.Get("si"), q.Get("sip"), q.Get("spr"),
		q.Get("sv")}
	switch s {
	case wire.Table:
		lines = append(lines, q.Get("spk"), q.Get("srk"), q.Get("epk"), q.Get("erk"))
	case wire.Blob:
		if q.Get("sv") >= "2018-11-09" {
			lines = append(lines, q.Get("sr"), "") // no snapshot time: snapshots are not served
		}
		if q.Get("sv") >= "2020-12-06" {
			lines = append(lines, q.Get("ses"))
		}
		lines = append(lines, q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct"))
	}
	return strings.Join(lines, "\n")
}

// Recheck checks the terms of a SAS again when its write is applied: the body may
// have taken long to arrive. It needs the policies of the resource, and their lock,
// so that no write is applied after its token was revoked.
func (g *Grant) Recheck(policies []Policy, now time.Time) error {
	if g.Owner {
		return nil
	}
	perms, err := g.permissions(policies, now)
	if err == nil && strings.Trim(g.Perms, perms) != "" {
		err = errPermission // one that it had has been withdrawn
	}
	return err
}

// permissions returns the permissions of a SAS, if now is between its start and expiry.
func (g *Grant) permissions(policies []Policy, now time.Time) (string, error) {
	terms, err := terms(g.query, policies)
	if err != nil {
		return "", err
	}
	err = checkWindow(terms, now)
	if err == nil && g.query.Has("skoid") {
		err = checkDelegation(g.query, now)
	}
	return terms.Access.Permission, err
}

// terms combines the terms of the SAS and of its stored policy. A term must not be
// in both.
func terms(q url.Values, policies []Policy) (Policy, error) {
	var p Policy
	if id := q.Get("si"); id != "" {
		for _, stored := range policies {
			if stored.ID == id {
				p = stored
			}
		}
		if p.ID == "" {
			return p, failed("The stored access policy " + id + " does not exist.")
		}
	}
	for _, term := range []struct {
		name   string
		stored *string
	}{{"st", &p.Access.Start}, {"se", &p.Access.Expiry}, {"sp", &p.Access.Permission}} {
		said := q.Get(term.name)
		if said != "" && *term.stored != "" {
			return p, wire.BadQuery(term.name, said, "It is set by the stored access policy too.")
		}
		*term.stored = cmp.Or(*term.stored, said)
	}
	return p, nil
}

func checkWindow(p Policy, now time.Time) error {
	if p.Access.Permission == "" {
		return failed("Signed permissions must be specified in signature or SAS identifier.")
	}
	end, ok := parseTime(p.Access.Expiry)
	if !ok {
		return failed("Signed expiry must be specified in signature or SAS identifier.")
	}
	if !now.Before(end) {
		return failed("Signed expiry time [" + wire.HTTPTime(end) +
			"] must be after signed start time and the present [" + wire.HTTPTime(now) + "].")
	}
	if p.Access.Start == "" {
		return nil
	}
	start, ok := parseTime(p.Access.Start)
	if !ok {
		return failed("Signed start is not a time in ISO 8601.")
	}
	if now.Before(start) {
		return failed("Signature not valid in the specified time frame: Start [" + wire.HTTPTime(start) +
			"] - Current [" + wire.HTTPTime(now) + "].")
	}
	return nil
}

// checkOrigin checks the protocol and the client address that a SAS allows.
func checkOrigin(r *wire.Request) error {
	switch spr := r.Query.Get("spr"); spr {
	case "", "https,http", "http,https":
	case "https":
		if r.TLS == nil {
			return &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationProtocolMismatch",
				Message: "This request is not authorized to perform this operation using this protocol."}
		}
	default:
		return failed("spr must be https or https,http.")
	}
	sip := r.Query.Get("sip")
	if sip == "" {
		return nil
	}
	low, high, isRange := strings.Cut(sip, "-")
	if !isRange {
		high = low
	}
	from, errFrom := netip.ParseAddr(low)
	to, errTo := netip.ParseAddr(high)
	if errFrom != nil || errTo != nil {
		return failed("sip must be an address or a range of addresses.")
	}
	host, _, _ := net.SplitHostPort(r.RemoteAddr)
	at, err := netip.ParseAddr(host)
	at = at.Unmap().WithZone("")
	if err != nil || at.Less(from) || to.Less(at) {
		return &wire.Error{Status: http.StatusForbidden, Code: "AuthorizationSourceIPMismatch",
			Message: "This request is not authorized to perform this operation using this source IP.",
			Details: []wire.Detail{{Name: "SourceIP", Value: host}}}
	}
	return nil
}

// overrides returns the headers that a blob SAS sets on the answer.
func overrides(q url.Values) http.Header {
	var h http.Header
	for param, name := range map[string]string{"rscc": "Cache-Control", "rscd": "Content-Disposition",
		"rsce": "Content-Encoding", "rscl": "Content-Language", "rsct": "Content-Type"} {
		if value := q.Get(param); value != "" {
			if h == nil {
				h = http.Header{}
			}
			h.Set(name, value)
		}
	}
	return h
}
