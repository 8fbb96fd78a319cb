package model

import (
	"math"
	"strings"
	"sync"

	"furrow/jobs"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
)

// An index is what is in memory of every device.
type index struct {
	mu      sync.RWMutex
	devices []device         // none is ever taken out
	at      map[string]int32 // where a device is among them

	tenants, sites, sensors, texts names
	months                         map[schema.Month]uint16
	monthOf                        []schema.Month
	members                        []int // of each month, by its number

	holds map[int32]map[schema.Pipeline]schema.Track // of the devices that are held

	census census
	ready  bool // all records were read once

	version uint64        // grows with whatever maps and lists show
	placed  uint64        // grows with devices and positions
	changed chan struct{} // closed at the next version
}

// A device is what is kept of one. It is small: there may be a million.
type device struct {
	id       string
	labels   string // as JSON
	lat, lon float64
	values   []value // of its sensors, at most mostValues
	newest   uint32  // Unix time of the newest value; 0 where there is none
	site     uint32
	tenant   uint16
	month    uint16
	flags    uint8
}

// Flags of a device.
const (
	isRevoked = 1 << iota
	isHeld
	isRecorded // there is a record of it; else it is known by its values or the fleet alone
	isPlaced
)

// A value is the newest of a sensor.
type value struct {
	number float64 // or, of a state, the number of its text
	time   uint32  // Unix time
	sensor uint16
	flags  uint8
}

// Flags of a value.
const (
	isText = 1 << iota
	isDoubtful
)

// Bounds of what the index keeps; a device's page has the rest.
const (
	mostValues  = 32     // of a device
	mostSensors = 1 << 9 // of all
	mostTexts   = 1 << 16
)

func newIndex() *index {
	return &index{at: map[string]int32{}, months: map[schema.Month]uint16{}, holds: map[int32]map[schema.Pipeline]schema.Track{},
		texts: names{}, changed: make(chan struct{})}
}

// names are texts by numbers.
type names struct {
	all    []string
	number map[string]uint32
}

// of is the number of a text, a new one if it is not known and there are fewer
// than most.
func (n *names) of(text string, most int) (uint32, bool) {
	if i, ok := n.number[text]; ok {
		return i, true
	}
	if len(n.all) >= most {
		return 0, false
	}
	if n.number == nil {
		n.number = map[string]uint32{}
	}
	text = strings.Clone(text) // it is a part of a page of storage, all of which would stay
	i := uint32(len(n.all))
	n.all = append(n.all, text)
	n.number[text] = i
	return i, true
}

func (n *names) text(i uint32) string {
	if int(i) < len(n.all) {
		return n.all[i]
	}
	return "…"
}

func (x *index) changes() <-chan struct{} {
	x.mu.RLock()
	defer x.mu.RUnlock()
	return x.changed
}

// touch is called with the lock held, when something has changed.
func (x *index) touch() {
	x.version++
	close(x.changed)
	x.changed = make(chan struct{})
}

// device is where a device is, which is made where it is not known.
func (x *index) device(id string, tenant schema.Tenant, month schema.Month) int32 {
	if i, ok := x.at[id]; ok {
		return i
	}
	id = strings.Clone(id)
	i := int32(len(x.devices))
	d := device{id: id, month: x.month(month)}
	t, _ := x.tenants.of(string(tenant), math.MaxUint16)
	d.tenant = uint16(t)
	site, _ := x.sites.of("", math.MaxUint32)
	d.site = site
	x.devices = append(x.devices, d)
	x.at[id] = i
	x.members[d.month]++
	x.placed++
	return i
}

func (x *index) month(m schema.Month) uint16 {
	i, ok := x.months[m]
	if !ok {
		i = uint16(len(x.monthOf))
		x.months[m] = i
		x.monthOf, x.members = append(x.monthOf, m), append(x.members, 0)
	}
	return i
}

// records takes in what storage says of devices; a label text is as it is stored.
func (x *index) records(all []recorded) {
	if len(all) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := false
	for i := range all {
		changed = x.record(&all[i]) || changed
	}
	if changed {
		x.touch()
	}
}

// A recorded is a device's record.
type recorded struct {
	schema.Device
	labels string
}

func (x *index) record(r *recorded) (changed bool) {
	known := len(x.devices)
	d := &x.devices[x.device(string(r.ID), r.Tenant, r.Month)]
	was := *d
	site, _ := x.sites.of(string(r.Site), math.MaxUint32)
	d.site = site
	if d.labels != r.labels {
		d.labels = strings.Clone(r.labels)
	}
	d.flags = d.flags&^(isRevoked|isPlaced) | isRecorded
	if r.Status == schema.Revoked {
		d.flags |= isRevoked
	}
	d.lat, d.lon = 0, 0
	if p := r.Position; p != nil && math.Abs(p.Lat) <= 90 && math.Abs(p.Lon) <= 180 {
		d.flags |= isPlaced
		d.lat, d.lon = p.Lat, p.Lon
	}
	if d.lat != was.lat || d.lon != was.lon || d.flags&isPlaced != was.flags&isPlaced {
		x.placed++
	}
	return known < len(x.devices) || d.lat != was.lat || d.lon != was.lon || d.flags != was.flags || d.site != was.site || d.labels != was.labels
}

// A newest is a row of latest.
type newest struct {
	device string
	values []latest.Value
}

// newest takes in the rows of a partition of latest.
func (x *index) newest(p schema.LatestPartition, rows []newest) {
	if len(rows) == 0 {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	changed := false
	for _, r := range rows {
		d := &x.devices[x.device(r.device, p.Tenant, p.Month)]
		changed = x.values(d, r.values) || changed
	}
	if changed {
		x.touch()
	}
}

func (x *index) values(d *device, all []latest.Value) (changed bool) {
	for _, v := range all {
		sensor, ok := x.sensors.of(v.Sensor, mostSensors)
		if !ok {
			continue
		}
		new := value{number: v.Number, time: unix(v.At), sensor: uint16(sensor)}
		if v.Is == jobs.State {
			text, ok := x.texts.of(v.State, mostTexts)
			if !ok {
				text = mostTexts
			}
			new.number, new.flags = float64(text), isText
		}
		if v.Doubtful {
			new.flags |= isDoubtful
		}
		d.newest = max(d.newest, new.time)
		at := d.value(new.sensor)
		switch {
		case at != nil && *at == new:
			continue
		case at != nil:
			*at = new
		case len(d.values) < mostValues:
			if d.values == nil {
				d.values = make([]value, 0, min(len(all), mostValues))
			}
			d.values = append(d.values, new)
		}
		changed = true
	}
	return changed
}

// value is that of a sensor, or nil.
func (d *device) value(sensor uint16) *value {
	for i := range d.values {
		if d.values[i].sensor == sensor {
			return &d.values[i]
		}
	}
	return nil
}

// unix is the time in seconds, as far as 32 bits hold it.
func unix(t tables.Ticks) uint32 {
	return uint32(max(0, min(math.MaxUint32, t.Time().Unix())))
}

// loaded says that all records were read once.
func (x *index) loaded() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.ready = true
	x.touch()
}
