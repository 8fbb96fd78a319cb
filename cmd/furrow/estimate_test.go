package main

import (
	"regexp"
	"strings"
	"testing"

	"furrow/cmd/internal/estimate"
)

func TestEstimateOfALargeFleetNamesItsLimits(t *testing.T) {
	_, out, _ := furrow(t.Context(), "estimate", "--devices", "1000", "--json")
	small := jsonOf[estimate.Estimate](t, out)[0]
	if small.Shards != 1 || small.Partitions != 1 || small.Rows != 43_800_000 || small.Cost.Total <= 0 ||
		small.Limits[0].Close {
		t.Errorf("1,000 devices: %+v", small)
	}
	code, out, errs := furrow(t.Context(), "estimate", "--devices", "600000", "--every", "1m", "--months", "12")
	if code != exitOK {
		t.Fatal(errs)
	}
	for _, want := range []string{"--shards 10", "120 of the fleet", "Close to a limit", "3 accounts", "total"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
	_, out, _ = furrow(t.Context(), "estimate", "--devices", "1000", "--fresh", "5m")
	if !strings.Contains(out, "$") || !strings.Contains(out, "in one transaction.\n") {
		t.Errorf("no advice for five minutes:\n%s", out)
	}
	cents := regexp.MustCompile(`\$0\.\d\d with tokens that live for a day`)
	if _, out, _ = furrow(t.Context(), "estimate", "--devices", "10", "--fresh", "1m"); !cents.MatchString(out) {
		t.Errorf("no advice for ten devices, or one that costs nothing:\n%s", out)
	}
	for line, want := range map[string]string{
		"estimate":                            "devices",
		"estimate --devices 0":                "--devices is 0",
		"estimate --devices 5 --sensors 1001": "--sensors is 1001",
		"estimate --devices 5 --at-once 101":  "--at-once is 101",
		"estimate --devices 5 --tenants 6":    "between 1 and 5",
		"estimate --devices 5 --months 6":     "between 1 and 5",
		"estimate --devices 5 --every 99ms":   "at least 100ms", // a day of readings is folded
		"estimate --devices 5 --every 367d":   "at most 366d",
		"estimate --devices 5 --config /no":   "/no",
	} {
		refused(t, anyFailure, want, line)
	}
}

// TestEstimatedWritesAreRequests: the operations beside the dollars of devices' writes are those that are paid for, one
// for all readings that go together.
func TestEstimatedWritesAreRequests(t *testing.T) {
	for atOnce, want := range map[string]string{"1": grouped(43_800_000), "10": grouped(4_380_000)} {
		_, out, _ := furrow(t.Context(), "estimate", "--devices", "1000", "--at-once", atOnce)
		line := regexp.MustCompile(`writes of devices +(\S+)`).FindStringSubmatch(out)
		if line == nil || line[1] != want {
			t.Errorf("with %s at once: %q, want %s in\n%s", atOnce, line, want, out)
		}
	}
}
