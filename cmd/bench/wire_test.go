package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
)

// TestWireRepeatsEveryExchangeInItsSize: what is recorded of requests is what the null service gets and answers.
func TestWireRepeatsEveryExchangeInItsSize(t *testing.T) {
	t.Parallel()
	storage := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_, _ = io.WriteString(w, strings.Repeat("row ", len(r.URL.Path)))
	}))
	defer storage.Close()
	real := &recorder{next: storage.Client().Transport}
	real.on.Store(true)
	client := &http.Client{Transport: real}
	for _, path := range []string{"", "/a", "/" + strings.Repeat("b", 50_000)} {
		must.Succeed(t, finish(client.Get(storage.URL+path)))
		must.Succeed(t, finish(client.Post(storage.URL+path, "text/plain", strings.NewReader(path))))
	}
	found := real.recorded()
	null := httptest.NewServer(http.HandlerFunc(doNothing))
	defer null.Close()
	again := &recorder{next: http.DefaultTransport}
	again.on.Store(true)
	var sent, received int64
	for _, x := range found {
		must.Succeed(t, x.repeat(t.Context(), again, null.URL))
		sent, received = sent+x.sent, received+x.received
	}
	repeated := again.recorded()
	if len(found) != 6 || len(repeated) != 6 || sent != 50_003 || received < 2*4*50_000 {
		t.Fatalf("%d exchanges of %d and %d bytes, %d repeated", len(found), sent, received, len(repeated))
	}
	for i, x := range found {
		if *x != *repeated[i] {
			t.Errorf("exchange %d: %+v, repeated as %+v", i, *x, *repeated[i])
		}
	}
	must.Succeed(t, finish(client.Get(storage.URL)))
	if rest := real.recorded(); len(rest) != 0 {
		t.Errorf("%d exchanges were recorded after the end", len(rest))
	}
	if spent := must.Have(wireTime(t.Context(), found, 4))(t); spent > time.Minute {
		t.Error(spent)
	}
}

func finish(answer *http.Response, err error) error {
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
	}
	return err
}
