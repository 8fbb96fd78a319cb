package rules

import (
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Silence holds when nothing was heard of a device, or of one of its sensors. A device is heard when a job finds a
// reading, whatever the device's own clock says.
type Silence struct {
	After  time.Duration `yaml:"after,required" least:"1s" most:"366d"`
	Sensor string        `yaml:"sensor" is:"sensor"` // empty: any reading, even a heartbeat
}

// Name is silence.
func (*Silence) Name() string { return "silence" }
func (*Silence) room() int    { return 0 }

func (k *Silence) String() string {
	if k.Sensor == "" {
		return "nothing for " + schema.FormatDuration(k.After)
	}
	return "no " + k.Sensor + " for " + schema.FormatDuration(k.After)
}

func (k *Silence) says(string) string {
	if k.Sensor == "" {
		return "no reading for " + schema.FormatDuration(k.After)
	}
	return k.String()
}

func (k *Silence) check() error {
	if k.After < time.Second {
		return fmt.Errorf("after %v; want at least 1s", k.After)
	}
	return nil
}

func (*Silence) begin(w *work, t *tracked) { t.heard = w.horizon }

func (k *Silence) row(w *work, t *tracked, s *fold.Sample) {
	if k.Sensor != "" && find(s, k.Sensor) == nil {
		return
	}
	if t.heard = w.horizon; t.open() {
		w.close(t, w.horizon, "")
	}
}

func (k *Silence) next(_ *work, t *tracked) tables.Ticks {
	if t.open() {
		return tables.MaxTicks
	}
	return t.heard + ticks(k.After)
}

func (k *Silence) pass(w *work, t *tracked, at tables.Ticks) {
	t.since = t.heard
	w.open(t, at, false)
}
