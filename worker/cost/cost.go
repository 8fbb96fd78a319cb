// Package cost divides what a fleet costs on Azure among its tenants.
//
// What a tenant's devices have stored is exact. The operations of jobs are counted for the whole fleet, and each day's
// are divided among the tenants by the number of devices that they have on the day: a device without new readings takes
// nearly as many operations of a run as one with some.
package cost

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/tables/schema"
	"furrow/worker/price"
)

// A TenantCost is what a tenant, or the whole fleet, costs in a time. Its JSON is stable.
type TenantCost struct {
	Tenant     string `json:"tenant,omitempty"` // absent: the fleet
	Day        string `json:"day,omitempty"`    // such as 2026-11-21; absent: all days of the time
	Devices    int64  `json:"devices"`          // of the fleet, on the day with most
	DeviceDays int64  `json:"deviceDays"`       // sum over days
	Writing    int64  `json:"writing"`          // devices that stored readings, on the day with most
	Readings   int64  `json:"readings"`         // Stored: each is an insert of a device. Exact.
	Bytes      int64  `json:"bytes"`            // That storage charges for them. Exact.
	// operations of jobs by kind, such as tables query: counted for the fleet, and for a tenant its share
	Operations map[string]float64 `json:"operations"`
	USD        USD                `json:"usd"`
}

// USD is a cost in US dollars.
type USD struct {
	Inserts float64 `json:"inserts"` // of the devices, one request per reading
	Work    float64 `json:"work"`    // operations of jobs
	Storage float64 `json:"storage"` // of the bytes of the readings, for one month
	Total   float64 `json:"total"`
}

// Costs are what tenants cost in a time.
type Costs struct {
	From    string       `json:"from"` // first day
	To      string       `json:"to"`   // last day
	Tenants []TenantCost `json:"tenants"`
	Fleet   *TenantCost  `json:"fleet,omitempty"` // All tenants. Absent where one tenant was asked for.
	Through *time.Time   `json:"through"`         // runs are counted until then; null if none is
	Prices  string       `json:"prices"`          // source of the prices

	// Rows that cannot be read: the figures lack what they have. Absent for none.
	Unreadable int64 `json:"unreadable,omitempty"`
}

// A Counted is what was counted.
type Counted struct {
	From, To schema.Day // both inclusive
	Tenant   schema.Tenant
	ByDay    bool // a line for each day
	Spent    []schema.Spending
	Devices  []schema.TenantDevices
	Stored   map[schema.Tenant]map[schema.Day]schema.Stored
}

// Of returns the costs of the tenants, the most expensive first, or of one tenant.
func Of(c Counted) Costs {
	out := Costs{From: c.From.String(), To: c.To.String(), Tenants: []TenantCost{}, Prices: price.Azure().String()}
	operations := c.operations()
	for _, s := range c.Spent {
		if at := s.Through.Time(); out.Through == nil || at.After(*out.Through) {
			out.Through = &at
		}
	}
	devices := c.devices(operations)
	var fleet TenantCost
	for _, tenant := range c.tenants(devices) {
		sum := TenantCost{Tenant: string(tenant)}
		for day := c.From; day <= c.To; day++ {
			one := TenantCost{Tenant: string(tenant), Day: day.String()}
			one.store(c.Stored[tenant][day])
			n := devices[day]
			one.Devices, one.DeviceDays = n.of[tenant], n.of[tenant]
			if n.sum > 0 {
				one.work(operations[day], float64(n.of[tenant])/float64(n.sum))
			}
			if c.ByDay && one.some() {
				out.Tenants = append(out.Tenants, one)
			}
			sum.add(one)
		}
		fleet.merge(sum)
		if !c.ByDay && (sum.some() || tenant == c.Tenant) {
			out.Tenants = append(out.Tenants, sum)
		}
	}
	if c.Tenant == "" {
		out.Fleet = c.fleet(fleet, operations, devices)
	}
	if !c.ByDay {
		slices.SortStableFunc(out.Tenants, func(a, b TenantCost) int { return cmp.Compare(b.USD.Total, a.USD.Total) })
	}
	return out
}

// operations returns the counted operations of each day.
func (c Counted) operations() map[schema.Day]map[string]float64 {
	all := map[schema.Day]map[string]float64{}
	for _, s := range c.Spent {
		if all[s.Day] == nil {
			all[s.Day] = map[string]float64{}
		}
		for kind, n := range s.Operations {
			all[s.Day][kind] += float64(n)
		}
	}
	return all
}

// A dayDevices has the devices of a day.
type dayDevices struct {
	of  map[schema.Tenant]int64
	sum int64
}

// devices returns the devices of each day: those of the last day before it where nobody has counted them. The first
// days with operations may have none before: those of the first day after it.
func (c Counted) devices(operations map[schema.Day]map[string]float64) map[schema.Day]dayDevices {
	counted := map[schema.Day]dayDevices{}
	for _, d := range c.Devices {
		if d.Tenant == "" {
			continue
		}
		of := counted[d.Day]
		if of.of == nil {
			of.of = map[schema.Tenant]int64{}
		}
		of.of[d.Tenant], of.sum = d.Devices, of.sum+d.Devices
		counted[d.Day] = of
	}
	days := slices.Sorted(maps.Keys(counted))
	all := map[schema.Day]dayDevices{}
	for day := c.From; day <= c.To && len(days) > 0; day++ {
		i, found := slices.BinarySearch(days, day)
		if !found {
			i--
		}
		if i >= 0 || operations[day] != nil {
			all[day] = counted[days[max(i, 0)]]
		}
	}
	return all
}

// tenants returns the tenants by name: those with devices or readings, or the one that was asked for.
func (c Counted) tenants(devices map[schema.Day]dayDevices) []schema.Tenant {
	if c.Tenant != "" {
		return []schema.Tenant{c.Tenant}
	}
	all := map[schema.Tenant]bool{}
	for _, d := range devices {
		for tenant := range d.of {
			all[tenant] = true
		}
	}
	for tenant := range c.Stored {
		all[tenant] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// fleet returns the line of the fleet: its operations are those that were counted.
func (c Counted) fleet(
	of TenantCost, operations map[schema.Day]map[string]float64, devices map[schema.Day]dayDevices,
) *TenantCost {
	of.Devices = 0
	for _, d := range devices {
		of.Devices = max(of.Devices, d.sum)
	}
	writing := map[schema.Day]int64{}
	for _, days := range c.Stored {
		for day, s := range days {
			writing[day] += s.Devices
		}
	}
	of.Writing = 0
	for _, n := range writing {
		of.Writing = max(of.Writing, n)
	}
	of.Operations, of.USD.Work = map[string]float64{}, 0
	for day := c.From; day <= c.To; day++ {
		of.work(operations[day], 1)
	}
	of.USD.Total = of.USD.Inserts + of.USD.Work + of.USD.Storage
	return &of
}

// some reports whether the line has anything.
func (l TenantCost) some() bool { return l.Devices > 0 || l.Readings > 0 }

// store adds what devices have stored on one day.
func (l *TenantCost) store(s schema.Stored) {
	prices := price.Azure()
	l.Readings, l.Bytes, l.Writing = s.Rows, s.Bytes, s.Devices
	l.USD.Inserts = float64(s.Rows) * prices.Operation("tables insert")
	l.USD.Storage = float64(s.Bytes) / price.GB * prices.TableGB
	l.USD.Total = l.USD.Inserts + l.USD.Storage
}

// work adds a share of operations.
func (l *TenantCost) work(operations map[string]float64, share float64) {
	if l.Operations == nil {
		l.Operations = map[string]float64{}
	}
	prices := price.Azure()
	for _, kind := range slices.Sorted(maps.Keys(operations)) { // sums of doubles depend on the order
		n := operations[kind] * share
		l.Operations[kind] += n
		l.USD.Work += n * prices.Operation(kind)
	}
	l.USD.Total = l.USD.Inserts + l.USD.Work + l.USD.Storage
}

// add adds another day of the same tenant.
func (l *TenantCost) add(o TenantCost) {
	devices, writing := max(l.Devices, o.Devices), max(l.Writing, o.Writing)
	l.merge(o)
	l.Devices, l.Writing = devices, writing
}

// merge adds another line.
func (l *TenantCost) merge(o TenantCost) {
	l.Devices, l.DeviceDays, l.Writing = l.Devices+o.Devices, l.DeviceDays+o.DeviceDays, l.Writing+o.Writing
	l.Readings, l.Bytes = l.Readings+o.Readings, l.Bytes+o.Bytes
	if l.Operations == nil {
		l.Operations = map[string]float64{}
	}
	for kind, n := range o.Operations {
		l.Operations[kind] += n
	}
	l.USD = USD{l.USD.Inserts + o.USD.Inserts, l.USD.Work + o.USD.Work, l.USD.Storage + o.USD.Storage,
		l.USD.Total + o.USD.Total}
}

// Services returns the operations by service: tables, queues and objects.
func (l TenantCost) Services() map[string]float64 {
	sums := map[string]float64{}
	for _, kind := range slices.Sorted(maps.Keys(l.Operations)) { // sums of doubles depend on the order
		service, _, _ := strings.Cut(kind, " ")
		sums[service] += l.Operations[kind]
	}
	return sums
}

// Join adds up the costs of accounts. Those that are empty are left out. Where the devices of a tenant are in several
// accounts, their numbers on the days with most add up.
func Join(all []Costs) (out Costs) {
	type line struct{ tenant, day string }
	at := map[line]int{}
	for _, c := range all {
		if c.Prices == "" {
			continue
		}
		if out.Prices == "" {
			out = Costs{From: c.From, To: c.To, Prices: c.Prices, Tenants: []TenantCost{}}
		}
		if c.Through != nil && (out.Through == nil || c.Through.After(*out.Through)) {
			out.Through = c.Through
		}
		out.Unreadable += c.Unreadable
		for _, t := range c.Tenants {
			i, known := at[line{t.Tenant, t.Day}]
			if !known {
				i = len(out.Tenants)
				at[line{t.Tenant, t.Day}], out.Tenants = i, append(out.Tenants, TenantCost{Tenant: t.Tenant, Day: t.Day})
			}
			out.Tenants[i].merge(t)
		}
		if c.Fleet != nil {
			if out.Fleet == nil {
				out.Fleet = &TenantCost{}
			}
			out.Fleet.merge(*c.Fleet)
		}
	}
	slices.SortStableFunc(out.Tenants, func(a, b TenantCost) int {
		if a.Day != "" {
			return cmp.Or(cmp.Compare(a.Tenant, b.Tenant), cmp.Compare(a.Day, b.Day))
		}
		return cmp.Compare(b.USD.Total, a.USD.Total)
	})
	return out
}
