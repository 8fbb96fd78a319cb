package model

import (
	"cmp"
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// A ListQuery asks for a list of devices. An empty field does not filter.
type ListQuery struct {
	Filter
	Prefix string
	Box    *Box   // nil: anywhere, or without a position
	Sensor string // whose values are listed; empty: the number that most devices have
	Sort   string // SortDevice, SortTime, SortValue or SortState; empty: SortDevice
	After  string // Next of the previous page
	Limit  int    // 1 to MaxListed; 0: DefaultListed
}

// Orders of a list: by ID, the newest value first, the greatest value first, or the exceptions first: held, silent,
// revoked, then new devices.
const (
	SortDevice = "device"
	SortTime   = "time"
	SortValue  = "value"
	SortState  = "state"
)

// Sizes of a page of a list.
const (
	MaxListed     = 1000
	DefaultListed = 50
)

// Lists are lists of devices, from the index.
type Lists struct {
	accounts *Accounts
	sensors  *Census
	decider  *decider
}

// Devices returns a page of a list of devices. Over all pages, each device that exists throughout and keeps its
// place in the order comes once.
func (ls *Lists) Devices(ctx context.Context, q ListQuery) (DeviceList, error) {
	var err error
	if q.Filter, err = ls.decider.ready(ctx, q.Filter, q.Sensor); err != nil {
		return DeviceList{}, err
	}
	return ls.list(q)
}

func (ls *Lists) list(q ListQuery) (DeviceList, error) {
	out := DeviceList{Devices: []Row{}}
	q.Sort, q.Limit = cmp.Or(q.Sort, SortDevice), cmp.Or(q.Limit, DefaultListed)
	x, now := ls.accounts.index, ls.accounts.now()
	if q.Sensor == "" {
		of := x.selected(q.Filter, now)
		q.Sensor = ls.sensors.shown(q.Tenant, func(i int) bool {
			return of.includes(int32(i)) && (q.Box == nil || x.devices[i].in(*q.Box))
		})
	}
	out.Sensor, out.Unit = q.Sensor, ls.accounts.Configured().unit(q.Sensor)
	cursor, after := ls.cursor(q), rank{}
	if err := cursor.find(q.After, &after); err != nil {
		return out, err
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	sensor, sensed := x.sensors.number[q.Sensor]
	matcher := x.matcher(q.Filter, now)
	first := smallest{limit: q.Limit + 1}
	for i, d := range x.inFleet() {
		if !strings.HasPrefix(d.id, q.Prefix) || q.Box != nil && !d.in(*q.Box) || !matcher.matches(i) {
			continue
		}
		out.Total++
		rank := rank{Device: d.id}
		switch {
		case q.Sort == SortTime:
			rank.Number = float64(d.newest)
		case q.Sort == SortState:
			rank.Number = d.state(now).urgency()
		case q.Sort == SortValue && sensed:
			rank.value(&x.roster, d.value(uint16(sensor)))
		case q.Sort == SortValue:
			rank.value(&x.roster, nil)
		}
		if q.After == "" || rank.compare(after) > 0 {
			first.add(rank, int32(i))
		}
	}
	chosen := first.sorted()
	if len(chosen) > q.Limit {
		chosen = chosen[:q.Limit]
		out.Next = cursor.mark(chosen[len(chosen)-1].rank)
	}
	for _, c := range chosen {
		out.Devices = append(out.Devices, x.row(&x.devices[c.at], uint16(sensor), sensed, now))
	}
	return out, nil
}

// Newest returns a device with its newest value of a sensor, from the index; nil where it is unknown, or of a tenant
// that ctx may not see.
func (ls *Lists) Newest(ctx context.Context, device, sensor string) *Dot {
	x, only := ls.accounts.index, within(ctx)
	x.mu.RLock()
	i, known := x.at[device]
	known = known && (only == "" || x.tenants.text(x.devices[i].tenant) == only)
	x.mu.RUnlock()
	if !known {
		return nil
	}
	return &x.dots([]int32{i}, sensor, ls.accounts.now())[0]
}

func (d *device) in(b Box) bool {
	if d.flags&isPlaced == 0 || d.lat < b[1] || d.lat > b[3] {
		return false
	}
	if b[0] <= b[2] {
		return d.lon >= b[0] && d.lon <= b[2]
	}
	return d.lon >= b[0] || d.lon <= b[2]
}

// row returns a row of a list.
func (x *roster) row(d *device, sensor uint16, sensed bool, now uint32) Row {
	r := Row{Device: d.id, Tenant: x.tenants.text(d.tenant), Site: x.sites.text(d.site),
		Labels: labelsOf(d.labels), Model: x.models.text(uint32(d.model)),
		Month: x.monthOf[d.month].String(), State: d.state(now), Time: timeOfUnix(d.newest),
		OverdueSince: d.overdueSince(now),
		Severity:     severityText(severityIn(d.flags))}
	if d.flags&isPlaced != 0 {
		r.Lat, r.Lon = new(d.lat), new(d.lon)
	}
	if !sensed {
		return r
	}
	if v := d.value(sensor); v != nil {
		r.Value = x.shown(v)
	}
	return r
}

// labelsOf parses stored labels; nil where they cannot be parsed.
func labelsOf(text string) (labels map[string]string) {
	if text != "" && json.Unmarshal([]byte(text), &labels) != nil {
		return nil
	}
	return labels
}

// smallest keeps the few smallest of many ranks.
type smallest struct {
	limit int
	all   []ranked // up to twice the limit; sorted by cut
	last  *rank    // a greater rank is not among them
}

type ranked struct {
	rank rank
	at   int32
}

func (f *smallest) add(r rank, at int32) {
	if f.last != nil && r.compare(*f.last) > 0 {
		return
	}
	if f.all = append(f.all, ranked{r, at}); len(f.all) >= 2*f.limit {
		f.cut()
	}
}

func (f *smallest) cut() {
	slices.SortFunc(f.all, func(a, b ranked) int { return a.rank.compare(b.rank) })
	if len(f.all) >= f.limit {
		f.all = f.all[:f.limit]
		f.last = new(f.all[f.limit-1].rank)
	}
}

func (f *smallest) sorted() []ranked {
	f.cut()
	return f.all
}

// finite reports whether JSON can represent v.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
