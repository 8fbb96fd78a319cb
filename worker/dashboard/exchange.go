package dashboard

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	jsonv1 "github.com/go-json-experiment/json/v1"
)

// An exchange is a request and its answer.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	page  bool // the answer is a page
	ask   ask
	began bool // an answer that is written piece by piece
	err   error
}

// smallest is what is worth compressing, in bytes.
const smallest = 1 << 10

// data answers with v as JSON. A browser may keep it, and asks whether it still holds.
func (x *exchange) data(v any) error {
	body, err := marshal(v)
	if err != nil {
		return &refusal{code: Internal, title: "Something is wrong here", detail: "The answer cannot be written; the log says why.", cause: err}
	}
	x.w.Header().Set("Cache-Control", "private, no-cache")
	x.tagged("application/json", append(body, '\n'))
	return nil
}

// marshal is v as encoding/json has it.
func marshal(v any) ([]byte, error) {
	return json.Marshal(v, jsonv1.FormatDurationAsNano(true), jsonv1.OmitEmptyWithLegacySemantics(true), json.Deterministic(true))
}

// tagged answers with a body that has a name made of what it holds.
func (x *exchange) tagged(kind string, body []byte) {
	sum := sha256.Sum256(body)
	tag := `W/"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"` // weak, as compressed it has other bytes
	x.w.Header().Set("ETag", tag)
	x.w.Header().Add("Vary", "Accept-Encoding")
	if x.has(tag) {
		x.w.WriteHeader(http.StatusNotModified)
		return
	}
	x.send(http.StatusOK, kind, body)
}

// has tells whether whoever asks has that already.
func (x *exchange) has(tag string) bool {
	for one := range strings.SplitSeq(x.r.Header.Get("If-None-Match"), ",") {
		if one = strings.TrimSpace(one); one == "*" || strings.TrimPrefix(one, "W/") == strings.TrimPrefix(tag, "W/") {
			return true
		}
	}
	return false
}

func (x *exchange) send(status int, kind string, body []byte) {
	h := x.w.Header()
	h.Set("Content-Type", kind)
	if len(body) >= smallest && takesGzip(x.r) {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		z.Write(body) // to memory
		z.Close()
		h.Set("Content-Encoding", "gzip")
		body = b.Bytes()
	}
	h.Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	if x.r.Method != http.MethodHead {
		_, _ = x.w.Write(body) // nobody is left to tell
	}
}

func takesGzip(r *http.Request) bool {
	for part := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		coding, quality, _ := strings.Cut(strings.TrimSpace(part), ";")
		if strings.TrimSpace(coding) == "gzip" && strings.ReplaceAll(quality, " ", "") != "q=0" {
			return true
		}
	}
	return false
}
