package main

import (
	"strings"
	"testing"
)

// TestPrintedLinesSendTheFirstReading runs what "device add" prints, as who pastes
// it into a shell does.
func TestPrintedLinesSendTheFirstReading(t *testing.T) {
	dir := t.TempDir()
	startStorage(t, nil, "--data", dir)
	y := &fleetFixture{dir: dir}
	y.furrow(t, "enrollment", "add", "plant1", "--tenant", "contoso")
	e := startEndpoint(t, "--storage", dir)
	lines, _ := y.furrow(t, "device", "add", "contoso:hall-1:pump.7", "--url", e.Endpoint)
	if out := paste(t, lines); !strings.Contains(out, "storage responds 204") {
		t.Fatalf("%s\nafter\n%s", out, lines)
	}
	got, _ := y.furrow(t, "query", "contoso:hall-1:pump.7", "--raw", "--last", "1h")
	if !strings.Contains(got, "temperature,21.5") {
		t.Errorf("the readings are\n%s", got)
	}
}

func TestTokenByHandIsWhatTheEndpointWouldGive(t *testing.T) {
	dir := t.TempDir()
	startStorage(t, nil, "--data", dir)
	y := &fleetFixture{dir: dir}
	y.furrow(t, "enrollment", "add", "short", "--tenant", "contoso")
	y.furrow(t, "enrollment", "add", "long", "--tenant", "contoso", "--life", "30d")
	y.furrow(t, "device", "add", "pump-7", "--enrollment", "short")
	y.furrow(t, "device", "add", "pump-8", "--enrollment", "long")
	for _, c := range []struct{ line, out, err string }{
		{"token pump-7", "/readings?", ""},
		{"token pump-7 --json", `"partitionKey":"pump-7"`, ""},
		{"token pump-7 --life 12h", "/readings?", ""},
		{"token pump-8", "/readingslong?", ""},
		{"token pump-8 --life 90d", "/readingslong?", ""},
		{"token pump-7 --life 30d --shared", "/readings?", ""},
		{"token pump-7 --life 30d", "", "--shared"},
		{"token pump-7 --life 91d", "", "it must be at most 90d"},
		{"token pump-7 --life soon", "", "is not a duration"},
		{"token pump-9", "", "furrow device add pump-9"},
		{"token a/b", "", "'/'"},
		{"token", "", "name one DEVICE"},
		{"token pump-7 --table-url http://10.0.0.7/furrow", "", "intercepted"},
	} {
		code, out, errs := furrow(t.Context(), append(strings.Fields(c.line), "--storage", dir)...)
		if (code == exitOK) != (c.err == "") || !strings.Contains(out, c.out) || !strings.Contains(errs, c.err) {
			t.Errorf("%s: exit %d\n%s%s", c.line, code, out, errs)
		}
	}
	y.furrow(t, "enrollment", "disable", "short")
	if code, _, errs := furrow(t.Context(), "token", "pump-7", "--storage", dir); code != exitFailed ||
		!strings.Contains(errs, "disabled") {
		t.Errorf("of a disabled enrollment: exit %d, %s", code, errs)
	}
}
