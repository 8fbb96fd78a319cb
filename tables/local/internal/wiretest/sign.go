package wiretest

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// The account of every service under test.
const (
	Account = "furrow"
	Key     = "the key of the account under test, as long as those of Azure are"
	Expiry  = "2150-01-01T00:00:00Z" // of a SAS
)

// KeyText is the key as SDKs take it.
func KeyText() string { return base64.StdEncoding.EncodeToString([]byte(Key)) }

// MAC is the signature of a text.
func MAC(text string) string {
	m := hmac.New(sha256.New, []byte(Key))
	m.Write([]byte(text))
	return base64.StdEncoding.EncodeToString(m.Sum(nil))
}

// Sign adds the Authorization header of SharedKey for blobs and queues.
func (s *Server) Sign(req *http.Request) *http.Request {
	h := req.Header
	h.Set("x-ms-date", s.Now().UTC().Format(http.TimeFormat))
	h.Set("x-ms-version", "2024-08-04")
	length := ""
	if req.ContentLength > 0 {
		length = strconv.FormatInt(req.ContentLength, 10)
	}
	lines := []string{req.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), length, h.Get("Content-MD5"),
		h.Get("Content-Type"), "", h.Get("If-Modified-Since"), h.Get("If-Match"), h.Get("If-None-Match"),
		h.Get("If-Unmodified-Since"), h.Get("Range")}
	own := map[string]string{}
	for name, v := range h {
		if name = strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			own[name] = name + ":" + strings.Join(strings.Fields(v[0]), " ")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		lines = append(lines, own[name])
	}
	lines = append(lines, "/"+Account+req.URL.EscapedPath())
	q := req.URL.Query()
	for _, name := range slices.Sorted(maps.Keys(q)) {
		lines = append(lines, strings.ToLower(name)+":"+strings.Join(q[name], ","))
	}
	h.Set("Authorization", "SharedKey "+Account+":"+MAC(strings.Join(lines, "\n")))
	return req
}

// SAS is the query of a service SAS for a resource, for example "data/x". Terms
// are pairs of name and value.
func SAS(service wire.Service, resource string, terms ...string) url.Values {
	q := url.Values{"sv": {"2021-12-02"}}
	for i := 0; i < len(terms); i += 2 {
		q.Set(terms[i], terms[i+1])
	}
	names := []string{"sp", "st", "se", "", "si", "sip", "spr", "sv"}
	switch service {
	case wire.Table:
		names = append(names, "spk", "srk", "epk", "erk")
	case wire.Blob:
		names = append(names, "sr", "snapshot", "ses", "rscc", "rscd", "rsce", "rscl", "rsct")
	}
	lines := make([]string, len(names))
	for i, name := range names {
		lines[i] = q.Get(name)
	}
	lines[3] = "/" + string(service) + "/" + Account + "/" + resource
	q.Set("sig", MAC(strings.Join(lines, "\n")))
	return q
}
