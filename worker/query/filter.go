package query

import (
	"cmp"
	"context"
	"slices"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Filter selects devices by what is known about them, and records by a condition. The zero Filter selects all.
type Filter struct {
	Site   schema.Site       // empty: any
	Labels map[string]string // a device must have all of them
	Model  string            // name of the device's model, as Models has it; empty: any
	// Where must hold for each record, see Newest.Row, Bucket.Row and Model.Row. It may be nil.
	Where *condition.Condition
}

// Models has the models of a configuration.
type Models struct {
	All []*Model
	Of  func(schema.Member) *Model // one of them
}

// A Model is what a reader knows about the rows of a kind of device.
type Model struct {
	Name    string // empty: of devices of no other
	Sensors *fold.Sensors
	Unit    func(sensor string) string // nil: no sensor has a unit
}

// UnitOf returns the unit of a sensor, if there is one. m may be nil.
func (m *Model) UnitOf(sensor string) string {
	if m == nil || m.Unit == nil {
		return ""
	}
	return m.Unit(sensor)
}

// UnitAsSent returns the unit of a property's values where the model takes them as they are. m may be nil.
func (m *Model) UnitAsSent(property string) string {
	if m == nil || m.Unit == nil {
		return ""
	}
	means := m.Sensors.Meaning(property)
	if means.Is == fold.Ignored || means.Is == fold.State || means.Offset != 0 || means.Scale != 0 && means.Scale != 1 {
		return ""
	}
	return m.Unit(means.As)
}

// renames reports whether sensors may have other names than the properties with their values. m may be nil.
func (m *Model) renames() bool {
	if m == nil || m.Sensors == nil {
		return false
	}
	for property, means := range m.Sensors.Named {
		if means.As != "" && means.As != property {
			return true
		}
	}
	return len(m.Sensors.Patterns) > 0 || m.Sensors.Long != (fold.Long{})
}

// modelOf returns the model of a device; nil where none is known. m may be nil.
func (m *Models) modelOf(d schema.Member) *Model {
	if m == nil {
		return nil
	}
	return m.Of(d)
}

// SelectsMember reports whether a device passes the filter, apart from Where.
func (q Question) SelectsMember(d schema.Member) bool {
	if q.Filter.Site != "" && d.Site != q.Filter.Site {
		return false
	}
	for name, want := range q.Filter.Labels {
		if has, ok := d.Labels[name]; !ok || has != want {
			return false
		}
	}
	if q.Filter.Model == "" {
		return true
	}
	m := q.Models.modelOf(d)
	return m != nil && m.Name == q.Filter.Model
}

// byMember reports whether the filter depends on memberships, apart from Where.
func (f Filter) byMember() bool { return f.Site != "" || len(f.Labels) > 0 || f.Model != "" }

// byLabels reports whether the condition depends on labels.
func (f Filter) byLabels() bool { return f.Where != nil && f.Where.Labels() }

// needsMembers reports whether outputs have to be matched with memberships: for the filter, or because models differ in
// their units.
func (q Question) needsMembers() bool {
	hasUnit := func(m *Model) bool { return m.Unit != nil }
	return q.Filter.byMember() || q.Filter.byLabels() ||
		q.Models != nil && len(q.Models.All) > 1 && slices.ContainsFunc(q.Models.All, hasUnit)
}

// searching reports whether most of what is read may be left out.
func (q Question) searching() bool { return q.Filter.byMember() || q.Filter.Where != nil }

// decoding returns the question with the sensors that the condition names, too.
func (q Question) decoding() Question {
	if w := q.Filter.Where; w != nil && len(q.Sensors) > 0 {
		for _, name := range w.Sensors() {
			if !slices.Contains(q.Sensors, name) {
				q.Sensors = append(slices.Clip(q.Sensors), name)
			}
		}
	}
	return q
}

// wants reports whether the question asks for a sensor.
func (q Question) wants(sensor string) bool {
	return len(q.Sensors) == 0 || slices.Contains(q.Sensors, sensor)
}

// A selection decides which outputs of one tenant and month a question asks for.
type selection struct {
	q       Question
	members *memberPages // nil: memberships do not matter
	only    *Model       // without members: the model of all devices; may be nil
}

func (f Devices) selection(q Question, p schema.LatestPartition) *selection {
	s := &selection{q: q}
	if d := q.Scope.device; d != nil {
		s.members = &memberPages{known: d}
	} else if q.needsMembers() {
		s.members = &memberPages{devices: f, at: p, site: q.Filter.Site, before: q.Scope.ids.Before}
	} else if q.Models != nil && len(q.Models.All) == 1 {
		s.only = q.Models.All[0]
	}
	return s
}

// selects reports whether an output of a device is asked for, and returns the device's model. What the condition asks
// of sensors alone is tried first, because finding a membership takes a request now and then.
func (s *selection) selects(
	ctx context.Context, d schema.DeviceID, row func(labels map[string]string) condition.Row,
) (*Model, bool, error) {
	where := s.q.Filter.Where
	if where != nil && !where.MayHold(row(nil)) {
		return nil, false, nil
	}
	if s.members == nil { // the condition knows no labels, so it holds
		return s.only, true, nil
	}
	m, found, err := s.members.memberOf(ctx, d)
	if err != nil || s.q.Filter.byMember() && (!found || !s.q.SelectsMember(m)) {
		return nil, false, err
	}
	if where != nil && !where.Holds(row(m.Labels)) {
		return nil, false, nil
	}
	if !found {
		return nil, true, nil
	}
	return s.q.Models.modelOf(m), true, nil
}

// memberPages finds the memberships of devices of one tenant and month, which are asked for in the order of their IDs.
// It reads a page of them at a time, from the device that is asked for, so that it takes at most a request for each
// device, and no more than reading all of them.
type memberPages struct {
	devices Devices
	at      schema.LatestPartition
	site    schema.Site // no others are read; empty: all
	// No devices from this text on are read; empty: all.
	before string
	known  *schema.Member

	page []memberRow
	to   schema.DeviceID // the page has everything from its first device to this one
	end  bool            // and everything after it
}

type memberRow struct {
	schema.Member
	err error // it cannot be read
}

func (p *memberPages) memberOf(ctx context.Context, d schema.DeviceID) (schema.Member, bool, error) {
	if p.known != nil {
		return *p.known, true, nil
	}
	if d > p.to && !p.end {
		if err := p.read(ctx, d); err != nil {
			return schema.Member{}, false, err
		}
	}
	i, found := slices.BinarySearchFunc(p.page, d, func(m memberRow, d schema.DeviceID) int {
		return cmp.Compare(m.Device, d)
	})
	if !found {
		return schema.Member{}, false, nil
	}
	return p.page[i].Member, true, p.page[i].err
}

// read reads the page that begins with a device.
func (p *memberPages) read(ctx context.Context, from schema.DeviceID) error {
	keys := schema.MembersOf(p.at.Tenant)
	keys.From = string(schema.Member{Tenant: p.at.Tenant, Device: from}.Key())
	if p.before != "" {
		keys.Before = string(schema.Member{Tenant: p.at.Tenant, Device: schema.DeviceID(p.before)}.Key())
	}
	query := tables.Query{Range: tables.Range{Partitions: tables.Is(p.at.Month.String()), Rows: keys}}
	if p.site != "" {
		query.Filter = schema.MembersAt(p.site)
	}
	p.page, p.end = p.page[:0], true
	for page, err := range p.devices.fleet().Rows(ctx, query) {
		if tables.Absent(err) {
			break
		}
		if err != nil {
			return err
		}
		for _, e := range page.Rows {
			m, err := schema.MemberOf(e)
			if err != nil {
				err = &schema.UnreadableError{
					Table: p.devices.fleet().Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err}
			}
			p.page, p.to = append(p.page, memberRow{m, err}), m.Device
		}
		if len(p.page) > 0 && page.Next != (tables.Continuation{}) {
			p.end = false
			break
		}
	}
	return nil
}
