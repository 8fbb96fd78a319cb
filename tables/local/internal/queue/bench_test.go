package queue

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"furrow/tables/local/internal/wiretest"
)

// BenchmarkPut is a signed request through the handler, without a network.
func BenchmarkPut(b *testing.B) {
	_, f := benched(b)
	handler := f.service.Handler(slog.New(slog.DiscardHandler))
	body := "<QueueMessage><MessageText>" + strings.Repeat("x", 250) + "</MessageText></QueueMessage>"
	target := "/" + wiretest.Account + "/bench/messages?" + sas("bench", "a", "").Encode()
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest("POST", target, strings.NewReader(body)))
		if w.Code != http.StatusCreated {
			b.Fatal(w.Body)
		}
	}
}

func benched(b *testing.B) (*Service, *fixture) {
	b.Helper()
	f := newFixture(b)
	f.queue("bench")
	return f.service, f
}
