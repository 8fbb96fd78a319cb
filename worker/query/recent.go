package query

import (
	"iter"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/outliers"
)

// Recent has the last complete windows of devices, by which those are found that stand out.
type Recent struct {
	Window schema.Window // zero: no window is long enough, and it has none
	Span   Span
	of     map[schema.DeviceID]map[string]*lastWindows
}

type lastWindows = [outliers.Windows]outliers.Window

// Bounds of the windows by which devices are compared.
const (
	shortestCompared = schema.Window(10 * time.Minute) // within a shorter one, hardly anything changes
	longestCompared  = schema.Hour
	windowSettles    = 2 * time.Minute // then a window has all that came in time
)

// RecentOf returns where the last windows belong, without any: the longest ones up to an hour, or else the shortest.
func RecentOf(windows []schema.Window, now time.Time) *Recent {
	r := &Recent{of: map[schema.DeviceID]map[string]*lastWindows{}}
	for _, w := range windows {
		if w >= shortestCompared && (r.Window == 0 || r.Window < w && w <= longestCompared ||
			w < r.Window && r.Window > longestCompared) {
			r.Window = w
		}
	}
	if r.Window > 0 {
		to := now.Add(-windowSettles).Truncate(time.Duration(r.Window))
		r.Span = Span{tables.TicksOf(to.Add(-outliers.Windows * time.Duration(r.Window))), tables.TicksOf(to)}
	}
	return r
}

// Take takes windows of the span.
func (r *Recent) Take(all iter.Seq2[Bucket, error]) error {
	for b, err := range all {
		if err != nil {
			return err
		}
		k := int(b.Start.Time().Sub(r.Span.From.Time()) / time.Duration(r.Window))
		if b.Start < r.Span.From || k >= outliers.Windows {
			continue
		}
		if r.of[b.Device] == nil {
			r.of[b.Device] = map[string]*lastWindows{}
		}
		for _, a := range b.Sensors {
			if r.of[b.Device][a.Sensor] == nil {
				r.of[b.Device][a.Sensor] = new(lastWindows)
			}
			r.of[b.Device][a.Sensor][k] = outliers.Window{Count: a.Count, Mean: a.Mean(), Min: a.Min, Max: a.Max}
		}
	}
	return nil
}

// WindowsOf returns the windows of a sensor of a device.
func (r *Recent) WindowsOf(d schema.DeviceID, sensor string) lastWindows {
	if w := r.of[d][sensor]; w != nil {
		return *w
	}
	return lastWindows{}
}
