package endpoint

import (
	"crypto/rand"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// An exchange is a request and its response.
type exchange struct {
	w     http.ResponseWriter
	r     *http.Request
	name  string // request ID: our own, because a client could reuse one
	began time.Time
	id    string // device ID from the path
	key   string // name of the enrollment whose key the client has proven to have; empty: none
	begun bool   // the response was started
}

func newExchange(w http.ResponseWriter, r *http.Request) *exchange {
	x := &exchange{w: w, r: r, name: rand.Text(), began: time.Now()}
	w.Header().Set("X-Request-Id", x.name)
	w.Header().Set("Cache-Control", "no-store")
	return x
}

// send responds with 200 and v as JSON.
func (x *exchange) send(v any) *refusal {
	body, err := json.Marshal(v)
	if err != nil {
		return &refusal{code: Internal, detail: "the response cannot be encoded", cause: err}
	}
	return x.sendBytes("application/json", append(body, '\n'))
}

func (x *exchange) sendBytes(kind string, body []byte) *refusal {
	x.write(http.StatusOK, kind, body)
	return nil
}

func (x *exchange) sendProblem(no refusal) {
	status := codes()[no.code]
	p := problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: no.detail,
		Code: no.code, RequestID: x.name, ServerTime: time.Now().UTC(), RetryAfter: seconds(no.after)}
	if p.RetryAfter > 0 {
		x.w.Header().Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	if status == http.StatusUnauthorized {
		x.w.Header().Set("WWW-Authenticate", "SharedAccessSignature")
	}
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // a struct of strings, numbers and a time always encodes
	}
	x.write(status, "application/problem+json", append(body, '\n'))
}

func (x *exchange) write(status int, kind string, body []byte) {
	x.begun = true
	x.w.Header().Set("Content-Type", kind)
	x.w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	x.w.WriteHeader(status)
	_, _ = x.w.Write(body) // the client is gone; there is nobody to tell
}

// seconds rounds d up to whole seconds.
func seconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
