package dashboard

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"
)

// TestRequestEndsWithItsClient has a condition that takes seconds to be decided for all readings of a device. It prints
// how long it goes on when its client has gone: on a quiet machine less than 100 ms.
func TestRequestEndsWithItsClient(t *testing.T) {
	effort.Alone(t)
	f := newFixture(t, 3, Config{Loopback: true})
	now := time.Now()
	for i := range 3000 {
		f.Send(t, "d0001", now.Add(-time.Duration(i+2000)*time.Millisecond), map[string]any{"door": strings.Repeat("a", 256)})
	}
	f.Fold(t)
	f.run(t, 3)
	began, ended := make(chan bool, 1), make(chan time.Time, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began <- true
		f.ServeHTTP(w, r)
		ended <- time.Now()
	}))
	defer server.Close()
	ctx, leave := context.WithCancel(t.Context())
	go func() {
		<-began
		time.Sleep(300 * time.Millisecond) // while it is being decided
		leave()
	}()
	where := url.QueryEscape(`door matches "a{0,450}b"`)
	r := must.Have(http.NewRequestWithContext(ctx, http.MethodGet,
		fmt.Sprint(server.URL, "/v1/devices/d0001/readings?span=1h&where=", where), nil))(t)
	r.Host = "127.0.0.1:10090"
	answer, err := http.DefaultClient.Do(r)
	if err == nil {
		body, _ := io.ReadAll(answer.Body) // for a person
		answer.Body.Close()
		t.Fatalf("it is answered with %d before its client leaves: %s", answer.StatusCode, body)
	}
	gone := time.Now()
	took := (<-ended).Sub(gone)
	t.Logf("it ends %v after its client has gone", took.Round(time.Millisecond))
	if took > time.Second {
		t.Error("it goes on without its client")
	}
}
