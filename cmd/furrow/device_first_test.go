package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"

	"furrow/worker/answers"
)

// TestScriptOfDeviceAddSendsAReading runs what "device add" prints in a shell, which goes on after it.
func TestScriptOfDeviceAddSendsAReading(t *testing.T) {
	t.Parallel()
	needTools(t)
	f := newFixture(t)
	f.must("enrollment add line4 --tenant contoso")
	e := startEndpoint(t, "--storage", f.storage)
	for _, id := range []string{"pump-7", "contoso:us-1:Giles_7.x"} {
		lines := f.must("device add", id, "--url", e.said.Endpoint+"/")
		for n := range 2 {
			if n > 0 {
				time.Sleep(time.Second) // a second reading needs another second in its key
			}
			out := paste(t, lines+"echo and on\n")
			if !strings.Contains(out, "storage responds 204") || !strings.HasSuffix(out, "and on\n") {
				t.Fatalf("%s:\n%s", id, out)
			}
		}
		if out := f.must("query --raw --last 1h --format csv", id); strings.Count(out, "temperature,21.5") != 2 {
			t.Errorf("of two readings there is\n%s", out)
		}
		show := jsonOf[answers.Record](t, f.must("device show --json", id))[0]
		if len(show.Tokens) == 0 || show.InFleet == nil || !*show.InFleet {
			t.Errorf("it is shown as %+v", show)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sh := exec.CommandContext(ctx, "sh", "-s")
	lines := f.must("device add pump-7 --url", e.said.Endpoint)
	sh.Stdin = strings.NewReader(strings.Replace(lines, "key='", "key='00", 1))
	if out, _ := sh.CombinedOutput(); !strings.Contains(string(out), "no token: {") ||
		!strings.Contains(string(out), "proof-wrong") {
		t.Errorf("with a wrong key it says %s", out)
	}
}

func TestTokenByHandIsLikeTheEndpoints(t *testing.T) {
	f := newFixture(t)
	f.must("enrollment add short --tenant contoso")
	f.must("enrollment add long --tenant contoso --life 30d")
	f.must("device add pump-7 --enrollment short")
	f.must("device add pump-8 --enrollment long")
	for line, want := range map[string]string{
		"token pump-7":            "/readings?",
		"token pump-7 --json":     `"partitionKey":"pump-7"`,
		"token pump-7 --life 12h": "/readings?",
		"token pump-8":            "/readingslong?",
		"token pump-8 --life 90d": "/readingslong?",
	} {
		if out := f.must(line); !strings.Contains(out, want) {
			t.Errorf("%s prints %s", line, out)
		}
	}
	for line, want := range map[string]string{
		"token pump-7 --life 30d":  "add an enrollment with a long --life",
		"token pump-7 --life 91d":  "it must be at most 90d",
		"token pump-7 --life soon": "is not a duration",
		"token pump-9":             "furrow device add pump-9",
		"token a/b":                "'/'",
		"token":                    "name the DEVICE",
		"token pump-7 --table-url http://10.0.0.7/furrow": "intercepted",
	} {
		f.refused(anyFailure, want, line)
	}
	f.must("enrollment disable short")
	f.refused(exitFailed, "disabled", "token pump-7")
}
