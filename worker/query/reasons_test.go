package query

import (
	"fmt"
	"iter"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestReasonsDoNotDependOnSensorsAndValues has rejects whose reasons differ in sensors, values and counts.
func TestReasonsDoNotDependOnSensorsAndValues(t *testing.T) {
	var rejects iter.Seq2[Reject, error] = func(yield func(Reject, error) bool) {
		for n := range 300 {
			r := schema.Reject{Device: "d", Row: fmt.Sprint(n), Sensor: fmt.Sprintf("s%d, t", n)}
			r.Reason = fmt.Sprintf(`s%d: it is not finite; t: it is not finite; t_%d: it has %d bytes; `+
				`at most 3 are allowed; and %d more of its values`, n, n, n, n)
			if n%2 == 0 {
				r.Reason += "; u: it is no…"
			}
			if n%3 == 0 {
				r.Sensor, r.Reason = "", fmt.Sprintf("ticks %q are not 19 digits", fmt.Sprint(n))
			}
			if !yield(Reject{Reject: r}, nil) {
				return
			}
		}
	}
	got := ""
	for r, err := range Reasons(rejects) {
		must.Succeed(t, err)
		got += fmt.Sprintln(r.Count, r.Reason, r.Sensor, r.Device, r.Row)
	}
	want := `200 it has … bytes; at most … are allowed s299, t d 299
200 it is not finite s299, t d 299
100 ticks … are not … digits  d 297
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}
