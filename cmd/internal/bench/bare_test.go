package bench

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"furrow/tables"
	"furrow/tables/azuretest/must"
)

// A prepared request is one that the service accepts, and every row of every request is another one.
func TestBareClientsSendEachRowOnce(t *testing.T) {
	var mu sync.Mutex
	seen := map[string]int{}
	connections := 0
	fails := false
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := must.Have(io.ReadAll(r.Body))(t)
		mu.Lock()
		defer mu.Unlock()
		if fails {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		for line := range strings.Lines(string(body)) {
			key, text, ok := strings.Cut(strings.TrimSpace(line), " ")
			if !ok || len(key) != 19 || strings.Contains(text, "@") {
				t.Errorf("a row is sent as %q", line)
			}
			seen[key]++
		}
		w.WriteHeader(http.StatusNoContent)
	}))
	server.Config.ConnState = func(_ net.Conn, s http.ConnState) {
		mu.Lock()
		defer mu.Unlock()
		if s == http.StateNew {
			connections++
		}
	}
	server.Start()
	defer server.Close()
	const perRequest, requests = 3, 20
	e := &endpoint{clients: 1, size: 250}
	rows := e.newRows()
	b := &bareClient{dial: dialer(http.DefaultClient)}
	defer b.close()
	b.rows = func() []tables.Entity { return rows.many(0, perRequest) }
	b.make = func(ctx context.Context) (*http.Request, error) {
		var lines strings.Builder
		for _, r := range rows.templates(0, perRequest) {
			lines.WriteString(r.RowKey + " " + r.Get("text").Text() + "\n")
		}
		return http.NewRequestWithContext(ctx, http.MethodPost, server.URL, strings.NewReader(lines.String()))
	}
	for range requests {
		must.Succeed(t, b.send(t.Context()))
	}
	if len(seen) != perRequest*requests || connections != 1 {
		t.Errorf("%d rows were sent over %d connections, want %d over one", len(seen), connections, perRequest*requests)
	}
	mu.Lock()
	fails = true
	mu.Unlock()
	if err := b.send(t.Context()); err == nil || !strings.Contains(err.Error(), "503") {
		t.Errorf("after a refusal: %v", err)
	}
	mu.Lock()
	fails = false
	mu.Unlock()
	must.Succeed(t, b.send(t.Context()))
	if connections != 2 {
		t.Errorf("there were %d connections, want a new one after a failure", connections)
	}
}

func TestRowsOfInfluxAreLines(t *testing.T) {
	var queries []string
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.FormValue("q"))
	}))
	defer server.Close()
	e := &endpoint{clients: 1, size: 250, influx: server.URL, http: server.Client()}
	write := must.Have(e.preparer(t.Context()))(t)
	rows := e.newRows().templates(0, 2)
	req := must.Have(write(t.Context(), rows))(t)
	lines := strings.Split(strings.TrimSuffix(string(must.Have(io.ReadAll(req.Body))(t)), "\n"), "\n")
	name, made := strings.CutPrefix(queries[0], "CREATE DATABASE ")
	if len(lines) != 2 || !made || req.URL.Path != "/write" || req.URL.Query().Get("db") != name {
		t.Fatalf("%d lines go to %s after %q", len(lines), req.URL, queries)
	}
	want := `readings,device=bench-device-000000 temperature=10.25,humidity=30.5,battery=3.75,open=true,text="` +
		rows[0].Get("text").Text() + `" ` + placeholder(0)
	if lines[0] != want {
		t.Errorf("a row is the line\n%s\nwant\n%s", lines[0], want)
	}
	must.Succeed(t, e.cleanups[0](t.Context()))
	if queries[1] != "DROP DATABASE "+name {
		t.Errorf("at the end: %s", queries[1])
	}
}

func TestPeersServeTheRowsThatTheyCan(t *testing.T) {
	for _, c := range []struct {
		e    endpoint
		want string
	}{
		{endpoint{null: &nullService{}}, "insert bare-insert"},
		{endpoint{influx: "http://127.0.0.1:8086"}, "bare-insert bare-transaction"},
	} {
		var served []string
		for _, w := range storageWorkloads() {
			if c.e.serves(w) {
				served = append(served, w.name)
			}
		}
		if got := strings.Join(served, " "); got != c.want {
			t.Errorf("%+v serves %s, want %s", c.e, got, c.want)
		}
	}
}
