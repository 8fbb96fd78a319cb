package model

import (
	"maps"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// A roster says who the devices are, where they are, and what they have sent last. Callers hold the lock of the index.
type roster struct {
	accounts []*account
	devices  []device         // only ever grows
	at       map[string]int32 // positions in devices, by ID

	tenants, sites, sensors, texts, models names

	meant   map[uint16]*fold.Sensors // by model; nil: nothing is known
	months  map[monthIn]uint16
	monthOf []monthIn
	members []int // devices of each month, by its number

	former map[string][]uint32 // tenants that devices have left, by ID
	gone   int                 // devices that have left the fleet
	placed uint64              // grows with devices and positions
}

// An index has every device in memory, for all that read and write it at the same time.
type index struct {
	mu sync.RWMutex
	roster
	holds   map[monthOf]map[int32]schema.Track // of failing devices, by position
	version uint64                             // grows with every change that a map or a list shows
	changed chan struct{}                      // closed at the next version
}

// A device is kept small: there may be a million.
type device struct {
	id       string
	labels   string // as JSON
	lat, lon float64
	values   []value // at most maxValues
	newest   uint32  // Unix time of the newest reading; 0: none
	every    uint32  // stated seconds between two readings; 0: none are
	gap      uint32  // seconds between the last two that were seen to arrive; 0: unknown
	site     uint32
	tenant   uint32
	month    uint16
	model    uint16
	flags    uint8
}

// Flags of a device.
const (
	isRevoked = 1 << iota
	isHeld
	isRecorded // it has a record; others are known from their values or the fleet table
	isPlaced
	hasLeft // it was removed: it is in no list, and its outputs can be read
)

// A value is the newest one of a sensor.
type value struct {
	number float64 // or the number of a state's text
	time   uint32  // Unix time
	sensor uint16
	flags  uint8
	part   uint8 // the row of storage that has it; 0: unknown
}

// Flags of a value.
const (
	isText = 1 << iota
	isDoubtful
)

// Limits of the index; a device's page shows everything.
const (
	maxValues  = 1 << 8  // per device, rates among them
	maxSensors = 1 << 14 // in the fleet, rates among them
	maxTexts   = 1 << 16 // that are newest values
)

// A monthIn is a month of deployment in an account, by its number.
type monthIn struct {
	account uint16
	schema.Month
}

func newIndex(accounts ...*account) *index {
	return &index{roster: roster{accounts: accounts, at: map[string]int32{}, meant: map[uint16]*fold.Sensors{},
		months: map[monthIn]uint16{}, former: map[string][]uint32{}},
		holds: map[monthOf]map[int32]schema.Track{}, changed: make(chan struct{})}
}

// names number texts.
type names struct {
	all    []string
	number map[string]uint32
	free   []uint32 // numbers of texts that were forgotten
	crowd  int      // so many texts get no number before anybody looks again which ones can be forgotten
}

// numberOf returns the number of a text. An unknown text gets a new one while there are fewer than limit.
func (n *names) numberOf(text string, limit int) (uint32, bool) {
	if i, ok := n.number[text]; ok {
		return i, true
	}
	if n.full(limit) {
		return 0, false
	}
	if n.number == nil {
		n.number = map[string]uint32{}
	}
	if len(n.free) == 0 {
		n.free, n.all = append(n.free, uint32(len(n.all))), append(n.all, "")
	}
	last := len(n.free) - 1
	i := n.free[last]
	n.free = n.free[:last]
	n.all[i] = strings.Clone(text) // it would keep a whole page of storage's answer in memory
	n.number[n.all[i]] = i
	return i, true
}

// full reports whether a text that is not known gets no number.
func (n *names) full(limit int) bool { return len(n.all) >= limit && len(n.free) == 0 }

// lacks reports whether a device may have sensors for which there was no room.
func (x *roster) lacks(d *device) bool {
	return len(d.values) == maxValues || x.sensors.full(maxSensors)
}

// ofValues is numberOf for texts that newest values have: of says which one a value has. Where there are too many, it
// forgets those that no value has any more.
func (x *roster) ofValues(n *names, text string, limit int, of func(value) (uint32, bool)) (uint32, bool) {
	i, ok := n.numberOf(text, limit)
	if n.crowd--; ok || n.crowd > 0 {
		return i, ok
	}
	used := make([]bool, limit)
	for i := range x.devices {
		for _, v := range x.devices[i].values {
			if j, has := of(v); has && int(j) < limit {
				used[j] = true
			}
		}
	}
	for j, is := range used {
		if !is {
			delete(n.number, n.all[j])
			n.free = append(n.free, uint32(j))
		}
	}
	if n.crowd = 0; len(n.free) < limit/8 {
		n.crowd = limit
	}
	return n.numberOf(text, limit)
}

func (n *names) text(i uint32) string {
	if int(i) < len(n.all) {
		return n.all[i]
	}
	return "…"
}

// touch announces a change. The lock is held.
func (x *index) touch() {
	x.version++
	close(x.changed)
	x.changed = make(chan struct{})
}

// device returns the position of a device, which it adds when unknown.
func (x *roster) device(id string, tenant schema.Tenant, month monthIn) int32 {
	if i, ok := x.at[id]; ok {
		return i
	}
	id = strings.Clone(id)
	i := int32(len(x.devices))
	d := device{id: id, month: x.month(month)}
	d.tenant = x.tenant(tenant)
	d.site, _ = x.sites.numberOf("", math.MaxUint32)
	x.models.numberOf("", math.MaxUint16) // number 0: of a device without a record
	x.devices = append(x.devices, d)
	x.at[id] = i
	x.members[d.month]++
	x.placed++
	return i
}

// tenant returns the number of a tenant. No two may have the same: they would see each other's devices.
func (x *roster) tenant(t schema.Tenant) uint32 {
	number, _ := x.tenants.numberOf(string(t), math.MaxUint32)
	return number
}

func (x *roster) month(m monthIn) uint16 {
	i, ok := x.months[m]
	if !ok {
		i = uint16(len(x.monthOf))
		x.months[m] = i
		x.monthOf, x.members = append(x.monthOf, m), append(x.members, 0)
	}
	return i
}

// look calls read with a device while nothing changes, if it is known.
func (x *index) look(id string, read func(*device)) (known bool) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	i, known := x.at[id]
	if known {
		read(&x.devices[i])
	}
	return known
}

// in returns the account of a device.
func (x *roster) in(d *device) uint16 { return x.monthOf[d.month].account }

// newest takes the newest values of devices of one tenant and month in an account.
func (x *index) newest(in uint16, p schema.LatestPartition, all []query.Newest) {
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := false
	for _, n := range all {
		if _, known := x.at[string(n.Device)]; !known && len(n.Values) == 0 && n.Heard == 0 {
			continue // nothing is left of it
		}
		d := &x.devices[x.device(string(n.Device), p.Tenant, monthIn{in, p.Month})]
		if x.tenants.text(d.tenant) != string(p.Tenant) || x.in(d) != in || d.flags&hasLeft != 0 {
			continue // it has moved from there, or to there, or is shown from another account, or has left
		}
		was := d.newest
		changed = x.values(d, &n) || changed
		if n.Heard > 0 && unix(n.Heard) > d.newest {
			d.newest, changed = unix(n.Heard), true
		}
		if was > 0 && d.newest > was {
			d.gap = d.newest - was
		}
	}
	if changed {
		x.touch()
	}
}

func (x *roster) values(d *device, n *query.Newest) (changed bool) {
	all, had := n.Values, len(d.values)
	if n.Part > 0 { // what this row had, and has no longer, is no sensor of the device any more
		d.values = slices.DeleteFunc(d.values, func(v value) bool {
			_, has := slices.BinarySearchFunc(all, x.sensors.all[v.sensor], func(v latest.Value, name string) int {
				return strings.Compare(v.Sensor, name)
			})
			return int(v.part) == n.Part && !has
		})
		changed = len(d.values) < had
	}
	for _, v := range all {
		if at := unix(v.At); at > d.newest {
			d.newest, changed = at, true
		}
		if len(d.values) == maxValues && d.value(x.sensor(v.Sensor)) == nil {
			continue
		}
		sensor, ok := x.ofValues(&x.sensors, v.Sensor, maxSensors, func(v value) (uint32, bool) {
			return uint32(v.sensor), true
		})
		if !ok {
			continue
		}
		new := value{number: v.Number, time: unix(v.At), sensor: uint16(sensor), part: uint8(n.Part)}
		if v.Is == fold.State {
			text, ok := x.ofValues(&x.texts, v.State, maxTexts, func(v value) (uint32, bool) {
				return uint32(v.number), v.flags&isText != 0
			})
			if !ok {
				text = maxTexts
			}
			new.number, new.flags = float64(text), isText
		}
		if v.Doubtful {
			new.flags |= isDoubtful
		}
		at := d.value(new.sensor)
		if n.Part == 0 && at != nil {
			new.part = at.part
		}
		switch {
		case at != nil && *at == new:
			continue
		case at != nil:
			*at = new
		default:
			if d.values == nil {
				d.values = make([]value, 0, min(len(all), maxValues))
			}
			d.values = append(d.values, new)
		}
		changed = true
	}
	if was := *d; changed && x.follow(d) && (d.lat != was.lat || d.lon != was.lon || d.flags != was.flags) {
		x.placed++
	}
	return changed
}

// follow moves a device to where its newest values are, if its model says which of them tell that, and reports whether
// it does.
func (x *roster) follow(d *device) bool {
	meant := x.meant[d.model]
	if meant == nil || meant.Position == (fold.Position{}) {
		return false
	}
	lat, lon := d.value(x.sensor(meant.Position.Lat)), d.value(x.sensor(meant.Position.Lon))
	return lat.tells() && lon.tells() && d.place(lat.number, lon.number)
}

// sensor returns the number of a sensor; one that no value has for an unknown one.
func (x *roster) sensor(name string) uint16 {
	if number, known := x.sensors.number[name]; known {
		return uint16(number)
	}
	return maxSensors
}

// tells reports whether a value is a number that can be trusted. v may be nil.
func (v *value) tells() bool { return v != nil && v.flags&(isText|isDoubtful) == 0 }

// place puts a device on the map, unless that is nowhere on earth.
func (d *device) place(lat, lon float64) bool {
	if !(math.Abs(lat) <= 90 && math.Abs(lon) <= 180) {
		return false
	}
	d.flags |= isPlaced
	d.lat, d.lon = lat, lon
	return true
}

func (d *device) value(sensor uint16) *value {
	for i := range d.values {
		if d.values[i].sensor == sensor {
			return &d.values[i]
		}
	}
	return nil
}

// proposals returns how often devices send that state nothing, by model.
func (x *index) proposals() (all []query.Interval) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	devices, gaps := map[uint16]int{}, map[uint16][]time.Duration{}
	for _, d := range x.inFleet() {
		if d.every != 0 || d.flags&isRevoked != 0 {
			continue
		}
		if devices[d.model]++; d.gap > 0 {
			gaps[d.model] = append(gaps[d.model], time.Duration(d.gap)*time.Second)
		}
	}
	for _, model := range slices.Sorted(maps.Keys(gaps)) {
		one := query.Interval{Model: x.models.text(uint32(model)), Devices: devices[model], Looked: len(gaps[model])}
		if one.Seconds = query.Agreed(gaps[model]).Seconds(); one.Seconds > 0 {
			all = append(all, one)
		}
	}
	return all
}

// unix returns the Unix time, limited to 32 bits.
func unix(t tables.Ticks) uint32 {
	return uint32(max(0, min(math.MaxUint32, t.Time().Unix())))
}

// homes returns where the devices of an account are, for latest values.
func (x *index) homes(in uint16) (all []query.Home) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	seen := map[place]bool{}
	for i := range x.devices {
		p := place{x.devices[i].tenant, x.devices[i].month}
		if seen[p] || x.monthOf[p.month].account != in {
			continue
		}
		seen[p] = true
		tenant := schema.Tenant(x.tenants.text(p.tenant))
		at := schema.LatestPartition{Tenant: tenant, Month: x.monthOf[p.month].Month}
		all = append(all, query.Home{LatestPartition: at})
	}
	return all
}

// count returns how many devices of a month are known.
func (x *index) count(m monthIn) (n int64) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, ok := x.months[m]; ok {
		n = int64(x.members[i])
	}
	return n
}
