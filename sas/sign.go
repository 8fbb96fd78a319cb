package sas

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"
)

// Version is the version of the signature's format (sv). It is independent of the x-ms-version
// of requests with the token.
const Version = "2019-02-02"

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
	if g.Protocol == "" {
		g.Protocol = HTTPS
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(g.stringToSign(account)))

	return g.query(base64.StdEncoding.EncodeToString(mac.Sum(nil))), nil
}

// query encodes the fields in the order of their names, like url.Values.
func (g Grant) query(signature string) string {
	b := make([]byte, 0, 512)
	for _, field := range [...][2]string{
		{"epk", g.EndPartition}, {"erk", g.EndRow}, {"se", instant(g.Expiry)}, {"si", g.Policy}, {"sig", signature},
		{"sip", g.IP}, {"sp", g.Permissions}, {"spk", g.StartPartition}, {"spr", g.Protocol}, {"srk", g.StartRow},
		{"st", instant(g.Start)}, {"sv", Version}, {"tn", strings.ToLower(g.Table)},
	} {
		name, value := field[0], field[1]
		if value == "" {
			continue
		}
		if len(b) > 0 {
			b = append(b, '&')
		}
		b = append(append(b, name...), '=')
		// Not every server decodes + as a space.
		b = append(b, strings.ReplaceAll(url.QueryEscape(value), "+", "%20")...)
	}
	return string(b)
}

// stringToSign contains a line for every field, even if empty.
func (g Grant) stringToSign(account string) string {
	return strings.Join([]string{
		g.Permissions,
		instant(g.Start),
		instant(g.Expiry),
		"/table/" + account + "/" + strings.ToLower(g.Table),
		g.Policy,
		g.IP,
		g.Protocol,
		Version,
		g.StartPartition,
		g.StartRow,
		g.EndPartition,
		g.EndRow,
	}, "\n")
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
