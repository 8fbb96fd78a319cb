package model

import (
	"cmp"
	"context"
	"iter"
	"slices"
	"sync/atomic"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// A FleetQuery asks about many devices.
type FleetQuery struct {
	Filter
	Prefix   string   `query:"prefix"`
	Devices  []string `query:"devices"` // none: all that the filter selects
	Sensors  []string `query:"sensors"` // none: all
	From, To time.Time
	Window   string // a size such as 1h, or auto; empty: auto
	Part

	labels bool // a condition needs those of the devices
}

// Windows is the answer of /v1/query for a window: day by day in UTC, within a day by tenant, month and device, and for
// each device by time.
type Windows struct {
	Window string `json:"window"`
	Bounds
	Rows []answers.SensorWindows `json:"rows"`
	Extent
}

// FleetRows are long answers about many devices: their windows, and their newest values.
type FleetRows struct {
	accounts *Accounts
	sensors  *Census
	decider  *decider
}

// Limits of a question about many devices. Wider ones are refused, because nobody would wait for all of their parts.
const (
	maxWindows = 20_000_000 // devices times windows
	maxRanges  = 20_000     // ranges of keys
	pageRows   = 1000       // of storage
)

// Windows returns what devices have measured, by windows of time. Over all parts, each window comes once, of devices
// that are selected throughout.
func (fr *FleetRows) Windows(ctx context.Context, q FleetQuery) (Export, error) {
	var err error
	if q.Tenant, err = fr.accounts.tenantFor(ctx, q.Tenant); err != nil {
		return Export{}, err
	}
	sensors := fr.sensors.since(q.Tenant, q.From)
	if err := sensors.checkMeasured(q.Tenant, q.Sensors...); err != nil {
		return Export{}, err
	}
	where := q.Where
	if where != nil {
		if err := sensors.checkSensorsOf(q.Tenant, where); err != nil {
			return Export{}, err
		}
	}
	q.Where = nil // it is on windows, and not on newest values
	q.labels = where != nil && where.Labels()
	w := &windowed{reader: fr, q: q, where: rowCondition{decider: fr.decider, where: where},
		units: fr.accounts.Configured().units(), after: windowPlace{Span: spanOf(q.From, q.To)}}
	cursor := fr.accounts.cursorFor("windows", within(ctx), q.Asked)
	if err := cursor.find(q.After, &w.after); err != nil {
		return Export{}, err
	}
	w.ask = query.Question{Span: w.after.Span, Sensors: q.Sensors, Rows: new(atomic.Int64)}
	if where != nil && len(q.Sensors) > 0 {
		w.ask.Sensors = slices.Concat(q.Sensors, where.Sensors())
	}
	if w.ask.Window, err = fr.accounts.Configured().chosenWindow(q.Window, w.ask.Span); err != nil {
		return Export{}, err
	}
	apart := int(pageRows * time.Duration(w.ask.Window) / (24 * time.Hour))
	if w.homes, err = fr.selectedHomes(ctx, q, apart, true); err != nil {
		return Export{}, err
	}
	if err := w.fit(ctx); err != nil {
		return Export{}, err
	}
	out := &Windows{Window: w.ask.Window.String(), Bounds: boundsOf(w.ask.Span, q.Limit),
		Rows: []answers.SensorWindows{}}
	next := func(last query.Bucket) string {
		at := schema.LatestPartition{Tenant: last.Tenant, Month: last.Month}
		return cursor.mark(windowPlace{w.ask.Span, at, last.Start, last.Device})
	}
	return paging[query.Bucket, answers.SensorWindows]{records: w.records(ctx), rows: w.ask.Rows, row: w.row(ctx),
		next: next, full: w.where.over}.export(out), nil
}

// checkMeasured returns an error for a sensor that none of the tenant's devices has, and for rates.
func (c *Census) checkMeasured(tenant string, sensors ...string) error {
	for _, sensor := range sensors {
		if _, is := Rated(sensor); is {
			return queryErrorf("%s is a rate, and there are windows of sensors only: ask for the rates of a device with "+
				"/v1/devices/{id}/series", sensor)
		}
		if err := c.checkSensor(tenant, sensor); err != nil {
			return err
		}
	}
	return nil
}

// windowed reads one part of an answer of Windows.
type windowed struct {
	reader *FleetRows
	q      FleetQuery
	where  rowCondition
	ask    query.Question
	homes  []home
	units  func(model string) *query.Model
	after  windowPlace // the last window of the part before
}

// A windowPlace is a window of a device, and the span of the question. Without a device it is in front of all. The
// tenant is the one that the device had then. It has the month because the device may be gone when the part after it
// is asked for.
type windowPlace struct {
	query.Span
	schema.LatestPartition
	Start  tables.Ticks
	Device schema.DeviceID
}

// maxBegins is of how many tenants somebody looks for the first windows.
const maxBegins = 100

// fit shortens a span that is too long to the time that has windows: who asks for all of time means all that there is.
func (w *windowed) fit(ctx context.Context) error {
	wrong, tenants := w.checkSize(), map[schema.Tenant]bool{}
	for _, h := range w.homes {
		tenants[h.Tenant] = true
	}
	if wrong == nil || len(tenants) > maxBegins {
		return wrong
	}
	begins, err := everywhere(ctx, w.reader.accounts, func(ctx context.Context, a *account) (tables.Ticks, error) {
		ask := w.ask
		ask.Scope = query.Homes(homesOf(a.number, w.homes))
		return a.fleet.Outputs().RollupsBegin(ctx, ask)
	})
	if err != nil {
		return err
	}
	begins = slices.DeleteFunc(begins, func(at tables.Ticks) bool { return at == 0 }) // of accounts that are left out
	span := &w.ask.Span
	span.To = min(span.To, tables.TicksOf(time.Now().Add(24*time.Hour).Truncate(time.Second)))
	span.From = slices.Min(append(begins, span.To))
	if w.ask.Window, err = w.reader.accounts.Configured().chosenWindow(w.q.Window, *span); err != nil {
		return err
	}
	return w.checkSize()
}

func (w *windowed) checkSize() error {
	devices, runs := counted(w.homes)
	days := int64(w.ask.Span.Length()/(24*time.Hour)) + 1
	windows := int64(w.ask.Span.Length() / time.Duration(w.ask.Window))
	if int64(devices)*windows > maxWindows || int64(runs)*days > maxRanges {
		span := w.ask.Span.String()
		return queryErrorf("%d devices have too many windows of %s %s: ask for a shorter time, a longer window or fewer "+
			"devices", devices, w.ask.Window, span)
	}
	return nil
}

// records yields the rest of the day on which the part before has ended, and then the other days.
func (w *windowed) records(ctx context.Context) iter.Seq2[query.Bucket, error] {
	return func(yield func(query.Bucket, error) bool) {
		rest := w.ask
		if w.after.Device != "" {
			day := schema.DayOf(w.after.Start)
			today := w.ask
			today.Span.From, today.Span.To = max(today.Span.From, day.Start()), min(today.Span.To, (day+1).Start())
			for b, err := range w.read(ctx, today, w.homesAfter()) {
				if err == nil && b.Device == w.after.Device && b.Tenant == w.after.Tenant && b.Start <= w.after.Start {
					continue // also for where a part ends that gets no further
				}
				if !yield(b, err) {
					return
				}
			}
			rest.Span.From = (day + 1).Start()
		}
		if rest.Span.From < rest.Span.To {
			w.read(ctx, rest, w.homes)(yield)
		}
	}
}

// homesAfter returns what follows the part before on its last day.
func (w *windowed) homesAfter() (rest []home) {
	for _, h := range w.homes {
		switch h.compare(located{w.after.LatestPartition, h.account}) {
		case 0: // its devices come in the order of their IDs, whatever account they are in
			rest = append(rest, h.from(string(w.after.Device)))
		case 1:
			rest = append(rest, h)
		}
	}
	return rest
}

// read yields the windows of homes.
func (w *windowed) read(ctx context.Context, ask query.Question, homes []home) iter.Seq2[query.Bucket, error] {
	return merged(ctx, w.reader.accounts, w.compare, func(a *account) iter.Seq2[query.Bucket, error] {
		ask := ask
		ask.Scope = query.Homes(homesOf(a.number, homes))
		return a.fleet.Outputs().Rollups(ctx, ask)
	})
}

// row returns what makes rows of windows, one device after the other.
func (w *windowed) row(ctx context.Context) func(query.Bucket) (answers.SensorWindows, bool, error) {
	var before query.Bucket
	selected, labels, units := false, map[string]string(nil), (*query.Model)(nil)
	return func(b query.Bucket) (row answers.SensorWindows, wanted bool, err error) {
		if b.Device != before.Device || b.Tenant != before.Tenant {
			before = b
			labels, selected = w.selects(b.Tenant, string(b.Device))
			units = w.units(w.reader.accounts.index.modelOf(string(b.Device)))
		}
		if !selected {
			return row, false, nil
		}
		if wanted, err = w.holds(ctx, &b, labels); wanted {
			b.Model = units
			row = answers.WindowsOf(b)
		}
		return row, wanted, err
	}
}

// compare orders buckets as each account has them: day by day, within a day by tenant, month and device.
func (w *windowed) compare(a, b query.Bucket) int {
	return cmp.Or(cmp.Compare(schema.DayOf(a.Start), schema.DayOf(b.Start)), cmp.Compare(a.Tenant, b.Tenant),
		a.Month.Compare(b.Month), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Start, b.Start))
}

// holds reports whether the condition holds for a bucket and it has any of the sensors. It leaves out the others.
func (w *windowed) holds(ctx context.Context, b *query.Bucket, labels map[string]string) (bool, error) {
	if w.where.where == nil {
		return true, nil
	}
	if holds, err := w.where.holds(ctx, b.Row(labels)); !holds || err != nil {
		return false, err
	}
	if len(w.q.Sensors) > 0 {
		b.Sensors = slices.DeleteFunc(b.Sensors, func(a query.Aggregate) bool {
			return !slices.Contains(w.q.Sensors, a.Sensor)
		})
	}
	return len(b.Sensors) > 0, nil
}

// selects reports whether a device of a tenant was selected, because runs have a few others, and returns its labels if
// the condition needs them.
func (w *windowed) selects(tenant schema.Tenant, id string) (labels map[string]string, is bool) {
	at, _ := w.reader.accounts.index.home(id)
	at.Tenant = tenant
	i, found := slices.BinarySearchFunc(w.homes, at, home.compare)
	if !found || !w.homes[i].has(id) {
		return nil, false
	}
	if was, left := w.homes[i].were[id]; left {
		return was.Labels, true
	}
	if w.q.labels {
		w.reader.accounts.index.look(id, func(d *device) { labels = labelsOf(d.labels) })
	}
	return labels, true
}
