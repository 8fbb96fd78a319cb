package rules

import (
	"cmp"
	"fmt"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Silence holds when nothing was heard of a device, or of one of its sensors. A device is heard when a job finds a
// reading, whatever the device's own clock says. It is new until its first reading, and not silent before.
type Silence struct {
	// After is zero for Overdue of the device's stated interval: a device without one is never silent then.
	After  time.Duration `yaml:"after" least:"1s" most:"366d"`
	Sensor string        `yaml:"sensor" is:"sensor"` // empty: any reading, even a heartbeat
}

// Name is silence.
func (*Silence) Name() string     { return "silence" }
func (*Silence) check() error     { return nil }
func (*Silence) room() int        { return 0 }
func (k *Silence) sensor() string { return k.Sensor }

func (k *Silence) String() string {
	length := schema.FormatDuration(k.After)
	if k.After == 0 {
		length = fmt.Sprintf("%d intervals", schema.Overdue)
	}
	return k.nothing("nothing") + " for " + length
}

// nothing names what is not heard.
func (k *Silence) nothing(all string) string {
	if k.Sensor == "" {
		return all
	}
	return "no " + k.Sensor
}

func (k *Silence) says(_ *work, t *tracked) string {
	return k.nothing("no reading") + " for " + t.value + ", since " + t.since.Time().Format(time.RFC3339)
}

// notAhead has nothing that a rule remembers lie in the future: storage's clock may have been ahead then.
func (t *tracked) notAhead(now tables.Ticks) {
	t.from = min(t.from, now)
	switch t.rule.When.(type) {
	case *Silence, *Never:
		t.heard = min(t.heard, now)
	case *Schedule:
		if t.heard = min(t.heard, now); t.judged > now+tables.Day { // further than a zone's clock is ahead
			t.judged, t.heard = 0, now
		}
	}
}

// after returns when a device is silent after it was heard; zero: never.
func (k *Silence) after(w *work) time.Duration { return cmp.Or(k.After, schema.Overdue*w.Every) }

// begin begins with the last reading that was heard.
func (*Silence) begin(w *work, t *tracked) {
	if t.heard = min(w.Heard, w.horizon); w.rows {
		t.heard = w.horizon
	}
}

func (k *Silence) row(w *work, t *tracked, s *fold.Sample) {
	if k.Sensor != "" && find(s, k.Sensor) == nil {
		return
	}
	if t.heard = w.horizon; t.open() {
		w.close(t, w.horizon, "")
	}
}

func (k *Silence) next(w *work, t *tracked) tables.Ticks {
	after := k.after(w)
	if t.open() || t.heard == 0 || after == 0 {
		return tables.MaxTicks
	}
	return t.heard + ticks(after)
}

func (k *Silence) judge(w *work, t *tracked, at tables.Ticks) {
	if w.New { // an earlier release counted from when it first saw the device
		t.heard = 0
		return
	}
	t.since, t.value = t.heard, schema.FormatDuration(k.after(w))
	w.open(t, max(at, t.from), false) // the ID differs from that of an incident that the rule closed when it ended
}

// Never holds when a device has not sent its first reading for some time since it was first seen in the fleet.
type Never struct {
	After time.Duration `yaml:"after,required" least:"1m" most:"366d"`
}

// Name is never.
func (*Never) Name() string                  { return "never" }
func (*Never) check() error                  { return nil }
func (*Never) room() int                     { return 0 }
func (*Never) sensor() string                { return "" }
func (k *Never) String() string              { return "no first reading within " + schema.FormatDuration(k.After) }
func (k *Never) says(*work, *tracked) string { return k.String() }

func (*Never) begin(w *work, t *tracked) {
	if w.New {
		t.heard = w.begins
	}
}

func (*Never) row(w *work, t *tracked, _ *fold.Sample) {
	if t.heard = 0; t.open() {
		w.close(t, w.horizon, "")
	}
}

func (k *Never) next(_ *work, t *tracked) tables.Ticks {
	if t.open() || t.heard == 0 {
		return tables.MaxTicks
	}
	return t.heard + ticks(k.After)
}

func (*Never) judge(w *work, t *tracked, at tables.Ticks) {
	t.since = t.heard
	w.open(t, at, false)
}
