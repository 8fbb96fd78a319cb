package rules

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Count holds while a condition held for so many readings within a span.
type Count struct {
	Where  *condition.Condition `yaml:"where,required"`
	Times  int                  `yaml:"times,required" want:"a whole number of readings, at least 2"`
	Within time.Duration        `yaml:"within,required" least:"1s" most:"31d"`
}

const maxTimes = 200

// Name is count.
func (*Count) Name() string          { return "count" }
func (k *Count) room() int           { return 8 * k.Times }
func (k *Count) sensor() string      { return k.Where.Sensors()[0] }
func (*Count) begin(*work, *tracked) {}

func (k *Count) String() string {
	return fmt.Sprintf("%s, %d times within %s", k.Where, k.Times, schema.FormatDuration(k.Within))
}

func (k *Count) says(_ *work, t *tracked) string {
	return fmt.Sprintf("%s, %s times within %s", k.Where, t.value, schema.FormatDuration(k.Within))
}

func (k *Count) check() error {
	if k.Times < 2 || k.Times > maxTimes {
		return fmt.Errorf("times %d; want 2 to %d", k.Times, maxTimes)
	}
	return hasSensors(k.Where)
}

// row counts a reading. Only the newest ones are remembered, as many as open an incident.
func (k *Count) row(w *work, t *tracked, s *fold.Sample) {
	if _, ok := concerns(k.Where, s); !ok {
		return
	}
	at := s.Key.Ticks
	if w.meets(k.Where, s) {
		if t.times = append(t.times, at); len(t.times) > k.Times {
			t.times = t.times[1:]
		}
	}
	t.times = slices.DeleteFunc(t.times, func(o tables.Ticks) bool { return o <= at-ticks(k.Within) })
	t.value = strconv.Itoa(len(t.times))
	switch full := len(t.times) == k.Times; {
	case full && !t.open():
		t.since = max(t.times[0], 1)
		w.open(t, at, false)
	case !full && t.open():
		w.close(t, at, "")
	}
}

func (k *Count) next(_ *work, t *tracked) tables.Ticks {
	if !t.open() || len(t.times) == 0 {
		return tables.MaxTicks
	}
	return t.times[0] + ticks(k.Within)
}

func (k *Count) judge(w *work, t *tracked, at tables.Ticks) {
	t.times = t.times[1:]
	t.value = strconv.Itoa(len(t.times))
	w.close(t, at, "")
}
