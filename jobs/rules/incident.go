package rules

import (
	"furrow/tables"
	"furrow/tables/schema"
)

// A tracked rule is what a state remembers of a rule at a device.
type tracked struct {
	name schema.Rule
	hash uint64
	rule *Rule // nil for a rule that is gone

	begun bool
	done  bool         // the sample that is evaluated in part was evaluated
	from  tables.Ticks // the rule watches from here
	since tables.Ticks // since when it holds; zero: it does not
	value string       // when it began to hold
	memory
	incident
}

// An incident is the newest one of a rule and device.
type incident struct {
	number    int          // of its last transition; odd: it is open
	first, at tables.Ticks // of its first and its last transition
	held      tables.Ticks // since when it held at its last opening
	announced bool         // notifications went out for its last opening
	severity  Severity
}

func (i *incident) open() bool { return i.number%2 == 1 }

// waits reports whether the rule is about a device that has never sent anything.
func (t *tracked) waits() bool {
	_, never := t.rule.When.(*Never)
	return never
}

// level follows a condition that holds or not. An incident opens when it has held for the rule's duration, and closes
// when the condition clears. If it holds again within that duration, the incident is the same.
func (w *work) level(t *tracked, at, wait tables.Ticks, holds, clears bool, value string) {
	switch {
	case t.open():
		if holds || clears { // else an announcement would say that it holds with a value for which it does not
			t.value = value
		}
		if clears {
			w.close(t, at, "")
		}
		return
	case !holds:
		t.since = 0
		return
	case t.since == 0:
		t.since = max(at, 1)
	}
	if t.value = value; at >= t.since+wait {
		w.open(t, at, t.number > 0 && t.since-t.at <= wait)
	}
}

// holdsAt is when a condition that holds opens its incident.
func (t *tracked) holdsAt(wait tables.Ticks) tables.Ticks {
	if t.since == 0 || t.open() {
		return tables.MaxTicks
	}
	return t.since + wait
}

// open opens an incident, or the last one again.
func (w *work) open(t *tracked, at tables.Ticks, again bool) {
	what := schema.Opened
	if t.number++; again {
		what = schema.Reopened
	} else {
		t.incident = incident{number: 1, first: at, severity: t.rule.Severity}
	}
	t.at, t.held = at, t.since
	t.announced = at >= w.horizon-history
	w.post(t, post{what: what, at: at, text: w.text(t), notify: t.announced})
}

// close closes the incident of a rule. What closes it may be older than what opened it.
func (w *work) close(t *tracked, at tables.Ticks, reason string) {
	if at < t.at {
		at, reason = t.at, reasonLate
	}
	opened := t.at
	t.number, t.at, t.since = t.number+1, at, 0
	w.post(t, post{what: schema.Closed, at: at, reason: reason, text: ClosedText(at-opened, reason), notify: t.announced})
}

// announce has notifications sent for an incident that opened too long ago and is still open.
func (w *work) announce(t *tracked) {
	t.announced = true
	w.post(t, post{what: schema.Announced, at: t.at, text: w.text(t), notify: true})
}

// A post is a transition in the outbox.
type post struct {
	rule             schema.Rule
	what             string
	number           int
	first, at, since tables.Ticks
	found            tables.Ticks
	severity         Severity
	value            string
	text             string
	reason           string
	notify           bool
}

func (w *work) post(t *tracked, p post) {
	p.rule, p.number, p.first, p.since, p.found = t.name, t.number, t.first, t.held, w.horizon
	p.severity, p.value = t.severity, t.value
	w.state.outbox = append(w.state.outbox, p)
}

// transition returns the row of a post.
func (p post) transition(d schema.Member) schema.Transition {
	return schema.Transition{Home: schema.LatestPartition{Tenant: d.Tenant, Month: d.Month},
		ID: schema.IncidentID{Rule: p.rule, Device: d.Device, First: p.first}, Number: p.number, What: p.what, At: p.at,
		Since: p.since, Found: p.found, Severity: string(p.severity), Value: p.value, Text: p.text, Reason: p.reason,
		Site: d.Site, Labels: d.Labels, Notify: p.notify}
}
