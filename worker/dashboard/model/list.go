package model

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"time"
)

// A ListQuery is what a list of devices was asked for. What is empty asks for all.
type ListQuery struct {
	Tenant, Site, Prefix string
	State                State
	Box                  *Box   // where they are; nil is anywhere or nowhere
	Sensor               string // whose values are listed; empty is the number that most devices have
	Sort                 string // SortDevice, SortTime or SortValue; empty is the first
	After                string // the Next of the page before
	Limit                int    // 1 to MaxListed; 0 is DefaultListed
}

// What a list is sorted by: by id, the newest first, or the greatest first.
const (
	SortDevice = "device"
	SortTime   = "time"
	SortValue  = "value"
)

// Bounds of a list.
const (
	MaxListed     = 1000
	DefaultListed = 50
)

// Devices is a page of a list of devices. The pages together have each device once
// that there was all the while and that has not changed its place.
func (s *Store) Devices(ctx context.Context, ask ListQuery) (DeviceList, Read, error) {
	ctx = s.counted(ctx)
	at, err := s.watched.look(ctx)
	if at.IsZero() && err != nil {
		return DeviceList{}, Read{}, err
	}
	read := s.polled(at)
	list, err := s.list(ask)
	list.Operations = read.Operations
	return list, read, err
}

// polled describes data that the poller read.
func (s *Store) polled(at time.Time) Read {
	return Read{At: at, Operations: s.rounds.cost(), Cached: true}
}

func (s *Store) list(ask ListQuery) (DeviceList, error) {
	out := DeviceList{Devices: []Row{}}
	if ask.Sort == "" {
		ask.Sort = SortDevice
	}
	if ask.Limit == 0 {
		ask.Limit = DefaultListed
	}
	if ask.Sensor == "" {
		ask.Sensor = s.sensors(ask.Tenant).first()
	}
	after, err := parseCursor(ask)
	if err != nil {
		return out, err
	}
	x := s.index
	of, known := x.whose(ask.Tenant)
	x.mu.RLock()
	defer x.mu.RUnlock()
	site, sited := x.sites.number[ask.Site]
	if !known || ask.Site != "" && !sited {
		return out, nil
	}
	sensor, sensed := x.sensors.number[ask.Sensor]
	silence := s.silence()
	first := firsts{most: ask.Limit + 1}
	for i := range x.devices {
		d := &x.devices[i]
		if !of.all && d.tenant != of.tenant || ask.Site != "" && d.site != site || !strings.HasPrefix(d.id, ask.Prefix) ||
			ask.State != "" && d.state(silence) != ask.State || ask.Box != nil && !d.in(*ask.Box) {
			continue
		}
		out.Total++
		rank := rank{Device: d.id}
		switch {
		case ask.Sort == SortTime:
			rank.Number = float64(d.newest)
		case ask.Sort == SortValue && sensed:
			rank.value(x, d.value(uint16(sensor)))
		case ask.Sort == SortValue:
			rank.value(x, nil)
		}
		if after == nil || rank.compare(*after) > 0 {
			first.add(rank, int32(i))
		}
	}
	chosen := first.sorted()
	if len(chosen) > ask.Limit {
		chosen = chosen[:ask.Limit]
		out.Next = chosen[len(chosen)-1].rank.cursor(ask.Sort)
	}
	for _, c := range chosen {
		out.Devices = append(out.Devices, x.row(&x.devices[c.at], uint16(sensor), sensed, silence))
	}
	return out, nil
}

// in tells whether a device is in a box.
func (d *device) in(b Box) bool {
	if d.flags&isPlaced == 0 || d.lat < b[1] || d.lat > b[3] {
		return false
	}
	if b[0] <= b[2] {
		return d.lon >= b[0] && d.lon <= b[2]
	}
	return d.lon >= b[0] || d.lon <= b[2]
}

// row is called with the lock held.
func (x *index) row(d *device, sensor uint16, sensed bool, silence uint32) Row {
	r := Row{Device: d.id, Tenant: x.tenants.text(uint32(d.tenant)), Site: x.sites.text(d.site), Labels: labelsOf(d.labels),
		Month: x.monthOf[d.month].String(), State: d.state(silence), Time: moment(d.newest)}
	if d.flags&isPlaced != 0 {
		lat, lon := d.lat, d.lon
		r.Lat, r.Lon = &lat, &lon
	}
	if !sensed {
		return r
	}
	if v := d.value(sensor); v != nil {
		r.Value = x.shown(v)
	}
	return r
}

// labelsOf reads labels as they are stored; what cannot be read is none.
func labelsOf(text string) (labels map[string]string) {
	if text != "" && json.Unmarshal([]byte(text), &labels) != nil {
		return nil
	}
	return labels
}

// firsts keeps the first few of many.
type firsts struct {
	most int
	all  []ranked // up to twice as many, the first of which are sorted after each cut
	last *rank    // what comes after it is none of them
}

type ranked struct {
	rank rank
	at   int32
}

func (f *firsts) add(r rank, at int32) {
	if f.last != nil && r.compare(*f.last) > 0 {
		return
	}
	if f.all = append(f.all, ranked{r, at}); len(f.all) >= 2*f.most {
		f.cut()
	}
}

func (f *firsts) cut() {
	slices.SortFunc(f.all, func(a, b ranked) int { return a.rank.compare(b.rank) })
	if len(f.all) >= f.most {
		f.all = f.all[:f.most]
		last := f.all[f.most-1].rank
		f.last = &last
	}
}

func (f *firsts) sorted() []ranked {
	f.cut()
	return f.all
}

// finite is v as JSON can have it.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
