package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"time"
)

// An issuer is a running endpoint that gives devices their tokens.
type issuer struct {
	*site
	name    string // overHTTP or overHTTPS
	url     string
	server  *server
	kept    *Transport
	fresh   *Transport        // one on which no connection is ever kept
	devices [][]*http.Request // that are known, by client; see known
}

// farOff are limits that no machine reaches: of all devices, and of a single one.
func farOff() []string { return []string{"--rate", "1000000", "--device-rate", "1000000"} }

// openIssuer starts an endpoint. Where no limits are given it has its default ones.
func (s *site) openIssuer(ctx context.Context, name string, limits ...string) (*issuer, error) {
	args := []string{"sas", "--storage", s.storage.directory, "--names-prefix", sitePrefix, "--master-key-file", s.master,
		"--listen", "127.0.0.1:0", "--json", "--" + StopWithInput}
	if name == overHTTPS {
		args = append(args, "--tls", "self-signed")
	}
	e := &issuer{site: s, name: name, server: &server{command: exec.Command(s.executable, append(args, limits...)...)}}
	var said struct {
		Endpoint string
		TLS      struct{ CAFile string }
	}
	if err := e.server.start(ctx, &said); err != nil {
		return nil, err
	}
	s.issuers = append(s.issuers, e)
	e.url = said.Endpoint
	var errKept, errFresh error
	e.kept, errKept = NewTransport(said.TLS.CAFile)
	e.fresh, errFresh = NewTransport(said.TLS.CAFile)
	return e, errors.Join(errKept, errFresh)
}

// request is a device's. It can be sent again and again.
func (e *issuer) request(device string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, e.url+"/v1/devices/"+device+"/token", nil)
	if err != nil {
		return nil, err
	}
	resource := string(siteEnrollment) + "/registrations/" + device
	r.Header.Set("Authorization", e.key.Of(device).Prove(resource, time.Now().Add(24*time.Hour)))
	return r, nil
}

// ask sends a request, over a fresh connection or one that is kept. Its error is a
// *turnedAway where the endpoint has answered.
func (e *issuer) ask(ctx context.Context, r *http.Request, fresh bool) error {
	r, t := r.WithContext(ctx), e.kept
	if fresh {
		r.Close, t = true, e.fresh
	}
	answer, err := t.Do(r)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return newTurnedAway(answer, body)
	case !bytes.Contains(body, []byte(`"sas":"`)):
		return errors.New("the endpoint answers 200, and there is no token in it")
	}
	return nil
}

// A turnedAway is an answer of the endpoint without a token.
type turnedAway struct {
	status int
	code   string
	after  time.Duration // that it asks to wait
}

func newTurnedAway(answer *http.Response, body []byte) *turnedAway {
	var problem struct{ Code string }
	_ = json.Unmarshal(body, &problem) // a proxy's may be none; its status says enough
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return &turnedAway{answer.StatusCode, problem.Code, time.Duration(seconds) * time.Second}
}

func (t *turnedAway) Error() string {
	return fmt.Sprintf("the endpoint answers %d %s", t.status, t.code)
}
