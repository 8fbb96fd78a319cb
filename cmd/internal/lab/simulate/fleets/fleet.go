package fleets

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"furrow/cmd/internal/lab/simulate"
	"furrow/cmd/internal/lab/simulate/model"
	"furrow/sas/device"
	"furrow/tables/schema"
)

// A kind is one of the five kinds of fleets.
type kind struct {
	file    string        // of documents that real devices have sent
	devices int           // by default
	every   time.Duration // between the documents of a device
	history time.Duration // that is sent first, by default
	tenants []schema.Tenant
	slow    int // intervals between two values of a slow sensor; zero: there is none

	// identify gives a member that has a position and labels of its place its ID, site and other labels.
	identify func(m *simulate.Member, number int)
	// send sends what a device has to send in the interval from a time on.
	send func(d *unit, at time.Time)
	// obey does what a command says; nil if the devices take none.
	obey func(d *unit, body []byte) error
}

// kinds returns the five kinds by name.
func kinds() map[string]kind {
	return map[string]kind{
		"temperatures": temperatures(), "kitchens": kitchens(), "oil": oil(), "bottles": bottles(), "ground": ground(),
	}
}

// Names returns the names of the kinds, which those of the example configurations are, too.
func Names() []string { return []string{"temperatures", "kitchens", "oil", "bottles", "ground"} }

// Config says which fleet to simulate.
type Config struct {
	Kind    string
	Seed    uint64
	Devices int           // zero: as the kind has
	Every   time.Duration // between documents of a device; zero: as the kind has
	Until   time.Time     // the last device was deployed a month before
}

// A Fleet is simulated. Two of the same Config have the same members, documents and faults.
type Fleet struct {
	Config
	kind
	template map[string]any
	members  []simulate.Member
	units    map[schema.DeviceID]*unit
	faults   ledger
}

// New returns a fleet.
func New(c Config) (*Fleet, error) {
	k := kinds()[c.Kind]
	all, err := Documents(c.Kind)
	if err != nil {
		return nil, err
	}
	c.Devices, c.Every = cmp.Or(c.Devices, k.devices), cmp.Or(c.Every, k.every)
	f := &Fleet{Config: c, kind: k, template: all[0], units: map[schema.DeviceID]*unit{}}
	places := model.Places()
	for i := range f.Devices {
		u := &unit{Fleet: f, number: i, key: model.Hash(f.Seed, uint64(i))}
		u.place = places[model.Hash(f.Seed, uint64(i/devicesPerSite), 1)%uint64(len(places))]
		u.member = f.member(u)
		f.units[u.member.ID] = u
		f.members = append(f.members, u.member)
	}
	return f, nil
}

const devicesPerSite = 4

const day = 24 * time.Hour

func (f *Fleet) member(u *unit) simulate.Member {
	near := func(n uint64) float64 { return (model.Unit(model.Hash(u.key, 2, n)) - 0.5) / 10 }
	deployed := f.Until.AddDate(0, -1, -int(model.Unit(model.Hash(u.key, 3))*600))
	m := simulate.Member{Tenant: f.tenants[u.number/devicesPerSite%len(f.tenants)], Site: schema.Site(u.place.Slug),
		Labels: map[string]string{"place": u.place.Name}, Deployed: deployed.UTC().Truncate(time.Second),
		Position: &schema.Position{Lat: model.Round(u.place.Lat+near(1), 4), Lon: model.Round(u.place.Lon+near(2), 4)}}
	f.identify(&m, u.number)
	return m
}

// Members returns the devices.
func (f *Fleet) Members() []simulate.Member { return f.members }

// History is how much of the past such a fleet sends first, unless somebody wants something else.
func (f *Fleet) History() time.Duration { return f.history }

// A unit is a device.
type unit struct {
	*Fleet
	number int
	member simulate.Member
	place  model.Place
	key    uint64

	waiting []simulate.Sending // of the interval that is being made
	noted   []Fault            // in it

	orders orders
}

// Obey does what a command says to a member, and returns what its device tells.
func (f *Fleet) Obey(m simulate.Member, body []byte) (any, error) {
	return nil, f.obey(f.units[m.ID], body)
}

// TakesCommands reports whether the devices do what commands say.
func (f *Fleet) TakesCommands() bool { return f.obey != nil }

// orders are what a device was told to do, and when. They are set while documents are made.
type orders struct {
	mu    sync.Mutex
	value float64
	since time.Time // zero: never
}

func (o *orders) set(value float64, at time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.value, o.since = value, at
}

// orderedBy returns what does what a command such as {"rpm": 900} says, whose number has bounds.
func orderedBy(name string, least, most float64) func(*unit, []byte) error {
	return func(u *unit, body []byte) error {
		var told map[string]any
		err := json.Unmarshal(body, &told)
		value, is := told[name].(float64)
		if err != nil || !is || value < least || value > most {
			return fmt.Errorf("want {%q: %v to %v}", name, least, most)
		}
		u.orders.set(value, time.Now())
		return nil
	}
}

// told returns what the device was told before a time.
func (u *unit) told(at time.Time) (float64, bool) {
	u.orders.mu.Lock()
	defer u.orders.mu.Unlock()
	return u.orders.value, !u.orders.since.IsZero() && !at.Before(u.orders.since)
}

// Sendings returns what a member sends from a time on, without an end.
func (f *Fleet) Sendings(m simulate.Member, from time.Time) simulate.Stream {
	u := f.units[m.ID]
	phase := time.Duration(model.Unit(model.Hash(u.key, 4)) * float64(f.Every)).Truncate(time.Millisecond)
	return func(yield func(simulate.Sending) bool) {
		for at := from.Truncate(f.Every).Add(phase).UTC(); ; at = at.Add(f.Every) {
			u.waiting = u.waiting[:0]
			if at.Before(from) {
				continue
			}
			if _, silent := u.suffers(silence, "", at); !silent {
				f.send(u, at)
			}
			slices.SortStableFunc(u.waiting, func(a, b simulate.Sending) int { return a.Due.Compare(b.Due) })
			for _, s := range u.waiting {
				if !yield(s) {
					return
				}
			}
			if len(u.waiting) > 0 { // silence is noted with what ends it
				f.faults.add(u.noted)
				u.noted = u.noted[:0]
			}
		}
	}
}

// sends adds a document.
func (u *unit) sends(at time.Time, document map[string]any) {
	u.waiting = append(u.waiting, simulate.Sending{Due: at, Reading: device.Reading{Time: at, Values: document}})
}

// document returns a document as the real one is, to be changed.
func (u *unit) document() map[string]any { return clone(u.template) }

// wave is a number that goes up and down once in a period, from -1 to 1, each device at a time of its own.
func (u *unit) wave(at time.Time, period time.Duration) float64 {
	turns := float64(at.UnixMilli())/float64(period.Milliseconds()) + model.Unit(model.Hash(u.key, 5))
	return math.Sin(2 * math.Pi * turns)
}

// noise is from -1 to 1, and another one each time.
func (u *unit) noise(at time.Time, n uint64) float64 {
	return 2*model.Unit(model.Hash(u.key, 6, n, uint64(at.UnixMilli()))) - 1
}

// clock is a time as documents have it.
func clock(at time.Time) string { return at.Truncate(time.Second).Format(time.RFC3339) }

// numbered is an ID that ends in the number of the device.
func numbered(prefix string, number int) schema.DeviceID {
	return schema.DeviceID(fmt.Sprint(prefix, number))
}
