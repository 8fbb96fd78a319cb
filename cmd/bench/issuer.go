package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"furrow/cmd/internal/process"
	"furrow/cmd/internal/setup"
)

// An issuer is a running token endpoint.
type issuer struct {
	*tokenSite
	name    string // overHTTP or overHTTPS
	url     string
	process *process.Process
	kept    *http.Client
	fresh   *http.Client      // opens a connection for each request and resumes no TLS session
	resumed *http.Client      // opens a connection for each request and resumes a TLS session if it has one
	devices [][]*http.Request // of known devices, by client; see known
}

// openIssuer starts an endpoint for so many clients. Without limits it has its default ones.
func (s *tokenSite) openIssuer(ctx context.Context, name string, clients int, limits ...string) (*issuer, error) {
	args := []string{"sas", "--storage", s.storage.directory, "--names-prefix", sitePrefix, "--master-key-file", s.master,
		"--listen", "127.0.0.1:0", "--json"}
	if name == overHTTPS {
		args = append(args, "--tls", "self-signed")
	}
	e := &issuer{tokenSite: s, name: name}
	var said struct {
		Endpoint string
		TLS      struct{ CAFile string }
	}
	var err error
	file := fmt.Sprintf("sas-%s-%d", name, len(s.issuers))
	if e.process, err = start(ctx, &said, s.executable, s.storage.directory, file,
		append(args, limits...)...); err != nil {
		return nil, err
	}
	s.issuers = append(s.issuers, e)
	e.url = said.Endpoint
	return e, e.connect(said.TLS.CAFile, clients)
}

func (e *issuer) connect(caFile string, clients int) (err error) {
	if e.kept, err = setup.Transport(caFile); err != nil {
		return err
	}
	kept := e.kept.Transport.(*http.Transport)
	kept.MaxIdleConnsPerHost = clients
	fresh := kept.Clone()
	fresh.DisableKeepAlives = true
	e.fresh = &http.Client{Transport: fresh}
	resumed := fresh.Clone()
	if resumed.TLSClientConfig == nil {
		resumed.TLSClientConfig = &tls.Config{}
	}
	resumed.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	e.resumed = &http.Client{Transport: resumed}
	return nil
}

// request returns a device's request, which can be sent more than once.
func (e *issuer) request(device string) (*http.Request, error) {
	r, err := http.NewRequest(http.MethodPost, e.url+"/v1/devices/"+device+"/token", nil)
	if err != nil {
		return nil, err
	}
	resource := string(siteEnrollment) + "/registrations/" + device
	r.Header.Set("Authorization", e.key.Of(device).Prove(resource, time.Now().Add(24*time.Hour)))
	return r, nil
}

// ask sends a request with one of the clients. Its error is a *refusal if the endpoint has answered.
func (e *issuer) ask(ctx context.Context, r *http.Request, over *http.Client) error {
	answer, err := over.Do(r.WithContext(ctx))
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	switch {
	case err != nil:
		return err
	case answer.StatusCode != http.StatusOK:
		return newRefusal(answer, body)
	case !bytes.Contains(body, []byte(`"sas":"`)):
		return errors.New("the endpoint answered 200 without a token")
	}
	return nil
}

// A refusal is an answer of the endpoint without a token.
type refusal struct {
	status int
	code   string
	after  time.Duration // from Retry-After
}

func newRefusal(answer *http.Response, body []byte) *refusal {
	var problem struct{ Code string }
	_ = json.Unmarshal(body, &problem) // a proxy's answer may have another form; its status says enough
	seconds, _ := strconv.Atoi(answer.Header.Get("Retry-After"))
	return &refusal{answer.StatusCode, problem.Code, time.Duration(seconds) * time.Second}
}

func (r *refusal) Error() string { return fmt.Sprintf("the endpoint answered %d %s", r.status, r.code) }
