package rules

import (
	"slices"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestNobodyIsHeardInTheFuture: storage's clock was ahead when the last reading was found.
func TestNobodyIsHeardInTheFuture(t *testing.T) {
	t.Parallel()
	b := newBench(t, rule("silent", &Silence{After: time.Hour}), rule("hot", &Condition{Where: where(t, "x > 3")}))
	b.run(at("8760h"), sample(at("0s"), "x", 1))
	b.known.Ahead = true
	b.run(at("1h"))
	b.run(at("2h30m"))
	b.want("silent opened 2h0m0s (1h)")
	b.run(at("3h"), sample(at("2h45m"), "x", 1))
	b.want("silent opened 2h0m0s (1h)", "silent closed 3h0m0s")
}

// TestNoTimeWasJudgedInTheFuture: storage's clock was a year ahead in one run. The rule had begun before, begins then,
// or has other times then. Afterwards the time of a day is missed unless something was taken.
func TestNoTimeWasJudgedInTheFuture(t *testing.T) {
	t.Parallel()
	for begins, first := range map[string]string{"before": "12:00", "then": "", "with other times": "09:00"} {
		b := newBench(t, doses(t, "labels.dose", "UTC"))
		b.known.Heard = at("0s")
		b.member.Labels = map[string]string{"dose": first}
		b.run(at("1m"))
		b.member.Labels = map[string]string{"dose": "12:00"}
		b.run(at("8760h"))
		b.all, b.known.Ahead = nil, true
		b.run(at("4h10m"), sample(at("4h"), "taken", 1))
		b.run(at("30h"))
		b.run(at("54h"), sample(at("52h"), "taken", 1))
		b.all = slices.DeleteFunc(b.all, func(t schema.Transition) bool { return t.Reason != "" }) // of what was then open
		if b.want("dose opened 29h0m0s (12:00)", "dose closed 52h0m0s"); t.Failed() {
			t.Fatalf("a rule that began %s", begins)
		}
	}
}

// TestNoCommandForAClosingOfLongAgo: a device that was offline sends what closed its incident hours ago.
func TestNoCommandForAClosingOfLongAgo(t *testing.T) {
	for found, want := range map[string]int{"59m": 1, "5h": 0} {
		r := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}})
		r.Command = &Command{On: OnClose, Body: `{"heater":"on"}`, TTL: time.Hour}
		b := newBench(t, r)
		b.run(at("0s"), sample(at("0s"), "oil", 195))
		out := must.Have(b.fold.Watch(b.member, b.state, []fold.Sample{sample(at("1m"), "oil", 100)},
			fold.Moment{Horizon: at(found)}))(t)
		posts, _, err := b.fold.Posts(b.member, out.State)
		must.Succeed(t, err)
		commands := 0
		for _, p := range posts {
			if p.Command != nil {
				commands++
			}
		}
		if commands != want {
			t.Errorf("found after %s: %d commands, want %d", found, commands, want)
		}
	}
}

// TestAChangedRuleSendsItsCommandForWhatItCloses: what its opening began has to end. A rule that is gone has none.
func TestAChangedRuleSendsItsCommandForWhatItCloses(t *testing.T) {
	hot := func(above float64) Rule {
		r := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(above)}})
		r.Command = &Command{On: OnClose, Body: `{"heater":"on"}`, TTL: time.Hour}
		return r
	}
	for _, rules := range [][]Rule{nil, {hot(192)}} {
		b := newBench(t, hot(190))
		b.run(at("0s"), sample(at("0s"), "oil", 195))
		b.configure(rules...)
		out := must.Have(b.fold.Watch(b.member, b.state, nil, fold.Moment{Horizon: at("1m"), Until: at("1m")}))(t)
		posts, _, err := b.fold.Posts(b.member, out.State)
		must.Succeed(t, err)
		sent := slices.ContainsFunc(posts, func(p fold.Effect) bool { return p.Command != nil })
		if len(posts) == 0 || sent != (len(rules) > 0) {
			t.Errorf("with %d rules: %d posts, and a command is sent: %v", len(rules), len(posts), sent)
		}
	}
}

// TestADeviceThatLeavesGetsNoCommand of its former tenant's rule: somebody else may have it by now. Nor does one that a
// clock ahead had closed: it may be as hot as before.
func TestADeviceThatLeavesGetsNoCommand(t *testing.T) {
	r := rule("hot", &Threshold{Sensor: "oil", Limit: Limit{Above: number64(190)}})
	r.Command = &Command{On: OnClose, Body: `{"heater":"on"}`, TTL: time.Hour}
	b := newBench(t, r)
	b.run(at("0s"), sample(at("0s"), "oil", 195))
	left, closed, err := b.fold.Leave(b.member, b.state, at("1m"), "device moved")
	must.Succeed(t, err)
	posts, _, err := b.fold.Posts(b.member, left)
	must.Succeed(t, err)
	if closed != 1 || len(posts) == 0 || slices.ContainsFunc(posts, func(p fold.Effect) bool { return p.Command != nil }) {
		t.Errorf("%d incidents closed; posts %+v", closed, posts)
	}
}
