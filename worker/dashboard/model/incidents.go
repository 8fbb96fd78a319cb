package model

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// An IncidentQuery asks for incidents. An empty field does not filter. Tenant, site and labels are those that the
// device had when the incident opened; its model and the values for Where are those of now.
type IncidentQuery struct {
	Filter              // its State is not looked at
	Rule     string     `query:"rule"`
	Device   string     `query:"device"`
	Severity string     `query:"severity"`
	States   []string   `query:"state,incidents"` // any of them; none: open and acknowledged
	From, To *time.Time // of the first opening; nil: any
	Part

	of func(schema.DeviceID) bool // selects devices; see choose
}

// IncidentAnswers have open incidents, which the poller has in memory, and closed ones, which are read from storage.
type IncidentAnswers struct {
	accounts *Accounts
	owners   *Owners
	decider  *decider
	open     *openSet
	counted  cache[[]query.Incident] // of a tenant's day
	ofDevice cache[[]query.Incident]
	watched  *memo[[]int] // devices of rules, by tenant
}

// IncidentStates returns the states of incidents.
func IncidentStates() []string {
	return []string{query.IncidentOpen, query.IncidentAcknowledged, query.IncidentClosed}
}

// closed reports whether the answer has closed incidents, too.
func (q *IncidentQuery) closed() bool { return slices.Contains(q.States, query.IncidentClosed) }

func (q *IncidentQuery) selects(i *query.Incident) bool {
	states := q.States
	if len(states) == 0 {
		states = IncidentStates()[:2]
	}
	return isLabeled(i.Labels, q.Label) && (q.Tenant == "" || string(i.Home.Tenant) == q.Tenant) &&
		(q.Site == "" || string(i.Site) == q.Site) &&
		(q.Rule == "" || string(i.ID.Rule) == q.Rule) && (q.Device == "" || string(i.ID.Device) == q.Device) &&
		(q.Severity == "" || i.Severity == q.Severity) && slices.Contains(states, i.State()) && q.of(i.ID.Device) &&
		(q.From == nil || i.ID.First >= tables.TicksOf(*q.From)) && (q.To == nil || i.ID.First < tables.TicksOf(*q.To))
}

// choose finds out which devices a question is about, by what only devices have.
func (is *IncidentAnswers) choose(ctx context.Context, q *IncidentQuery) (err error) {
	if q.Tenant, err = is.accounts.tenantFor(ctx, q.Tenant); err != nil {
		return err
	}
	f := Filter{Tenant: q.Tenant, Model: q.Model, Where: q.Where, Text: q.Text}
	if f.Model == "" && f.Where == nil { // those that have left the fleet have an ID, too
		text := strings.ToLower(f.Text)
		q.of = func(id schema.DeviceID) bool { return strings.Contains(strings.ToLower(string(id)), text) }
		return nil
	}
	if f, err = is.decider.ready(ctx, f); err != nil {
		return err
	}
	x := is.accounts.index
	chosen := x.selected(f, is.accounts.now())
	q.of = func(id schema.DeviceID) bool { return x.includes(chosen, string(id)) }
	return nil
}

// maxIncidentReads is how many storage operations a part of an answer takes at most before it ends with a cursor.
const maxIncidentReads = 100

// List returns incidents, the newest first. Those that are not closed take no storage operations of their own.
// Closed ones are read from storage, one tenant after the other.
func (is *IncidentAnswers) List(ctx context.Context, q IncidentQuery) (Export, error) {
	if err := is.choose(ctx, &q); err != nil {
		return Export{}, err
	}
	cursor := is.accounts.cursorFor("incidents", within(ctx), q.Asked)
	after, err := cursor.place(q.After)
	if err != nil {
		return Export{}, err
	}
	out := &Incidents{Bounds: Bounds{Limit: q.Limit}, Rows: []answers.Incident{}}
	out.From, out.To = q.From, q.To
	all := is.openOnes(&q, after, &out.Extent)
	if q.closed() {
		all = is.storedOnes(ctx, &q, after, &out.Extent)
	}
	return paging[query.Incident, answers.Incident]{records: all,
		row: func(i query.Incident) (row answers.Incident, wanted bool, err error) {
			if wanted = q.selects(&i); wanted {
				row = answers.IncidentOf(&i)
			}
			return row, wanted, nil
		},
		next: func(last query.Incident) string { return cursor.text(placeOf(&last)) }}.export(out), nil
}

// ListPart returns a part of an answer as a whole.
func (is *IncidentAnswers) ListPart(ctx context.Context, q IncidentQuery) (Incidents, error) {
	answer, err := is.List(ctx, q)
	if err != nil {
		return Incidents{}, err
	}
	rows := []answers.Incident{}
	for row, err := range answer.Rows {
		if err != nil {
			return Incidents{}, err
		}
		rows = append(rows, row.(answers.Incident))
	}
	return Incidents{*answer.Answer.Limits(), rows, *answer.Answer.Reach()}, nil
}

// placeOf is where an incident is among those of an answer: by tenant, and then the newest first.
func placeOf(i *query.Incident) string { return i.Home.Tenant.Key() + schema.Separator + i.ID.Key() }

// parsePlace parses the result of placeOf.
func parsePlace(place string) (t schema.Tenant, key string) {
	tenant, key, _ := strings.Cut(place, schema.Separator)
	t, _ = schema.ParseTenantKey(tenant) // a cursor has a checksum
	return t, key
}

// openOnes yields incidents from memory.
func (is *IncidentAnswers) openOnes(q *IncidentQuery, after string, out *Extent) iter.Seq2[query.Incident, error] {
	_, key := parsePlace(after)
	all, _ := is.open.ofTenant(q.Tenant)
	return func(yield func(query.Incident, error) bool) {
		for _, i := range all {
			if i.ID.Key() <= key && after != "" {
				continue
			}
			if out.RowsRead++; !yield(i, nil) {
				return
			}
		}
	}
}

// storedOnes yields incidents from storage, and query.ErrMore when it may not read more.
func (is *IncidentAnswers) storedOnes(
	ctx context.Context, q *IncidentQuery, after string, out *Extent,
) iter.Seq2[query.Incident, error] {
	tenant, key := parsePlace(after)
	ask := query.IncidentSelector{Device: schema.DeviceID(q.Device), Span: query.Span{To: tables.MaxTicks}}
	if q.From != nil && q.To != nil {
		ask.Span = spanOf(*q.From, *q.To)
	}
	return func(yield func(query.Incident, error) bool) {
		before := ReadOf(ctx).Operations()
		for _, t := range is.tenantsOf(q) {
			if after != "" && t.Key() < tenant.Key() {
				continue
			}
			ask.Tenant, ask.After = t, nil
			if after != "" && t == tenant {
				ask.After = idOfKey(key)
			}
			for i, err := range is.stored(ctx, ask) {
				if out.RowsRead++; !yield(i, err) || err != nil && !query.GoesOn(err) {
					return
				}
				if err == nil && ReadOf(ctx).Operations()-before > maxIncidentReads {
					yield(query.Incident{}, query.ErrMore)
					return
				}
			}
		}
	}
}

// stored yields the incidents of a tenant, or those of a device, the newest first.
func (is *IncidentAnswers) stored(ctx context.Context, ask query.IncidentSelector) iter.Seq2[query.Incident, error] {
	if ask.Device != "" {
		return is.accounts.fleetOf(ask.Device).Incidents().List(ctx, ask)
	}
	newest := func(a, b query.Incident) int { return strings.Compare(a.ID.Key(), b.ID.Key()) }
	return query.Limited(merged(ctx, is.accounts, newest, func(a *account) iter.Seq2[query.Incident, error] {
		return a.fleet.Incidents().List(ctx, ask)
	}), ask.Limit)
}

// idOfKey parses the key of an incident.
func idOfKey(key string) *schema.IncidentID {
	id, _, err := schema.IncidentRowKind(key + "t")
	if err != nil {
		return nil
	}
	return &id
}

// tenantsOf returns the tenants that a question is about, in the order of their keys. It takes no operations.
func (is *IncidentAnswers) tenantsOf(q *IncidentQuery) (all []schema.Tenant) {
	x := is.accounts.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	at, known := x.at[q.Device] // incidents stay with the tenants that it has left
	for i, name := range x.tenants.all {
		has := known && (x.devices[at].tenant == uint32(i) || slices.Contains(x.former[q.Device], uint32(i)))
		if (has || q.Device == "") && (q.Tenant == "" || name == q.Tenant) {
			all = append(all, schema.Tenant(name))
		}
	}
	slices.SortFunc(all, func(a, b schema.Tenant) int { return strings.Compare(a.Key(), b.Key()) })
	return all
}
