package auth

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"furrow/tables/local/internal/wire"
)

// MaxSkew is the largest allowed difference between a request's date and the server's clock
// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key).
const MaxSkew = 15 * time.Minute

// sharedKey checks an Authorization header of the form "SharedKey account:signature".
func (v *Verifier) sharedKey(r *wire.Request, lite bool, credential string) error {
	account, sig, ok := strings.Cut(credential, ":")
	if !ok || account != v.Account {
		return failed("The Authorization header does not name this account.")
	}
	if err := checkDate(r); err != nil {
		return err
	}
	text := stringToSign(r, lite, byWeight)
	if signed(v.Key, text, sig) || signed(v.Key, stringToSign(r, lite, cmp.Compare[string]), sig) {
		return nil
	}
	return failed("The MAC signature found in the HTTP request is not the same as any computed signature. " +
		"Server used following string to sign: '" + text + "'.")
}

// signed reports, in constant time, whether sig is the signature of text by a key.
func signed(key []byte, text, sig string) bool {
	got, err := base64.StdEncoding.DecodeString(sig)
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return hmac.Equal(mac.Sum(nil), got) && err == nil
}

func checkDate(r *wire.Request) error {
	text := cmp.Or(r.Header.Get("X-Ms-Date"), r.Header.Get("Date"))
	at, err := http.ParseTime(text)
	if err != nil {
		return failed("A Date or x-ms-date header in RFC 1123 format is required.")
	}
	if off := r.Now.Sub(at).Abs(); off > MaxSkew {
		return failed("Request date header too old: '" + text + "'; the server's clock says '" + wire.HTTPTime(r.Now) +
			"'.")
	}
	return nil
}

// stringToSign returns the string that a client signed for r. The Table service
// signs less than the other two, and Lite less than the full form
// (learn.microsoft.com/rest/api/storageservices/authorize-with-shared-key).
func stringToSign(r *wire.Request, lite bool, order func(a, b string) int) string {
	h := r.Header
	if r.Service == wire.Table {
		date := cmp.Or(h.Get("X-Ms-Date"), h.Get("Date"))
		if lite {
			return date + "\n" + shortResource(r)
		}
		return strings.Join([]string{r.Method, h.Get("Content-MD5"), h.Get("Content-Type"), date, shortResource(r)},
			"\n")
	}
	date := h.Get("Date")
	if h.Get("X-Ms-Date") != "" {
		date = ""
	}
	if lite {
		return strings.Join([]string{r.Method, h.Get("Content-MD5"), h.Get("Content-Type"), date}, "\n") + "\n" +
			canonicalHeaders(h, order) + shortResource(r)
	}
	return strings.Join([]string{r.Method, h.Get("Content-Encoding"), h.Get("Content-Language"), contentLength(r),
		h.Get("Content-MD5"), h.Get("Content-Type"), date, h.Get("If-Modified-Since"), h.Get("If-Match"),
		h.Get("If-None-Match"), h.Get("If-Unmodified-Since"), h.Get("Range")}, "\n") + "\n" +
		canonicalHeaders(h, order) + longResource(r)
}

// contentLength returns Content-Length as it is signed: since version 2015-02-21
// zero is signed as an empty string.
func contentLength(r *wire.Request) string {
	length := r.Header.Get("Content-Length")
	if length == "0" && (r.Version == "" || r.Version >= "2015-02-21") {
		return ""
	}
	return length
}

func canonicalHeaders(h http.Header, order func(a, b string) int) string {
	values := map[string]string{}
	for name, v := range h {
		if name := strings.ToLower(name); strings.HasPrefix(name, "x-ms-") {
			values[name] = strings.Join(strings.Fields(strings.Join(v, ",")), " ")
		}
	}
	var s strings.Builder
	for _, name := range slices.SortedFunc(maps.Keys(values), order) {
		s.WriteString(name + ":" + values[name] + "\n")
	}
	return s.String()
}

// byWeight compares header names as Azure and its newer SDKs sort them: hyphens are
// ignored, and punctuation comes before digits. Older clients sort by bytes; the two
// orders differ only for names such as x-ms-meta-a_b and x-ms-meta-a1.
func byWeight(a, b string) int {
	weight := func(s string) []int {
		var w []int
		for _, c := range s {
			if c != '-' {
				w = append(w, strings.IndexRune("!#$%&*.^_`|~+0123456789abcdefghijklmnopqrstuvwxyz", c))
			}
		}
		return w
	}
	return cmp.Or(slices.Compare(weight(a), weight(b)), cmp.Compare(b, a))
}

// shortResource returns the canonicalized resource of the Table service and of Lite.
func shortResource(r *wire.Request) string {
	s := "/" + r.Account + r.Target
	if comp, ok := r.Query["comp"]; ok {
		s += "?comp=" + comp[0]
	}
	return s
}

// longResource returns the canonicalized resource with every query parameter.
func longResource(r *wire.Request) string {
	var params []string
	for name, values := range r.Query {
		values = slices.Sorted(slices.Values(values))
		params = append(params, strings.ToLower(name)+":"+strings.Join(values, ","))
	}
	slices.Sort(params)
	s := "/" + r.Account + r.Target
	for _, p := range params {
		s += "\n" + p
	}
	return s
}
