package fleets

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate/model"
	"furrow/tables/schema"
)

// Names of faults.
const (
	stuckSensor = "stuck sensor" // it repeats a value
	badQuality  = "bad quality"  // the device says that its values are doubtful
	tooHot      = "too hot"
	warming     = "warming" // faster than the weather does
	doseMissed  = "dose missed"
	leftOpen    = "left open"
	silence     = "silence" // the device sends nothing
)

// A Fault is one that was put into what a device sent.
type Fault struct {
	Fault  string          `json:"fault"`
	Device schema.DeviceID `json:"device"`
	Sensor string          `json:"sensor,omitempty"` // by the name that the device gives it
	From   time.Time       `json:"from"`             // time of the first document that has it, or that is missing
	To     time.Time       `json:"to"`               // and of the last one

	began time.Time // of its span, which may be before anything was sent
}

// suffers tells whether the device has a fault at a time, and notes it. One device of five has it in each half of the
// history that the kind of fleet has by default, and the others rarely.
func (u *unit) suffers(fault, sensor string, at time.Time) (model.Span, bool) {
	hash := fnv.New64a()
	fmt.Fprint(hash, fault, sensor)
	share := 0.02
	if (uint64(u.number)+hash.Sum64())%5 == 0 {
		share = 1
	}
	span, ok := model.SpanAt(at, share, u.history/2, func(part uint64) model.Fate {
		return model.Fate(model.Hash(u.key, hash.Sum64(), part))
	})
	if least := span.From.Add(time.Duration(u.readingsOf(fault)) * u.Every); !span.From.IsZero() && least.After(span.To) {
		span.To = least
		ok = !at.Before(span.From) && at.Before(span.To)
	}
	if ok {
		u.note(fault, sensor, span.From, at)
	}
	return span, ok
}

// readingsOf returns how many documents a fault lasts at least, so that it can be told from chance.
func (u *unit) readingsOf(fault string) int {
	switch fault {
	case silence:
		return 5
	case stuckSensor:
		return 12 * max(1, u.slow)
	}
	return 1
}

// note notes that the device has a fault at a time.
func (u *unit) note(fault, sensor string, began, at time.Time) {
	u.noted = append(u.noted, Fault{fault, u.member.ID, sensor, at, at, began})
}

// A ledger has the faults that were put in.
type ledger struct {
	mu  sync.Mutex
	all map[Fault]*Fault // by what does not change
}

// add adds faults, or makes those that are there longer.
func (l *ledger) add(noted []Fault) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, n := range noted {
		key := Fault{Fault: n.Fault, Device: n.Device, Sensor: n.Sensor, began: n.began}
		if l.all[key] == nil {
			if l.all == nil {
				l.all = map[Fault]*Fault{}
			}
			l.all[key] = &n
		}
		l.all[key].To = n.To
	}
}

// Faults returns the faults in what was sent, by their kind, device and time. Silence lasts until a time if nothing has
// ended it before. All Sendings must have ended.
func (f *Fleet) Faults(until time.Time) (all []Fault) {
	for _, u := range f.units {
		f.faults.add(slices.DeleteFunc(u.noted, func(n Fault) bool { return n.To.After(until) }))
		u.noted = nil
	}
	for _, fault := range f.faults.all {
		all = append(all, *fault)
	}
	slices.SortFunc(all, func(a, b Fault) int {
		return cmp.Or(cmp.Compare(a.Fault, b.Fault), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Sensor, b.Sensor),
			a.From.Compare(b.From))
	})
	return all
}
