package rules

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// Processor watches devices by rules.
var Processor = &fold.Processor{
	Name:     "rules",
	Summary:  "incidents: when a rule held for a device",
	Formats:  []int{1},
	MaxState: maxState,
	Tables:   []string{Table, schema.Deliveries},
	Once:     true,
	Beside:   "incidents, notifications and commands",
	New:      func() fold.Config { return &Config{} },
}

// Table is where incidents are, without the prefix of the fleet's names.
const Table = "incidents"

// A Config is the rules, which are at the top of the configuration and not with the processor.
type Config struct {
	Rules []Rule `yaml:"-" hash:"-"`
	// Targets are all targets of notifications. They learn that the incidents of a removed rule have closed.
	Targets []schema.Target `yaml:"-" hash:"-"`
}

// Check refuses rules whose memory does not fit the state of a device.
func (c *Config) Check() error {
	rooms := map[string]int{"": 0} // by model; those of no model, for all
	for i := range c.Rules {
		r := &c.Rules[i]
		if err := r.Check(); err != nil {
			return fmt.Errorf("rule %s: %w", r.Name, err)
		}
		for _, model := range append(r.Match.Model, "")[:max(1, len(r.Match.Model))] {
			rooms[model] += baseRoom + r.When.room()
		}
	}
	for model, room := range rooms {
		if model != "" {
			room += rooms[""]
		}
		if room > maxRooms {
			return fmt.Errorf("the rules of one device may take %d bytes; %d fit. Remove some, or lower the numbers of count",
				room, maxRooms)
		}
	}
	return nil
}

// Bounds of a state, in bytes.
const (
	maxState  = 24 << 10
	maxRooms  = 9 << 10 // of all rules together
	baseRoom  = 220     // of a rule, without what its kind remembers
	maxOutbox = 30      // transitions, each with its texts at most 400 bytes
)

// history is how old a moment must be, when it is found, so that nobody is notified of it.
const history = tables.Ticks(time.Hour / 100)

// Fold is the fold that a checked configuration makes.
func (c *Config) Fold(s fold.Setup) fold.Fold {
	f := &Fold{sensors: &s.Sensors, targets: c.Targets}
	sum := fnv.New64a()
	for i := range c.Rules {
		r := &c.Rules[i]
		if len(r.Match.Model) > 0 && !slices.Contains(r.Match.Model, s.Model) {
			f.others = append(f.others, r.Name)
			continue
		}
		f.rules = append(f.rules, r)
		fmt.Fprintf(sum, "%q %q %q\n", r.Name, r.identity(), r.Match)
		if k, is := r.When.(*Rate); is {
			fmt.Fprintln(sum, k.unit(&s.Sensors))
		}
	}
	f.settings = sum.Sum64()
	return f
}

// A Fold watches the devices of a model. It is safe for concurrent use.
type Fold struct {
	rules    []*Rule
	others   []schema.Rule // for other models
	targets  []schema.Target
	sensors  *fold.Sensors // of the model
	settings uint64
}

var _ fold.Watcher = (*Fold)(nil)

// Fold takes samples as if each was found at its own time.
func (f *Fold) Fold(d schema.Member, state []byte, samples []fold.Sample) (fold.Result, error) {
	horizon := tables.Ticks(0)
	if n := len(samples); n > 0 {
		horizon = samples[n-1].Key.Ticks
	}
	return f.Watch(d, state, samples, fold.Moment{Horizon: horizon})
}

// Watch evaluates the rules on samples, or on the time that has passed.
func (f *Fold) Watch(d schema.Member, b []byte, samples []fold.Sample, at fold.Moment) (fold.Result, error) {
	device := f.identity(d, at.Every)
	first := slices.IndexFunc(samples, func(s fold.Sample) bool { return !s.Past })
	if len(samples) == 0 && !at.Ahead && idle(b, device, at.Until) || len(samples) > 0 && first < 0 {
		return fold.Result{State: b}, nil
	}
	st, _, err := decode(b)
	if err != nil {
		return fold.Result{}, fmt.Errorf("rules of %s: %w", d.Device, err)
	}
	w := &work{fold: f, member: d, state: st, horizon: at.Horizon, Known: at.Known}
	left := 0
	if len(samples) > 0 {
		w.begins, w.rows = samples[first].Key.Ticks, true
		left = w.samples(samples, device)
	} else {
		left = w.time(at, device)
	}
	if len(b) == 0 && !slices.ContainsFunc(st.rules, func(t *tracked) bool {
		return t.begun && (w.rows || t.rule.expects())
	}) {
		return fold.Result{}, nil // nothing happens before its first reading
	}
	return fold.Result{State: w.encode(), Left: left}, nil
}

// Leave closes the open incidents of a device that has left the fleet or the tenant, and forgets what rules remember of
// it: if it comes back, they begin again. Else it would have been silent and missed its times all the while.
func (f *Fold) Leave(d schema.Member, b []byte, at tables.Ticks, reason string) (left []byte, closed int, err error) {
	st, _, err := decode(b)
	if err != nil || len(b) == 0 {
		return b, 0, err
	}
	w := &work{fold: f, member: d, state: st, horizon: at}
	for _, t := range st.rules {
		if t.open() && !w.full() {
			w.close(t, at, reason)
			closed++
		}
	}
	if !slices.ContainsFunc(st.rules, (*tracked).open) {
		st.rules, st.row, st.device = nil, "", 0
	}
	return st.encoded(0), closed, nil
}

// identity stands for everything of a device and the rules that may change what is watched.
func (f *Fold) identity(d schema.Member, every time.Duration) uint64 {
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%d\x00%q\x00%q\x00%q", f.settings, d.Tenant, d.Site, d.Enrollment)
	for _, name := range slices.Sorted(maps.Keys(d.Labels)) {
		fmt.Fprintf(sum, "\x00%q=%q", name, d.Labels[name])
	}
	if every != 0 {
		fmt.Fprintf(sum, "\x00every %v", every)
	}
	if d.Revoked {
		fmt.Fprint(sum, "\x00revoked")
	}
	return sum.Sum64()
}

// Posts returns the rows of the transitions that a state holds: of the incident, of the index of open incidents, where
// an opening adds one and a closing removes it, and of the deliveries of its notifications.
func (f *Fold) Posts(d schema.Member, b []byte) (posts []fold.Effect, rest []byte, err error) {
	if !hasOutbox(b) {
		return nil, b, nil
	}
	st, due, err := decode(b)
	if err != nil {
		return nil, nil, fmt.Errorf("rules of %s: %w", d.Device, err)
	}
	post := func(table string, e tables.Entity) {
		posts = append(posts, fold.Effect{Properties: e.Properties,
			Output: fold.Output{Table: table, PartitionKey: e.PartitionKey, RowKey: e.RowKey}})
	}
	closed := map[string]bool{} // rows of the index; one transaction cannot insert and delete the same row
	for i := range st.outbox {
		if t := st.outbox[i].transition(d); !t.Opens() {
			pk, rk := t.IndexRow()
			closed[rk] = true
			post(Table, tables.Entity{PartitionKey: pk, RowKey: rk})
		}
	}
	for i := range st.outbox {
		t := st.outbox[i].transition(d)
		post(Table, t.Entity())
		if _, rk := t.IndexRow(); t.Opens() && t.What != schema.Announced && !closed[rk] {
			post(Table, t.IndexEntity())
		}
		for _, target := range f.targetsOf(t) {
			post(schema.Deliveries, schema.Delivery{Target: target, Transition: t}.Entity())
		}
		told, err := f.command(t)
		if err != nil {
			return nil, nil, fmt.Errorf("rules of %s: %w", d.Device, err)
		}
		if told != nil {
			posts = append(posts, *told)
		}
	}
	st.outbox = nil
	return posts, st.encoded(due), nil
}

// targetsOf returns the targets of a transition's notifications. It is not known who was told of the incident of a rule
// that is gone: what closes it goes to all targets, and is delivered to those that were.
func (f *Fold) targetsOf(t schema.Transition) []schema.Target {
	switch r := f.rule(t.ID.Rule); {
	case !t.Notify:
		return nil
	case r != nil:
		return r.Notify
	case t.Opens():
		return nil
	}
	return f.targets
}
