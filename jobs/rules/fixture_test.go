package rules

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// start is when the readings of the tests begin.
var start = time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)

func at(offset string) tables.Ticks {
	d, err := time.ParseDuration(offset)
	if err != nil {
		panic(err)
	}
	return tables.TicksOf(start.Add(d))
}

// A bench folds a device by some rules, as jobs do.
type bench struct {
	t      testing.TB
	fold   *Fold
	member schema.Member
	known  fold.Known
	state  []byte
	all    []schema.Transition
}

func newBench(t testing.TB, all ...Rule) *bench {
	t.Helper()
	b := &bench{t: t, member: schema.Member{Device: "pump-7", Tenant: "contoso",
		Month: schema.Month{Year: 2026, Month: 11}}}
	b.configure(all...)
	return b
}

func (b *bench) configure(all ...Rule) {
	b.t.Helper()
	c := &Config{Rules: all}
	must.Succeed(b.t, c.Check())
	b.fold = c.Fold(fold.Setup{}).(*Fold)
}

func rule(name string, k Kind) Rule { return Rule{Name: schema.Rule(name), When: k} }

func number64(f float64) *Bound { return &Bound{Number: f} }

func where(t testing.TB, text string) *condition.Condition {
	t.Helper()
	return must.Have(condition.Parse(text))(t)
}

// sample returns a reading of sensors and their values: numbers, or texts.
func sample(t tables.Ticks, pairs ...any) fold.Sample {
	s := fold.Sample{Key: schema.RowKey{Ticks: t}}
	for i := 0; i < len(pairs); i += 2 {
		v := fold.SensorValue{Sensor: pairs[i].(string)}
		switch of := pairs[i+1].(type) {
		case float64:
			v.Is, v.Number = fold.Number, of
		case int:
			v.Is, v.Number = fold.Number, float64(of)
		case string:
			v.Is, v.State = fold.State, of
		}
		s.Values = append(s.Values, v)
	}
	return s
}

// run does a job: it folds samples, then time until the horizon, and posts.
func (b *bench) run(horizon tables.Ticks, samples ...fold.Sample) {
	b.t.Helper()
	b.rows(horizon, samples...)
	for left := 1; left > 0; {
		now := fold.Moment{Horizon: horizon, Until: horizon, Known: b.known}
		out := must.Have(b.fold.Watch(b.member, b.state, nil, now))(b.t)
		b.state, left = out.State, out.Left
		b.post()
	}
}

// rows folds samples alone.
func (b *bench) rows(horizon tables.Ticks, samples ...fold.Sample) {
	b.t.Helper()
	for len(samples) > 0 {
		out := must.Have(b.fold.Watch(b.member, b.state, samples, fold.Moment{Horizon: horizon, Known: b.known}))(b.t)
		b.state, samples = out.State, samples[len(samples)-out.Left:]
		b.post()
	}
}

func (b *bench) post() {
	b.t.Helper()
	posts, rest, err := b.fold.Posts(b.member, b.state)
	must.Succeed(b.t, err)
	if len(b.state) > maxState {
		b.t.Fatalf("the state has %d bytes; want at most %d", len(b.state), maxState)
	}
	for _, p := range posts {
		e := tables.Entity{PartitionKey: p.Output.PartitionKey, RowKey: p.Output.RowKey, Properties: p.Properties}
		if strings.HasSuffix(p.Output.PartitionKey, "!open") {
			continue
		}
		b.all = append(b.all, must.Have(schema.TransitionOf(e))(b.t))
	}
	b.state = rest
}

// said are the transitions, one a line: what, when after the start, and why.
func (b *bench) said() string {
	var all strings.Builder
	for _, t := range b.all {
		fmt.Fprintf(&all, "%s %s %s", t.ID.Rule, t.What, t.At.Time().Sub(start))
		if t.Value != "" && t.Opens() {
			fmt.Fprintf(&all, " (%s)", t.Value)
		}
		if t.Reason != "" {
			fmt.Fprintf(&all, " %s", t.Reason)
		}
		if !t.Notify {
			fmt.Fprint(&all, " quietly")
		}
		all.WriteByte('\n')
	}
	return all.String()
}

func (b *bench) want(lines ...string) {
	b.t.Helper()
	want := strings.Join(lines, "\n") + "\n"
	if len(lines) == 0 {
		want = ""
	}
	if got := b.said(); got != want {
		b.t.Errorf("transitions\n%swant\n%s", got, want)
	}
}
