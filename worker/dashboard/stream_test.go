package dashboard

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"furrow/worker/dashboard/model"
	"net/http"
	"testing"
	"time"
)

// TestStreamShowsAValueChangeByItself listens over a network, compressed, while a
// device sends, and then the server ends.
func TestStreamShowsAValueChangeByItself(t *testing.T) {
	y := grown(t, 3)
	h := newHouse(t, y, Config{Loopback: true})
	url, stop, ended := listening(t, h)
	h.settle(t, 3)
	r, err := http.NewRequest("GET", url+"/v1/stream?sensor=temperature", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%+v, %v", answer, err)
	}
	defer answer.Body.Close()
	z, err := gzip.NewReader(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(z)
	line := func() (string, error) { return lines.ReadString('\n') }
	name, data := event(t, line)
	var m model.Map
	if err := json.Unmarshal([]byte(data), &m); err != nil || name != "map" || len(m.Devices) != 3 {
		t.Fatalf("it begins with %s %s, %v", name, data, err)
	}
	time.Sleep(time.Second) // storage's timestamps and the slots of runs are in seconds
	y.Send(t, "d0001", time.Now().Add(-11*time.Second), map[string]any{"temperature": 77.0})
	y.Fold(t)
	for {
		name, data = event(t, line)
		var c model.Change
		if err := json.Unmarshal([]byte(data), &c); err != nil || name != "change" {
			t.Fatalf("%s %s, %v", name, data, err)
		}
		if len(c.Devices) == 1 && c.Devices[0].Device == "d0001" && c.Devices[0].Value == 77.0 {
			break
		}
		if len(c.Devices) > 1 || len(c.Clusters) > 0 {
			t.Errorf("it sends what has not changed: %s", data)
		}
	}
	began := time.Now()
	stop()
	if err := <-ended; err != nil || time.Since(began) > grace {
		t.Errorf("the server ends after %v with %v", time.Since(began), err)
	}
}

func TestStreamsAreBounded(t *testing.T) {
	h := newHouse(t, grown(t, 1), Config{Loopback: true})
	for range mostStreams {
		h.streams <- struct{}{}
	}
	wantProblem(t, "one more", h.ask("GET", "/v1/stream"), TooManyRequests)
}
