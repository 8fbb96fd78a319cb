package dashboard

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// TestStreamSendsAChangedValue listens to a compressed stream over TCP until the server ends.
func TestStreamSendsAChangedValue(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 3, Config{Loopback: true})
	url, stop, ended := f.serve(t)
	f.waitFor(t, 3)
	r := must.Have(http.NewRequest("GET", url+"/v1/stream?sensor=temperature", nil))(t)
	r.Header.Set("Accept-Encoding", "gzip")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%+v, %v", answer, err)
	}
	defer answer.Body.Close()
	z := must.Have(gzip.NewReader(answer.Body))(t)
	lines := bufio.NewReader(z)
	var m model.Map
	if readEvent(t, lines, "map", &m); len(m.Devices) != 3 {
		t.Fatalf("it begins with %+v", m)
	}
	time.Sleep(time.Second) // storage's timestamps and the slots of runs are in seconds
	f.Send(t, "d0001", time.Now().Add(-11*time.Second), map[string]any{"temperature": 77.0})
	f.Fold(t)
	for found := false; !found; {
		var c model.Change
		readEvent(t, lines, "change", &c)
		if len(c.Devices) > 1 || len(c.Clusters) > 0 {
			t.Errorf("it sends what has not changed: %+v", c)
		}
		found = len(c.Devices) == 1 && c.Devices[0].Device == "d0001" && c.Devices[0].Value == 77.0
	}
	stop()
	if err := <-ended; err != nil { // the stream does not keep it from ending
		t.Errorf("the server ends with %v", err)
	}
}

// TestStreamSendsReadingsOfADevice has two devices send, and expects the readings of one, in order and once.
func TestStreamSendsReadingsOfADevice(t *testing.T) {
	t.Parallel()
	f := newFixture(t, 2, Config{Loopback: true})
	url, _, _ := f.serve(t)
	f.waitFor(t, 2)
	answer, err := http.Get(url + "/v1/devices/d0001/stream")
	if err != nil || answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%+v, %v", answer, err)
	}
	defer answer.Body.Close()
	lines := bufio.NewReader(answer.Body)
	must.Have(lines.ReadString('\n'))(t) // the first comment
	for i := range 3 {
		at := time.Now().Add(time.Duration(i) * time.Second)
		f.Send(t, "d0000", at, map[string]any{"temperature": 1.0})
		f.Send(t, "d0001", at, map[string]any{"temperature": float64(i), "door": "open"})
	}
	for i := range 3 {
		var r answers.Reading
		readEvent(t, lines, "reading", &r)
		if r.Device != "d0001" || r.Values.Map()["temperature"] != float64(i) || r.Values.Map()["door"] != "open" {
			t.Errorf("reading %d is %+v", i, r)
		}
	}
	if w := f.get("/v1/devices/nobody/stream"); w.Code != 404 {
		t.Errorf("an unknown device: %d", w.Code)
	}
}

func readEvent(t testing.TB, lines *bufio.Reader, want string, v any) {
	t.Helper()
	name := ""
	for {
		text := must.Have(lines.ReadString('\n'))(t)
		if rest, is := strings.CutPrefix(text, "event: "); is {
			name = strings.TrimSpace(rest)
		}
		if data, is := strings.CutPrefix(text, "data: "); is {
			if err := json.Unmarshal([]byte(data), v); err != nil || name != want {
				t.Fatalf("%s %s, want %s; %v", name, data, want, err)
			}
			return
		}
	}
}
