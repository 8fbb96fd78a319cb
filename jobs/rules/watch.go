package rules

import (
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
	rows    bool         // it goes by rows, not by the horizon
}

// samples evaluates samples until the outbox is full, and returns how many are left.
func (w *work) samples(samples []fold.Sample, device uint64) (left int) {
	w.begins, w.rows = samples[0].Key.Ticks, true
	if !w.reconcile(device) {
		return len(samples)
	}
	for i := range samples {
		if !w.sample(&samples[i]) {
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
	if _, silence := t.rule.When.(*Silence); silence && w.rows {
		return true // it goes by when readings are found
	}
	for w.to = to; ; {
		at := t.rule.When.next(w, t)
		switch {
		case at >= to:
			return true
		case w.full():
			return false
		}
		t.rule.When.pass(w, t, at)
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
		return true
	}
	var all []*tracked
	for _, r := range w.fold.rules {
		if !r.Match.of(w.member) {
			continue
		}
		i := slices.IndexFunc(st.rules, func(t *tracked) bool { return t.name == r.Name && t.hash == r.hash() })
		if i >= 0 {
			st.rules[i].rule = r
			all = append(all, st.rules[i])
			continue
		}
		all = append(all, &tracked{name: r.Name, hash: r.hash(), rule: r})
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
	for _, t := range all {
		if !t.begun {
			t.begun, t.from = true, w.begins
			t.rule.When.begin(w, t)
		}
		if s, is := t.rule.When.(*Schedule); is {
			s.moved(w, t)
		}
	}
	st.rules, st.device, st.begun = all, device, true
	return true
}

func (f *Fold) rule(name schema.Rule) *Rule {
	i := slices.IndexFunc(f.rules, func(r *Rule) bool { return r.Name == name })
	return f.rules[i]
}

// Reasons of closing that are not in the readings.
const (
	reasonRemoved = "the rule was removed"
	reasonChanged = "the rule was changed"
	reasonMatch   = "the rule is no longer for this device"
	reasonLate    = "late data"
	reasonNext    = "the next one is due"
)

func (f *Fold) whyGone(t *tracked, d schema.Member) string {
	i := slices.IndexFunc(f.rules, func(r *Rule) bool { return r.Name == t.name })
	switch {
	case i < 0:
		return reasonRemoved
	case !f.rules[i].Match.of(d):
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
