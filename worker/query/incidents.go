package query

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"
)

// States of an incident.
const (
	IncidentOpen         = "open"
	IncidentAcknowledged = "acknowledged"
	IncidentClosed       = "closed"
)

// An Incident is a rule that held for a device, from open to closed.
type Incident struct {
	schema.Transition                     // the last opening
	Closed            *schema.Transition  // nil while it is open
	Transitions       []schema.Transition // all of them, the oldest first
	Notes             []schema.Note
	Deliveries        []schema.DeliveryRecord
	Muted             bool
}

// State returns open, acknowledged or closed.
func (i Incident) State() string {
	switch {
	case i.Closed != nil:
		return IncidentClosed
	case i.Acknowledged, slices.ContainsFunc(i.Notes, func(n schema.Note) bool {
		return n.What == schema.Acknowledged && n.Number == i.Number
	}):
		return IncidentAcknowledged
	}
	return IncidentOpen
}

// An IncidentSelector selects incidents that match every field that is set.
type IncidentSelector struct {
	Tenant   schema.Tenant
	Device   schema.DeviceID
	Rule     schema.Rule
	Severity string
	States   []string // any of them
	Span     Span     // of the first opening; incidents that are open now may be older
	After    *schema.IncidentID
	Limit    int
}

// rows returns the row keys of the incidents.
func (s IncidentSelector) rows() tables.Keys {
	rows := schema.IncidentRows(s.Span.From, s.Span.To)
	if s.After != nil {
		rows.From = max(rows.From, s.After.Rows().Before)
	}
	return rows
}

func (s IncidentSelector) selects(i Incident) bool {
	return (s.Device == "" || i.ID.Device == s.Device) && (s.Rule == "" || i.ID.Rule == s.Rule) &&
		(s.Severity == "" || i.Severity == s.Severity) && (len(s.States) == 0 || slices.Contains(s.States, i.State()))
}

func (f Incidents) table() *tables.Table { return f.Tables.Table(f.Names.Output(rules.Table)) }

// List yields incidents, the newest first; if several tenants are selected, tenant by tenant.
func (f Incidents) List(ctx context.Context, s IncidentSelector) iter.Seq2[Incident, error] {
	if s.Span == (Span{}) {
		s.Span = Span{0, tables.MaxTicks}
	}
	return Limited(func(yield func(Incident, error) bool) {
		for t, err := range f.tenants(ctx, s) {
			var muted func(Incident) bool
			if err == nil {
				muted, err = f.muted(ctx, t)
			}
			if err != nil {
				yield(Incident{}, err)
				return
			}
			if !yieldAll(selected(f.ofTenant(ctx, t, s), func(i *Incident) (bool, error) {
				i.Muted = muted(*i)
				return s.selects(*i), nil
			}), yield) {
				return
			}
		}
	}, s.Limit)
}

// tenants yields those whose incidents may be selected. A device may have belonged to several.
func (f Incidents) tenants(ctx context.Context, s IncidentSelector) iter.Seq2[schema.Tenant, error] {
	if s.Tenant == "" && s.Device == "" {
		return Devices(f).Tenants(ctx)
	}
	return func(yield func(schema.Tenant, error) bool) {
		if s.Device != "" {
			d, found, err := Devices(f).Record(ctx, s.Device)
			if err == nil && !found {
				err = Devices(f).unknown(ctx, string(s.Device))
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, t := range d.Tenants() {
				if (s.Tenant == "" || s.Tenant == t) && !yield(t, nil) {
					return
				}
			}
			return
		}
		yield(s.Tenant, nil)
	}
}

// ofTenant yields the incidents of a tenant. Open ones are read by their index.
func (f Incidents) ofTenant(ctx context.Context, t schema.Tenant, s IncidentSelector) iter.Seq2[Incident, error] {
	if len(s.States) > 0 && !slices.Contains(s.States, IncidentClosed) {
		return f.openOfTenant(ctx, t, s)
	}
	return func(yield func(Incident, error) bool) {
		var months []iter.Seq2[Incident, error]
		for pk, err := range partitions(ctx, f.table(), schema.IncidentsOfTenant(t)) {
			if err != nil {
				yield(Incident{}, err)
				return
			}
			months = append(months, f.in(ctx, pk, s.rows(), s.Device))
		}
		Merge(func(a, b Incident) int { return cmp.Compare(a.ID.Key(), b.ID.Key()) }, months...)(yield)
	}
}

// in yields the incidents of a partition, or of one device in it.
func (f Incidents) in(
	ctx context.Context, partition string, rows tables.Keys, only schema.DeviceID,
) iter.Seq2[Incident, error] {
	return grouped(f.table(), f.rows(ctx, partition, rows, only))
}

// rows yields the rows of a partition, or those of one device in it.
func (f Incidents) rows(
	ctx context.Context, partition string, rows tables.Keys, only schema.DeviceID,
) iter.Seq2[tables.Entity, error] {
	q := tables.Query{Range: tables.Range{Partitions: tables.Is(partition), Rows: rows}}
	if only != "" {
		q.Filter = "Device eq '" + string(only) + "'"
	}
	return f.table().Entities(ctx, q)
}

// OfDevice yields the incidents of a device that opened first in a span, the newest first. Storage looks for
// them among those of all devices of the tenant that were deployed in the same month.
func (f Incidents) OfDevice(ctx context.Context, m schema.Member, in Span) iter.Seq2[Incident, error] {
	home := schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}
	return f.in(ctx, home.String(), schema.IncidentRows(in.From, in.To), m.Device)
}

// grouped joins the rows of incidents.
func grouped(t *tables.Table, rows iter.Seq2[tables.Entity, error]) iter.Seq2[Incident, error] {
	return func(yield func(Incident, error) bool) {
		var own []tables.Entity
		var last schema.IncidentID
		flush := func() bool {
			i, found, err := incidentOf(t, own)
			own = own[:0]
			return !found && err == nil || yield(i, err)
		}
		for e, err := range rows {
			if err != nil {
				yield(Incident{}, err)
				return
			}
			id, _, err := schema.IncidentRowKind(e.RowKey)
			if err != nil {
				if !yield(Incident{}, &schema.UnreadableError{
					Table: t.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err}) {
					return
				}
				continue
			}
			if id != last && len(own) > 0 && !flush() {
				return
			}
			own, last = append(own, e), id
		}
		if len(own) > 0 {
			flush()
		}
	}
}

// incidentOf assembles an incident from its rows. It finds none if no row is a transition.
func incidentOf(t *tables.Table, rows []tables.Entity) (i Incident, found bool, err error) {
	for _, e := range rows {
		_, kind, err := schema.IncidentRowKind(e.RowKey)
		switch {
		case err != nil:
		case kind == 't':
			i.Transitions, err = added(i.Transitions, e, schema.TransitionOf)
		case kind == 'p':
			i.Notes, err = added(i.Notes, e, schema.NoteOf)
		case kind == 'd':
			i.Deliveries, err = added(i.Deliveries, e, schema.DeliveryRecordOf)
		}
		if err != nil {
			return i, true, &schema.UnreadableError{
				Table: t.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err}
		}
	}
	if len(i.Transitions) == 0 {
		return i, false, nil
	}
	for n := range i.Transitions {
		if one := i.Transitions[n]; one.Opens() {
			i.Transition, i.Closed = one, nil
		} else {
			if i.Number == 0 { // the opening is not written yet
				i.Transition = one
			}
			i.Closed = &i.Transitions[n]
		}
	}
	return i, true, nil
}

// added adds what a row says.
func added[R any](all []R, e tables.Entity, of func(tables.Entity) (R, error)) ([]R, error) {
	r, err := of(e)
	if err != nil {
		return all, err
	}
	return append(all, r), nil
}

// incidentAt reads one incident.
func (f Incidents) incidentAt(
	ctx context.Context, home schema.LatestPartition, id schema.IncidentID,
) (Incident, error) {
	for i, err := range f.in(ctx, home.String(), id.Rows(), "") {
		return i, err
	}
	return Incident{}, fmt.Errorf("%w %s", ErrNoIncident, id)
}

// ErrNoIncident says that there is no such incident.
var ErrNoIncident = errors.New("there is no incident")

// Named reads an incident by its ID.
func (f Incidents) Named(ctx context.Context, id schema.IncidentID) (Incident, error) {
	d, found, err := Devices(f).Record(ctx, id.Device)
	if err != nil {
		return Incident{}, err
	}
	if !found {
		return Incident{}, fmt.Errorf("%w %s: the device %s is unknown", ErrNoIncident, id, id.Device)
	}
	i := Incident{}
	for _, t := range d.Tenants() {
		d.Tenant = t
		if i, err = f.OfMember(ctx, d.Member(), id); !errors.Is(err, ErrNoIncident) {
			break
		}
	}
	return i, err
}

// OfMember reads an incident of a device by its ID.
func (f Incidents) OfMember(ctx context.Context, m schema.Member, id schema.IncidentID) (Incident, error) {
	i, err := f.incidentAt(ctx, schema.LatestPartition{Tenant: m.Tenant, Month: m.Month}, id)
	if errors.Is(err, ErrNoIncident) {
		i, err = f.incidentElsewhere(ctx, m.Tenant, id)
	}
	if err != nil {
		return i, err
	}
	muted, err := f.muted(ctx, m.Tenant)
	i.Muted = muted(i)
	return i, err
}

// incidentElsewhere reads an incident of a device that was registered in another month then. It goes from one month of
// the tenant to the next.
func (f Incidents) incidentElsewhere(
	ctx context.Context, tenant schema.Tenant, id schema.IncidentID,
) (Incident, error) {
	for home, err := range parsed(ctx, f.table(), schema.IncidentsOfTenant(tenant), schema.ParseLatestPartition) {
		if err != nil {
			return Incident{}, err
		}
		if i, err := f.incidentAt(ctx, home, id); !errors.Is(err, ErrNoIncident) {
			return i, err
		}
	}
	return Incident{}, fmt.Errorf("%w %s", ErrNoIncident, id)
}

// AddNote writes a note beside an incident. The index of open incidents also learns of an acknowledgement.
func (f Incidents) AddNote(ctx context.Context, i Incident, n schema.Note) error {
	e, err := n.Entity(i.Home, i.ID)
	if err != nil {
		return err
	}
	if _, err = f.table().Do(ctx, tables.InsertOrReplace(e)); err == nil && n.What == schema.Acknowledged {
		err = f.indexAcknowledged(ctx, i.Transition)
	}
	return err
}
