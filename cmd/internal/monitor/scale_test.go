package monitor

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// TestScaleAnswersForTheBusiestPipeline also has storage fail: an autoscaler must not take that for an empty queue.
func TestScaleAnswersForTheBusiestPipeline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var away error
		m := New()
		m.Watch(func(context.Context) (map[schema.Pipeline]query.Status, error) {
			return map[schema.Pipeline]query.Status{
				"archive": {Cadence: time.Hour},
				"live":    {Cadence: time.Minute, Queue: 65, Catchup: 2},
			}, away
		})
		s := &Server{Monitor: m, Log: slog.New(slog.DiscardHandler)}
		get := func(path string) (int, string) {
			w := httptest.NewRecorder()
			s.handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
			return w.Code, w.Body.String()
		}
		const want = `{"workers":3,"pipelines":[{"pipeline":"archive","workers":0,"messages":0,"catchup":0},` +
			`{"pipeline":"live","workers":3,"messages":65,"catchup":2}]}` + "\n"
		if code, body := get("/v1/scale"); code != http.StatusOK || body != want {
			t.Errorf("%d %s; want %s", code, body, want)
		}
		if code, body := get("/v1/scale?jobs=0"); code != http.StatusBadRequest {
			t.Errorf("no jobs: %d %s", code, body)
		}
		away = errors.New("storage is away")
		if code, _ := get("/v1/scale"); code != http.StatusOK {
			t.Errorf("within %v: %d; want what was read before", statusFor, code)
		}
		time.Sleep(statusFor)
		for range 2 { // the second answer is from the same read
			if code, body := get("/v1/scale?jobs=64"); code != http.StatusServiceUnavailable {
				t.Errorf("without storage: %d %s", code, body)
			}
		}
		away = nil
		time.Sleep(statusFor)
		if code, _ := get("/v1/scale"); code != http.StatusOK {
			t.Errorf("when storage is back: %d", code)
		}
	})
}

func TestScaleIsServedOnlyWhereThePipelinesAreWatched(t *testing.T) {
	s := &Server{Monitor: New(), Log: slog.New(slog.DiscardHandler)}
	w := httptest.NewRecorder()
	s.handler(nil).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/v1/scale", nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
