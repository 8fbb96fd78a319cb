package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"furrow/tables/azuretest/effort"
)

// A refusingServer is an endpoint and storage in one, which refuse some requests.
type refusingServer struct {
	*httptest.Server
	mu    sync.Mutex
	calls map[string][]time.Time // by device and "token" or "rows"
	held  map[string]time.Time   // no request of the device may come before
	early []string               // requests that came all the same, or with wrong values
	rows  map[string]bool        // by device and row key
	fresh map[string]int         // rows that a device has sent since it rang
	rings map[string]int         // of each device, that it got an answer to
}

func newRefusingServer(t *testing.T, secure bool) *refusingServer {
	t.Helper()
	s := &refusingServer{calls: map[string][]time.Time{}, held: map[string]time.Time{}, rows: map[string]bool{},
		fresh: map[string]int{}, rings: map[string]int{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/devices/{device}/token", s.token)
	mux.HandleFunc("POST /furrow/{device}/{target}", s.insert)
	s.Server = httptest.NewUnstartedServer(mux)
	if secure {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(func() {
		s.CloseClientConnections() // a killed device may leave a program that waits for an answer
		s.Close()
	})
	return s
}

// called counts a request.
func (s *refusingServer) called(device, what string) int {
	now := time.Now()
	if now.Before(s.held[device]) {
		s.early = append(s.early, fmt.Sprintf("%s asks for %s %v too early", device, what, s.held[device].Sub(now)))
	}
	s.calls[device+what] = append(s.calls[device+what], now)
	return len(s.calls[device+what])
}

func (s *refusingServer) count(what string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls[what])
}

func (s *refusingServer) rang(device string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rings[device]
}

// hold refuses a request, and expects the device to wait for two seconds.
func (s *refusingServer) hold(w http.ResponseWriter, device string, status int) {
	s.held[device] = time.Now().Add(2 * time.Second)
	w.Header().Set("Retry-After", "2")
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "<html>Sp\xe4ter</html>") // in Latin-1: it is a proxy's
}

// cutOff answers with a half of an answer.
func cutOff(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = io.WriteString(w, body[:len(body)/2])
	panic(http.ErrAbortHandler)
}

// token refuses the first request of a device. The next two get what is no token, and the fifth an answer only in part.
// A ring has to follow rows.
func (s *refusingServer) token(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	device, now := r.PathValue("device"), time.Now().UTC()
	n := s.called(device, "token")
	switch n {
	case 1:
		s.hold(w, device, http.StatusTooManyRequests)
		return
	case 2, 3:
		_, _ = io.WriteString(w, map[int]string{2: "<html>Wartung</html>", 3: "null"}[n])
		return
	}
	answer := fmt.Sprintf(`{"device":"%[1]s","url":"%[2]s/furrow/%[1]s/readings","sas":"sv=1\u0026sig=a%%2Bb",`+
		`"partitionKey":"%[1]s","rowKeyFormat":"ticks19[-suffix]","earliestRowKey":"0600000000000000000","latestRowKey":"0700000000000000000",`+
		`"expires":"%[3]s","renewAfter":"%[3]s","serverTime":"%[4]s","sendEvery":1,"batch":10}`,
		device, s.URL, now.Add(time.Hour).Format(time.RFC3339), now.Format(time.RFC3339Nano))
	if n == 5 {
		cutOff(w, answer)
	}
	if strings.Contains(string(body), `"ring"`) {
		if s.fresh[device] == 0 {
			s.early = append(s.early, fmt.Sprintf("%s rings for nothing: %s", device, body))
		}
		s.fresh[device] = 0
		s.rings[device]++
	}
	_, _ = io.WriteString(w, answer)
}

var rowKeys = regexp.MustCompile(`"RowKey":"([^"]+)"`)

// units matches the text that is not ASCII, in both forms of JSON.
var units = regexp.MustCompile(`"unit": ?"(°|\\u00[bB]0)C"`)

// insert refuses the first request of a device, stores the third one without an answer, and says nothing to the fourth
// one until the device gives up. To the second and the fifth a proxy answers. The second reading of a boot is one that
// storage never takes.
func (s *refusingServer) insert(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if found := units.FindAllSubmatch(body, -1); len(found) != bytes.Count(body, []byte(`"unit"`)) {
		s.early = append(s.early, fmt.Sprintf("%s sends %s", r.PathValue("device"), body))
	}
	device, keys := r.PathValue("device"), rowKeys.FindAllSubmatch(body, -1)
	n := s.called(device, "rows")
	if n == 1 {
		s.hold(w, device, http.StatusServiceUnavailable)
		return
	}
	if page, is := map[int]int{2: http.StatusBadRequest, 5: http.StatusConflict}[n]; is {
		w.WriteHeader(page)
		_, _ = io.WriteString(w, "<html>not the page that you want</html>")
		return
	}
	if n == 4 {
		s.mu.Unlock()
		<-r.Context().Done()
		s.mu.Lock()
		return
	}
	status := http.StatusNoContent
	if err != nil || len(keys) == 0 || r.URL.RawQuery != "sv=1&sig=a%2Bb" ||
		(path.Base(r.URL.Path) == "$batch") != (len(keys) > 1) {
		status = http.StatusForbidden
	}
	s.fresh[device] += len(keys)
	for _, key := range keys {
		if s.rows[device+" "+string(key[1])] {
			status = http.StatusConflict
		} else if strings.HasSuffix(string(key[1]), ".2") {
			status = http.StatusBadRequest
		}
	}
	if status == http.StatusNoContent {
		for _, key := range keys {
			s.rows[device+" "+string(key[1])] = true
		}
	}
	if n == 3 {
		panic(http.ErrAbortHandler)
	}
	refusal := ""
	if status != http.StatusNoContent {
		refusal = `{"odata.error":{"code":"Some"}}`
	}
	if len(keys) == 1 {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, refusal)
		return
	}
	w.Header().Set("Content-Type", "multipart/mixed; boundary=b")
	w.WriteHeader(http.StatusAccepted)
	fmt.Fprintf(w, "--b\r\nContent-Type: multipart/mixed; boundary=c\r\n\r\n--c\r\nContent-Type: application/http\r\n\r\n"+
		"HTTP/1.1 %d %s\r\n\r\n%s\r\n--c--\r\n--b--\r\n", status, http.StatusText(status), refusal)
}

const anyKey = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

// TestExampleDevicesObeyRefusals has devices wait as Retry-After says, send again what may have been stored, give up
// only the row that storage refuses, and ring when urgent readings are stored. It does not run beside tests that keep
// all processors busy: a device that has given up waiting for an answer does not know how long it should wait.
func TestExampleDevicesObeyRefusals(t *testing.T) {
	effort.OnlyLong(t, "they are programs in other languages")
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			obeyRefusals(t, newRefusingServer(t, scheme == "https"))
		})
	}
}

func obeyRefusals(t *testing.T, s *refusingServer) {
	t.Helper()
	caFile := ""
	if s.Certificate() != nil {
		caFile = filepath.Join(t.TempDir(), "ca.pem")
		writeFile(t, caFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})))
	}
	devices := exampleDevices(t, true)
	for _, d := range devices {
		d.configure(t, s.URL, anyKey, caFile)
		d.leave(t, "0500000000000000000-tooold.1", "0600000000000000001-before.1")
		d.start(t)
	}
	for _, d := range devices {
		await(t, lateText(d.text), func() bool { return s.count(d.id()+"rows") >= 3 })
		d.kill(t) // what storage has just stored without an answer is sent again after a restart
		d.start(t)
	}
	for _, d := range devices {
		await(t, lateText(d.text), func() bool { return len(d.gone("stored")) >= 6 && len(d.gone("dropped")) > 1 })
		await(t, lateText(d.text), func() bool { return s.rang(d.id()) >= 2 })
		d.kill(t)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	names := map[string]string{}
	for key := range s.rows {
		device, _, _ := strings.Cut(key, " ")
		name := device + key[strings.Index(key, "-"):]
		if before := names[name]; before != "" {
			t.Errorf("a reading is stored as %s and as %s", before, key)
		}
		names[name] = key
	}
	for _, early := range s.early {
		t.Error(early)
	}
	for _, d := range devices {
		dropped, stored := d.gone("dropped"), d.gone("stored")
		poison := func(key string) bool { return strings.HasSuffix(key, ".2") }
		if dropped[0] != "0500000000000000000-tooold.1" || len(dropped) > 3 || !poison(dropped[1]) ||
			!poison(dropped[len(dropped)-1]) {
			t.Errorf("%s drops %q", d.name, dropped)
		}
		if !slices.Contains(stored, "0600000000000000001-before.1") {
			t.Errorf("%s does not store what an earlier boot left: %q", d.name, stored)
		}
		for _, key := range stored {
			if !s.rows[d.id()+" "+key] {
				t.Errorf("%s: %s is not stored", d.name, key)
			}
		}
		if strings.Contains("\n"+d.waiting(t), "\n-") {
			t.Errorf("%s keeps readings under keys that are none: %s", d.name, d.waiting(t))
		}
		if unique := slices.Compact(slices.Sorted(slices.Values(stored))); len(unique) != len(stored) {
			t.Errorf("%s says twice that a reading is stored: %q", d.name, stored)
		}
		t.Logf("%s: %d requests for %d rows", d.name, len(s.calls[d.id()+"rows"]), len(stored))
	}
}

// TestExampleDevicesDropTheOldestOfAFullBuffer has no endpoint. One reading of an earlier boot has no time.
func TestExampleDevicesDropTheOldestOfAFullBuffer(t *testing.T) {
	effort.OnlyLong(t, "they are programs in other languages")
	t.Parallel()
	devices := exampleDevices(t, false)
	const timeless, limit = "+0000000000000000001-before.1000", 1000
	keys := []string{}
	for i := range limit {
		keys = append(keys, fmt.Sprintf("%019d-before.%d", 639_000_000_000_000_000+i, i))
	}
	for _, d := range devices {
		d.configure(t, "https://127.0.0.1:1", anyKey, "")
		d.leave(t, append(keys[:limit-1:limit-1], timeless, keys[limit-1])...)
		d.start(t)
	}
	for _, d := range devices {
		await(t, lateText(d.text), func() bool { return len(d.said("kept")) > 1 })
		d.kill(t)
		dropped := d.gone("dropped")
		if len(dropped) < 2 || dropped[0] != timeless || !slices.Equal(dropped[1:], keys[:len(dropped)-1]) {
			t.Errorf("%s drops %.300q", d.name, dropped)
		}
		waiting := d.waiting(t)
		if n := strings.Count(waiting, "-"); n > limit || n < limit*8/10 || !strings.Contains(waiting, keys[limit-1]) ||
			strings.Contains(waiting, "-cut") || strings.Contains(waiting, timeless) {
			t.Errorf("%s keeps %d readings: %.300s", d.name, n, waiting)
		}
	}
}
