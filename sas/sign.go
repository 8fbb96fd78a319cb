package sas

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// Version is the version of the signature's format (sv). It is independent of the x-ms-version
// of requests with the token.
const Version = "2019-02-02"

// DelegatedVersion is that of tokens that are signed with a user delegation key: the first version in which the Table
// service has them.
const DelegatedVersion = "2025-07-05"

// The protocols of a token.
const (
	HTTPS        = "https"
	HTTPSAndHTTP = "https,http"
)

// A Grant describes a token of the Table service. A zero field is omitted unless stated
// otherwise.
//
// See https://learn.microsoft.com/rest/api/storageservices/create-service-sas.
type Grant struct {
	Table       string    // required
	Permissions string    // of r (query), a (add), u (update), d (delete), in this order; zero: the policy's
	Start       time.Time // zero: the policy's, or at once
	Expiry      time.Time // zero: the policy's
	Policy      string    // ID of a stored access policy; the token must not repeat its fields
	Protocol    string    // zero: HTTPS
	IP          string    // an address or a range, e.g. 10.0.0.1-10.0.0.9

	// The first and last row that it admits. All four zero: the whole table.
	StartPartition, StartRow string
	EndPartition, EndRow     string
}

// Sign returns the token: a URL query without question mark. The key is the decoded account
// key.
func (g Grant) Sign(account string, key []byte) (string, error) {
	if err := g.check(); err != nil {
		return "", fmt.Errorf("token for table %q: %w", g.Table, err)
	}
	g.Protocol = cmp.Or(g.Protocol, HTTPS)
	resource := g.resource(account)

	return encode(append(g.fields(), field{"si", g.Policy}, field{"sv", Version}, field{"sig", sign(key, []string{
		g.Permissions, instant(g.Start), instant(g.Expiry), resource, g.Policy, g.IP, g.Protocol, Version,
		g.StartPartition, g.StartRow, g.EndPartition, g.EndRow})})), nil
}

// SignDelegated returns a token that is signed with a user delegation key. It cannot have a stored access policy, and
// ends with the key.
//
// See https://learn.microsoft.com/rest/api/storageservices/create-user-delegation-sas.
func (g Grant) SignDelegated(account string, k tables.DelegationKey) (string, error) {
	err := g.check()
	switch {
	case err != nil:
	case g.Policy != "":
		err = errors.New("signed with a user delegation key, it cannot have a stored policy")
	case g.Expiry.After(k.Expiry):
		err = fmt.Errorf("it expires at %s, after its user delegation key at %s", instant(g.Expiry), instant(k.Expiry))
	}
	if err != nil {
		return "", fmt.Errorf("token for table %q: %w", g.Table, err)
	}
	g.Protocol = cmp.Or(g.Protocol, HTTPS)
	resource := g.resource(account)
	start, end := instant(k.Start), instant(k.Expiry)

	return encode(append(g.fields(), field{"skoid", k.ObjectID}, field{"sktid", k.TenantID}, field{"skt", start},
		field{"ske", end}, field{"sks", k.Service}, field{"skv", k.Version}, field{"sv", DelegatedVersion},
		field{"sig", sign(k.Value, []string{
			g.Permissions, instant(g.Start), instant(g.Expiry), resource, k.ObjectID, k.TenantID, start, end,
			k.Service, k.Version, "", "", // the token is bound to no user, of no tenant
			g.IP, g.Protocol, DelegatedVersion, g.StartPartition, g.StartRow, g.EndPartition, g.EndRow})})), nil
}

// resource returns the canonicalized resource.
func (g Grant) resource(account string) string {
	return "/table/" + account + "/" + strings.ToLower(g.Table)
}

// sign signs lines. There is one for every field of a token, even if it is empty.
func sign(key []byte, lines []string) string {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(strings.Join(lines, "\n")))
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}

// A field is the name and the value of a parameter.
type field [2]string

// fields returns the fields that all tokens have.
func (g Grant) fields() []field {
	return []field{
		{"epk", g.EndPartition}, {"erk", g.EndRow}, {"se", instant(g.Expiry)}, {"sip", g.IP}, {"sp", g.Permissions},
		{"spk", g.StartPartition}, {"spr", g.Protocol}, {"srk", g.StartRow}, {"st", instant(g.Start)},
		{"tn", strings.ToLower(g.Table)},
	}
}

// encode encodes fields in the order of their names, like url.Values.
func encode(fields []field) string {
	slices.SortFunc(fields, func(a, b field) int { return cmp.Compare(a[0], b[0]) })
	b := make([]byte, 0, 512)
	for _, f := range fields {
		if f[1] == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, '&')
		}
		b = append(append(b, f[0]...), '=')
		// Not every server decodes + as a space.
		b = append(b, strings.ReplaceAll(url.QueryEscape(f[1]), "+", "%20")...)
	}
	return string(b)
}

// check refuses a grant that would mean more than it says.
func (g Grant) check() error {
	if g.Policy == "" && (g.Permissions == "" || g.Expiry.IsZero()) {
		return errors.New("without a stored policy it needs permissions and an expiry")
	}
	for _, field := range []string{g.Table, g.Policy, g.IP, g.StartPartition, g.StartRow, g.EndPartition, g.EndRow} {
		if strings.Contains(field, "\n") {
			return fmt.Errorf("%q contains a line break, which would be signed as the next field", field)
		}
	}
	return nil
}

// instant formats a time for a token: UTC, whole seconds; the zero time is "".
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05Z")
}

// Cohort returns the number of the policy, among its table's policies, that a device's tokens
// refer to. It is a hash, so that all processes agree and devices with similar IDs are spread.
// It must never change: revocation would then replace the wrong policy.
func Cohort(device schema.DeviceID) int {
	sum := sha256.Sum256([]byte(device))
	return int(sum[0]) % schema.Cohorts
}
