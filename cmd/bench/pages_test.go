package main

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestPagesAreLoadedAsOftenAsAsked, with the token, and a page that fails is no page that was fast.
func TestPagesAreLoadedAsOftenAsAsked(t *testing.T) {
	loads, devices := map[string]int{}, `[{"device":"pump 7","tenant":"acme","site":"hall 1"},{"device":"pump-8"}]`
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		loads[r.URL.RequestURI()]++
		if r.Header.Get("Authorization") != "Bearer secret" {
			http.Error(w, "no", http.StatusUnauthorized)
		} else if r.URL.RequestURI() == "/v1/devices?limit=2" {
			_, _ = w.Write([]byte(`{"devices":` + devices + `}`))
		}
	}))
	defer server.Close()
	load := func(line string) (code int, out, errs string) {
		var stdout, stderr strings.Builder
		code = run(t.Context(), append([]string{"bench"}, strings.Fields(line)...), &stdout, &stderr)
		return code, stdout.String(), stderr.String()
	}
	line := "pages --loads 3 --token secret --dashboard " + server.URL
	code, out, errs := load(line)
	if code != 0 || strings.Count(out, "\nBenchmarkPage/") < 15 || !strings.Contains(out, "BenchmarkPage/-") ||
		loads["/devices/pump%207?against=pump-8"] != 3 || loads["/?site=hall+1"] != 3 {
		t.Errorf("exit %d, %s%s, %v", code, out, errs, loads)
	}
	if code, _, errs := load(strings.Replace(line, "secret", "wrong", 1)); code != 1 ||
		!strings.Contains(errs, "401") {
		t.Errorf("with a wrong token: exit %d, %s", code, errs)
	}
	devices = "[]"
	if code, _, errs := load(line); code != 1 || !strings.Contains(errs, "fewer than two devices") {
		t.Errorf("without devices: exit %d, %s", code, errs)
	}
}
