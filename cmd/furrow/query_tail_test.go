package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestTailIsTheEndOfAllReadings however far apart they are.
func TestTailIsTheEndOfAllReadings(t *testing.T) {
	t.Parallel()
	f := newOddFleet(t)
	for _, id := range []string{"contoso:us-1:a", "fabrikam:x"} {
		all := strings.Split(strings.TrimSpace(f.query(append([]string{id, "--raw", "--format=jsonl"}, f.span()...)...)),
			"\n")
		slices.Reverse(all)
		for _, n := range []int{1, 3, 100, len(all), 1000} {
			got := f.query(id, "--format=jsonl", fmt.Sprintf("--tail=%d", n))
			if want := strings.Join(all[:min(n, len(all))], "\n") + "\n"; got != want {
				t.Errorf("--tail %d of %s:\n%.300s\nwant\n%.300s", n, id, got, want)
			}
		}
	}
	for line, want := range map[string]string{
		"query --prefix x --tail 3":       "--tail is of one DEVICE",
		"query x --tail 0":                "--tail is 0; it must be at least 1",
		"query x --tail 3 --from -2h":     "--tail takes no --from, --to or --last",
		"query x --tail 3 --latest":       "--tail and --latest exclude each other",
		"query contoso:us-1:zz --tail 10": "contoso:us-1:zz",
	} {
		f.refused(anyFailure, want, line)
	}
}
