package rules

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"

	"furrow/jobs/internal/pack"
	"furrow/tables"
	"furrow/tables/schema"
)

// A state is what is remembered of a device between two folds.
type state struct {
	begun  bool
	device uint64 // identity of the device and the rules
	rules  []*tracked
	row    string // of the sample that some rules have evaluated, because the outbox was full
	outbox []post // what happened and is not posted yet
}

// memory is what a kind remembers of a device.
type memory struct {
	// silence: when it was heard; stuck: its last reading; schedule: when its times changed; rate: of a zero of a counter
	// that the next number explains
	heard  tables.Ticks
	last   float64        // rate: the last number of a counter
	text   string         // stuck: the value; schedule: a hash of the times and the zone; rate: one of the unit
	points []point        // rate
	times  []tables.Ticks // count: of readings; schedule: of those that were as expected
	judged tables.Ticks   // schedule: the last time that was judged
}

// rowDone forgets which rules have evaluated a sample.
func (st *state) rowDone() {
	st.row = ""
	for _, t := range st.rules {
		t.done = false
	}
}

// A state begins with what tells in most runs that nothing is to be done.
//
//	version, identity of device and rules, when time is due, whether the outbox is empty
const (
	stateVersion = 1
	stateHead    = 1 + 8 + 8 + 1
)

var errVersion = errors.New("the state is of a version that this program does not know")

// idle reports whether a state needs nothing done until a time.
func idle(b []byte, device uint64, until tables.Ticks) bool {
	return len(b) >= stateHead && b[0] == stateVersion && binary.BigEndian.Uint64(b[1:]) == device &&
		until <= tables.Ticks(binary.BigEndian.Uint64(b[9:]))
}

func hasOutbox(b []byte) bool { return len(b) >= stateHead && b[stateHead-1] != 0 }

// due is when time alone may change something. It is at once if something is left to do.
func (w *work) due() tables.Ticks {
	due := tables.MaxTicks
	if w.state.row != "" {
		return 0
	}
	for _, t := range w.state.rules {
		if t.rule == nil || t.open() && !t.announced {
			return 0
		}
		if t.begun {
			due = min(due, t.rule.When.next(w, t))
		}
	}
	return due
}

func (w *work) encode() []byte {
	w.to = max(w.to, w.horizon)
	return w.state.encoded(max(w.due(), 0))
}

func (st *state) encoded(due tables.Ticks) []byte {
	b := append(make([]byte, 0, 256), stateVersion)
	b = binary.BigEndian.AppendUint64(b, st.device)
	b = binary.BigEndian.AppendUint64(b, uint64(due))
	b = append(b, byte(min(len(st.outbox), 1)))
	c := pack.Codec{To: b}
	st.pass(&c)
	return c.To
}

// decode reads a state, and when it is due; no bytes are that of a device that was never folded.
func decode(b []byte) (st *state, due tables.Ticks, err error) {
	st = &state{}
	if len(b) == 0 {
		return st, 0, nil
	}
	if b[0] != stateVersion {
		return nil, 0, errVersion
	}
	if len(b) < stateHead {
		return nil, 0, pack.ErrDamaged
	}
	st.device, st.begun = binary.BigEndian.Uint64(b[1:]), true
	due = tables.Ticks(binary.BigEndian.Uint64(b[9:]))
	c := pack.Codec{From: pack.NewReader(b[stateHead:])}
	st.pass(&c)
	return st, due, c.From.Err()
}

// pass has a codec write the state, or read it.
func (st *state) pass(c *pack.Codec) {
	pack.String(c, &st.row)
	pack.List(c, &st.rules, func(t **tracked) {
		if *t == nil {
			*t = &tracked{}
		}
		(*t).pass(c)
	})
	pack.List(c, &st.outbox, func(p *post) { p.pass(c) })
}

func (t *tracked) pass(c *pack.Codec) {
	pack.String(c, &t.name)
	hash := int64(t.hash)
	pack.Whole(c, &hash)
	t.hash = uint64(hash)
	c.Bool(&t.begun)
	c.Bool(&t.done)
	pack.Whole(c, &t.from)
	pack.Near(c, &t.since, t.from)
	pack.String(c, &t.value)
	pack.Near(c, &t.heard, t.from)
	c.Floats(&t.last)
	pack.String(c, &t.text)
	pack.List(c, &t.points, func(p *point) {
		pack.Near(c, &p.at, t.from)
		c.Floats(&p.value)
	})
	pack.List(c, &t.times, func(at *tables.Ticks) { pack.Near(c, at, t.from) })
	pack.Near(c, &t.judged, t.from)
	pack.Whole(c, &t.number)
	if t.number > 0 {
		pack.Near(c, &t.first, t.from)
		pack.Near(c, &t.at, t.first)
		pack.Near(c, &t.held, t.first)
		c.Bool(&t.announced)
		choice(c, &t.severity, Severities())
	}
}

func (p *post) pass(c *pack.Codec) {
	pack.String(c, &p.rule)
	choice(c, &p.what, []string{schema.Opened, schema.Reopened, schema.Closed, schema.Announced})
	pack.Whole(c, &p.number)
	pack.Whole(c, &p.first)
	pack.Near(c, &p.at, p.first)
	pack.Near(c, &p.since, p.first)
	pack.Near(c, &p.found, p.first)
	choice(c, &p.severity, Severities())
	pack.String(c, &p.value)
	pack.String(c, &p.text)
	pack.String(c, &p.reason)
	c.Bool(&p.notify)
}

// choice takes one of several values by its place among them.
func choice[T comparable](c *pack.Codec, of *T, all []T) {
	i := max(slices.Index(all, *of), 0)
	pack.Whole(c, &i)
	*of = all[min(max(i, 0), len(all)-1)]
}

func hashOf(s string) uint64 {
	sum := fnv.New64a()
	fmt.Fprint(sum, s)
	return sum.Sum64()
}
