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
	text   string         // stuck: the value; schedule: a hash of the times and the zone
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
	c := codec{b: b}
	c.state(st)
	return c.b
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
	c := codec{r: pack.NewReader(b[stateHead:])}
	c.state(st)
	return st, due, c.r.Err()
}

// A codec writes a state, or reads one into what it is given, so that the two cannot differ.
type codec struct {
	b []byte
	r *pack.Reader // nil: it writes
}

func (c *codec) state(st *state) {
	text(c, &st.row)
	list(c, &st.rules, func(t **tracked) {
		if *t == nil {
			*t = &tracked{}
		}
		c.tracked(*t)
	})
	list(c, &st.outbox, c.post)
}

func (c *codec) tracked(t *tracked) {
	text(c, &t.name)
	hash := int64(t.hash)
	integer(c, &hash)
	t.hash = uint64(hash)
	c.bool(&t.begun)
	c.bool(&t.done)
	integer(c, &t.from)
	c.near(&t.since, t.from)
	text(c, &t.value)
	c.near(&t.heard, t.from)
	c.float(&t.last)
	text(c, &t.text)
	list(c, &t.points, func(p *point) {
		c.near(&p.at, t.from)
		c.float(&p.value)
	})
	list(c, &t.times, func(at *tables.Ticks) { c.near(at, t.from) })
	c.near(&t.judged, t.from)
	integer(c, &t.number)
	if t.number > 0 {
		c.near(&t.first, t.from)
		c.near(&t.at, t.first)
		c.near(&t.held, t.first)
		c.bool(&t.announced)
		c.severity(&t.severity)
	}
}

func (c *codec) post(p *post) {
	text(c, &p.rule)
	whats := []string{schema.Opened, schema.Reopened, schema.Closed, schema.Announced}
	what := max(slices.Index(whats, p.what), 0)
	integer(c, &what)
	p.what = whats[min(max(what, 0), len(whats)-1)]
	integer(c, &p.number)
	integer(c, &p.first)
	c.near(&p.at, p.first)
	c.near(&p.since, p.first)
	c.near(&p.found, p.first)
	c.severity(&p.severity)
	text(c, &p.value)
	text(c, &p.text)
	text(c, &p.reason)
	c.bool(&p.notify)
}

func (c *codec) severity(s *Severity) {
	all := Severities()
	i := max(slices.Index(all, *s), 0)
	integer(c, &i)
	*s = all[min(max(i, 0), len(all)-1)]
}

// near writes ticks as how far they lie from others, which are near. Zero stays zero.
func (c *codec) near(t *tables.Ticks, from tables.Ticks) {
	known := *t != 0
	if c.bool(&known); !known {
		*t = 0
		return
	}
	far := *t - from
	integer(c, &far)
	*t = from + far
}

func (c *codec) bool(is *bool) {
	n := 0
	if *is {
		n = 1
	}
	integer(c, &n)
	*is = n != 0
}

func (c *codec) float(f *float64) {
	if c.r == nil {
		c.b = pack.Float(c.b, *f)
		return
	}
	*f = c.r.Float()
}

func integer[N ~int | ~int64](c *codec, n *N) {
	if c.r == nil {
		c.b = pack.Int(c.b, int64(*n))
		return
	}
	*n = N(c.r.Int())
}

func text[S ~string](c *codec, s *S) {
	if c.r == nil {
		c.b = pack.Text(c.b, string(*s))
		return
	}
	*s = S(c.r.Text())
}

func list[T any](c *codec, all *[]T, one func(*T)) {
	if c.r == nil {
		c.b = pack.Int(c.b, len(*all))
	} else {
		*all = make([]T, c.r.Count())
	}
	for i := range *all {
		one(&(*all)[i])
	}
}

func hashOf(s string) uint64 {
	sum := fnv.New64a()
	fmt.Fprint(sum, s)
	return sum.Sum64()
}
