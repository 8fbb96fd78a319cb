package rules

import (
	"encoding/binary"
	"slices"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A work is one call of Watch.
type work struct {
	fold    *Fold
	member  schema.Member
	state   *state
	horizon tables.Ticks
	to      tables.Ticks // up to which time passes
	begins  tables.Ticks // from where new rules watch
	fold.Known
	rows bool // it goes by rows, not by the horizon
}

// Next returns when time alone may change something, as the state says: see due. There is no state where no rule is for
// the device, or Watch has begun none that time alone concerns.
func (f *Fold) Next(d schema.Member, b []byte, k fold.Known) tables.Ticks {
	switch {
	case len(b) == 0:
		return tables.MaxTicks
	case hasOutbox(b) || !idle(b, f.identity(d, k.Every), 0):
		return 0
	}
	return tables.Ticks(binary.BigEndian.Uint64(b[9:]))
}

// samples evaluates samples until the outbox is full, and returns how many are left.
func (w *work) samples(samples []fold.Sample, device uint64) (left int) {
	if !w.reconcile(device) {
		return len(samples)
	}
	for i := range samples {
		if !samples[i].Past && !w.sample(&samples[i]) {
			return len(samples) - i
		}
	}
	return 0
}

// sample has each rule evaluate a sample once. It reports whether all have: the outbox may be full before.
func (w *work) sample(s *fold.Sample) bool {
	st := w.state
	if st.row != "" && st.row != s.Key.String() {
		st.rowDone()
	}
	for _, t := range st.rules {
		if t.done {
			continue
		}
		if !w.advance(t, s.Key.Ticks) || w.full() {
			st.row = s.Key.String()
			return false
		}
		t.rule.When.row(w, t, s)
		t.done = true
	}
	st.rowDone()
	return true
}

// time evaluates what happens without samples, and returns 1 if the outbox was full before everything was.
func (w *work) time(at fold.Moment, device uint64) (left int) {
	w.begins = at.Until
	if !w.reconcile(device) {
		return 1
	}
	for _, t := range w.state.rules {
		if !w.advance(t, at.Until) || w.full() {
			return 1
		}
		if at.Until == at.Horizon && t.open() && !t.announced {
			w.announce(t)
		}
	}
	return 0
}

// advance passes the moments of a rule before a time. It reports whether it has passed all of them.
func (w *work) advance(t *tracked, to tables.Ticks) bool {
	switch t.rule.When.(type) {
	case *Silence, *Never:
		if w.rows {
			return true // they go by when readings are found
		}
	}
	if !t.begun {
		return true
	}
	for w.to = to; ; {
		at := t.rule.When.next(w, t)
		switch {
		case at >= to:
			return true
		case w.full():
			return false
		}
		t.rule.When.judge(w, t, at)
	}
}

// full reports whether the outbox has no room for another evaluation.
func (w *work) full() bool { return len(w.state.outbox) >= maxOutbox }

// reconcile has the state watch the rules that are for the device now. It reports whether it is done: the incidents of
// rules that are gone are closed, and the outbox may be full before.
func (w *work) reconcile(device uint64) bool {
	st := w.state
	if st.device == device && st.begun {
		for _, t := range st.rules {
			t.rule = w.fold.rule(t.name)
		}
		w.beginRules()
		return true
	}
	var all []*tracked
	for _, r := range w.fold.rules {
		if !r.Watches(w.member) {
			continue
		}
		hash := w.hash(r)
		i := slices.IndexFunc(st.rules, func(t *tracked) bool { return t.name == r.Name && t.hash == hash })
		if i >= 0 {
			st.rules[i].rule = r
			all = append(all, st.rules[i])
			continue
		}
		all = append(all, &tracked{name: r.Name, hash: hash, rule: r})
	}
	for _, t := range st.rules {
		if t.rule != nil || !t.open() {
			continue
		}
		if w.full() {
			return false
		}
		w.close(t, w.horizon, w.fold.whyGone(t, w.member))
	}
	st.rules, st.device, st.begun = all, device, true
	for _, t := range all {
		if t.begun {
			w.moved(t)
		}
	}
	w.beginRules()
	return true
}

// moved has a rule heed what the device and its sensors are by now.
func (w *work) moved(t *tracked) {
	if k, is := t.rule.When.(interface{ moved(*work, *tracked) }); is {
		k.moved(w, t)
	}
}

// beginRules begins to watch by the rules that do not yet. A device is new until its first reading: until then, only
// those wait that are about new devices.
func (w *work) beginRules() {
	for _, t := range w.state.rules {
		if !t.begun && (w.rows || w.Heard > 0 || t.waits()) {
			t.begun, t.from = true, w.begins
			t.rule.When.begin(w, t)
			w.moved(t)
		}
		t.notAhead(w.horizon)
	}
}

// hash stands for what a rule watches for in the device.
func (w *work) hash(r *Rule) uint64 {
	if s, is := r.When.(*Silence); is && s.After == 0 {
		return hashOf(r.identity() + " of " + schema.FormatDuration(w.Every))
	}
	return hashOf(r.identity())
}

// rule returns the rule of a name, nil if there is none any more.
func (f *Fold) rule(name schema.Rule) *Rule {
	for _, r := range f.rules {
		if r.Name == name {
			return r
		}
	}
	return nil
}

// Reasons of closing that are not in the readings.
const (
	reasonRemoved = "the rule was removed"
	reasonChanged = "the rule was changed"
	reasonMatch   = "the rule is no longer for this device"
	reasonRevoked = "the device was revoked"
	reasonLate    = "late data"
	reasonNext    = "the next one is due"
)

func (f *Fold) whyGone(t *tracked, d schema.Member) string {
	switch r := f.rule(t.name); {
	case r == nil && !slices.Contains(f.others, t.name):
		return reasonRemoved
	case r == nil || !r.Match.matches(d):
		return reasonMatch
	case d.Revoked && r.expects():
		return reasonRevoked
	case !r.Watches(d):
		return reasonMatch
	}
	return reasonChanged
}

// number returns the number of a sensor in a sample, unless its quality is doubtful.
func number(s *fold.Sample, sensor string) (f float64, ok bool) {
	v := find(s, sensor)
	if v == nil || v.Is != fold.Number {
		return 0, false
	}
	return v.Number, true
}

// find returns the value of a sensor in a sample, nil if it has none of good quality.
func find(s *fold.Sample, sensor string) *fold.SensorValue {
	i := slices.IndexFunc(s.Values, func(v fold.SensorValue) bool { return v.Sensor == sensor && !v.Doubtful })
	if i < 0 {
		return nil
	}
	return &s.Values[i]
}
