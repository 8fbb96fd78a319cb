package queue

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"furrow/tables/local/internal/wiretest"
)

// BenchmarkTurns is put, get and delete by 64 at a time, without HTTP.
func BenchmarkTurns(b *testing.B) {
	h, _ := benched(b)
	text := []byte(strings.Repeat("x", 250))
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(p *testing.PB) {
		for p.Next() {
			err := h.inTransaction("bench", func(u *transaction) error { u.add(u.now.ns, never, text); return nil })
			var held []*message
			if err == nil {
				err = h.inTransaction("bench", func(u *transaction) (err error) {
					held, _,
						err = u.take(1, after(u.now.ns, 30))
					return err
				})
			}
			if err == nil {
				err = h.inTransaction("bench", func(u *transaction) error { u.remove(held[0]); return nil })
			}
			if err != nil {
				b.Error(err)
			}
		}
	})
}

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
