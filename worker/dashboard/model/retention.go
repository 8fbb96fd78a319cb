package model

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// Retention is the answer of /v1/retention: what is kept for how long, and what stays longer.
type Retention struct {
	// The first entry that a device matches holds for it. Empty: no pipeline that this dashboard shows deletes
	// anything.
	Kept    []Kept           `json:"kept"`
	Devices int              `json:"devices"` // that retention has looked at
	More    bool             `json:"more"`    // there are more devices than were looked at for this answer
	Waiting []WaitingDevices `json:"waiting"` // those of most devices first

	// Devices nobody knows about: their rows cannot be read. Absent for none.
	Unreadable int64 `json:"unreadable,omitempty"`
}

// A Kept is an entry of the configuration. Match and Where may name what other tenants have, so somebody who sees one
// tenant gets neither, unless the entry is for that tenant as a whole.
type Kept struct {
	Some bool `json:"some"` // the entry holds for some devices, or for some of their readings
	// As in the configuration, without the tenant that was asked for. Absent: all devices, or, for somebody who may
	// see one tenant, not told.
	Match map[string][]string `json:"match,omitempty"`
	// The condition for which readings go. Absent: all do, or not told.
	Where  string      `json:"where,omitempty"`
	Tables []KeptTable `json:"tables"` // what is not named is kept for ever
}

// A KeptTable is a table whose old rows go.
type KeptTable struct {
	Table  string    `json:"table"`
	Window string    `json:"window,omitempty"` // of the rows
	Kept   string    `json:"kept"`             // such as 30d
	Below  time.Time `json:"below"`            // rows of earlier times go with the next run, or are gone
}

// WaitingDevices have readings that are old enough to go, and stay for one cause.
type WaitingDevices struct {
	Cause   string `json:"cause"`
	Why     string `json:"why"` // the cause in words
	Devices int    `json:"devices"`
	// the oldest of these readings are of this time or later. null: nobody knows
	From   *time.Time `json:"from"`
	Device string     `json:"device"` // one with the oldest of these readings
	Tenant string     `json:"tenant"` // of that device
	// Why retention failed with that device. Absent for other causes, and for somebody who may see one tenant.
	Reason string `json:"reason,omitempty"`
}

const (
	// retentionAge is how long an answer is used.
	retentionAge = 5 * time.Minute
	// retentionPages limits the pages that are read for an answer: a thousand devices each.
	retentionPages = 100
)

// Retentions are what is kept of tenants, and what stays longer.
type Retentions struct {
	accounts *Accounts
	kept     cache[retained]
}

// OfTenant returns what is kept of a tenant's devices, or of all for "", as far as ctx may see them.
func (rs *Retentions) OfTenant(ctx context.Context, tenant string) (Retention, error) {
	var err error
	if tenant, err = rs.accounts.tenantFor(ctx, tenant); err != nil {
		return Retention{}, err
	}
	out := Retention{Kept: []Kept{}, Waiting: []WaitingDevices{}}
	now := tables.TicksOf(time.Now())
	for _, a := range rs.accounts.all {
		if p, retains := a.retains(); retains {
			for _, k := range keptOf(p.Keep, tenant, within(ctx) == "", now) {
				same := func(other Kept) bool { return reflect.DeepEqual(k, other) }
				if !slices.ContainsFunc(out.Kept, same) {
					out.Kept = append(out.Kept, k)
				}
			}
		}
	}
	if !rs.accounts.Configured().HasRetention() {
		return out, nil
	}
	found, err := rs.kept.get(ctx, tenant, retentionAge, func(ctx context.Context) (retained, error) {
		return rs.read(ctx, schema.Tenant(tenant))
	})
	out.Devices, out.More, out.Unreadable = found.Devices, found.More, found.skipped.N
	for _, w := range found.Waiting {
		one := WaitingDevices{Cause: string(w.Cause), Why: w.Cause.Says(), Devices: w.Devices, Device: string(w.Device),
			Tenant: string(w.Tenant)}
		if w.From != 0 {
			one.From = new(w.From.Time())
		}
		if within(ctx) == "" {
			one.Reason = w.Reason
		}
		out.Waiting = append(out.Waiting, one)
	}
	return out, err
}

// retains returns the pipeline that deletes, if there is one.
func (a *account) retains() (Pipeline, bool) {
	all := a.configured()
	i := slices.IndexFunc(all, func(p Pipeline) bool { return len(p.Keep) > 0 })
	if i < 0 {
		return Pipeline{}, false
	}
	return all[i], true
}

// read adds up how far retention has got in each account.
func (rs *Retentions) read(ctx context.Context, tenant schema.Tenant) (sum retained, err error) {
	all, err := everywhere(ctx, rs.accounts, func(ctx context.Context, a *account) (r retained, err error) {
		if p, retains := a.retains(); retains {
			r.RetentionStatus, err = a.fleet.Progress().Retention(ctx, p.Name, tenant, retentionPages, &r.skipped)
		}
		return r, err
	})
	for _, r := range all {
		sum.skipped.N += r.skipped.N
		sum.Join(r.RetentionStatus)
	}
	return sum, err
}

// Name says for which devices the entry is.
func (k Kept) Name() string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(k.Match)) {
		parts = append(parts, strings.TrimPrefix(name, "labels.")+" "+strings.Join(k.Match[name], " or "))
	}
	switch {
	case len(parts) > 0:
		return strings.Join(parts, ", ")
	case k.Some && k.Where == "":
		return "some devices"
	}
	return "all devices"
}

// retained is what was read for an answer.
type retained struct {
	query.RetentionStatus
	skipped query.Skipped
}

// keptOf returns the entries that can hold for devices of a tenant, or all for "".
func keptOf(all []retain.Keep, tenant string, whole bool, now tables.Ticks) (kept []Kept) {
	for i := range all {
		k := &all[i]
		if tenant != "" && len(k.Match.Tenant) > 0 && !slices.Contains(k.Match.Tenant, tenant) {
			continue
		}
		match := matchOf(k, tenant)
		one := Kept{Some: len(match) > 0 || k.Where != nil, Tables: []KeptTable{}}
		if whole || k.ByTenant() {
			one.Match = match
			if k.Where != nil {
				one.Where = k.Where.String()
			}
		}
		for _, t := range tablesOf(k) {
			if t.Kept == 0 {
				continue
			}
			shown := KeptTable{Table: t.Table, Kept: schema.FormatDuration(t.Kept), Below: t.Below(now).Time()}
			if t.Window != 0 {
				shown.Window = t.Window.String()
			}
			one.Tables = append(one.Tables, shown)
		}
		kept = append(kept, one)
		if len(match) == 0 {
			break // the others never hold
		}
	}
	return kept
}

// tablesOf returns what an entry says of each table.
func tablesOf(k *retain.Keep) []retain.KeptTable {
	all := append([]retain.KeptTable{{Table: retain.ReadingsTable, Kept: k.Readings}}, k.Own()...)
	if k.ByTenant() {
		all = append(all, k.Whole()...)
	}
	return all
}

// matchOf returns what an entry matches, by the names that the configuration has.
func matchOf(k *retain.Keep, tenant string) map[string][]string {
	match := map[string][]string{"enrollment": k.Match.Enrollment, "tenant": k.Match.Tenant, "site": k.Match.Site,
		"device": k.Match.Device, "model": k.Models}
	if tenant != "" {
		match["tenant"] = nil
	}
	for name, values := range k.Match.Labels {
		match["labels."+name] = values
	}
	maps.DeleteFunc(match, func(_ string, values []string) bool { return len(values) == 0 })
	return match
}
