package jobs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/jobstest"
	"furrow/jobs/latest"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
)

// widest returns a row with as many values as fit, whose names no other row has. Every third value is a text.
func widest(n, nameLength int) (e tables.Entity) {
	for p := range 8 {
		var all []string
		size := 0
		for i := range 240 {
			name := fmt.Sprintf("%d_%d_%d_", n, p, i)
			name += strings.Repeat("n", max(0, nameLength-len(name)-3))
			value := fmt.Sprint(i)
			if i%3 == 0 && n%2 == 0 {
				value = `"` + strings.Repeat("t", min(256, 30+nameLength)) + `"`
			}
			if size += len(name) + len(value) + 4; size > 31<<10 {
				break
			}
			all = append(all, fmt.Sprintf("%q:%s", name, value))
		}
		e.Set(fmt.Sprint("p", p), tables.String("{"+strings.Join(all, ",")+"}"))
	}
	return e
}

// TestNoConfigurationHoldsADevice: eight windows, and rows with the most sensors and the longest names and texts.
func TestNoConfigurationHoldsADevice(t *testing.T) {
	const rows = 6
	for _, nameLength := range []int{14, 60, 198} {
		start := tables.TicksOf(time.Now().Add(-30 * time.Minute))
		f := seedDevice(t, rows, func(n int) tables.Entity {
			e := widest(n, nameLength)
			e.RowKey = start.Add(time.Duration(n)*time.Second).String() + "-" + strings.Repeat("s", 64)
			return e
		})
		p := f.Pipeline(t, nil)
		windows := []schema.Window{schema.Daily, schema.Hour, schema.Minute}
		for _, d := range []time.Duration{12, 6, 4, 3, 2} {
			windows = append(windows, schema.Window(d*time.Hour))
		}
		p.Processors = []jobs.Configured{latest.Processor.Default(),
			jobstest.With(t, rollup.Processor, &rollup.Config{Windows: windows}), archive.Processor.Default()}
		p.Portion = 3
		jobstest.Must(t, f.Drain(t.Context(), p))
		track := f.Track(t, f.World.Devices[0])
		states := 0
		for _, p := range track.Properties {
			if strings.HasPrefix(p.Name, "State_") {
				states += len(p.Value.Binary())
			}
		}
		if states > jobs.MaxStates || track.Get("Rows").Int() != rows || track.Get("Attempts").Int() != 0 ||
			track.Size() > tables.MaxEntity {
			t.Errorf("names of %d letters: states of %d bytes, a row of %d, %d rows folded", nameLength, states, track.Size(),
				track.Get("Rows").Int())
		}
		t.Logf("names of %d letters: states of %d bytes, a tracking row of %d, %d rejects", nameLength, states, track.Size(),
			track.Get("Rejects").Int())
	}
}
