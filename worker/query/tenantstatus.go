package query

import (
	"cmp"
	"context"
	"slices"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A TenantStatus counts the devices of a tenant that a pipeline has folded.
type TenantStatus struct {
	Tenant        schema.Tenant `json:"tenant"`
	Devices       int64         `json:"devices"`
	Behind        int64         `json:"behind"`
	Waiting       int64         `json:"waiting"`       // devices behind that wait for others of the tenant to catch up
	BehindSeconds float64       `json:"behindSeconds"` // age of the oldest checkpoint of the devices behind
	Failing       int64         `json:"failing"`
	Held          int64         `json:"held"`
	Refolds       int64         `json:"refolds"`
	Rows          int64         `json:"rows"`
	Rejects       int64         `json:"rejects"`
	Late          int64         `json:"late"`
}

// TenantStatuses returns the status of each tenant by name. It reads the pipeline's rows of all devices, a thousand in
// each request.
func (f Progress) TenantStatuses(ctx context.Context, p schema.Pipeline, skipped *Skipped) ([]TenantStatus, error) {
	all := map[schema.Tenant]*TenantStatus{}
	t := f.Tables.Table(f.Names.Partitions(p))
	q := tables.Query{Range: tables.Range{Rows: schema.DeviceTracks()}, Select: schema.TrackProperties()}
	for page, err := range t.Rows(ctx, q) {
		if tables.Absent(err) {
			break
		}
		if err != nil {
			return nil, err
		}
		for _, e := range page.Rows {
			track, err := schema.TrackOf(e)
			if err != nil {
				skipped.Add(&schema.UnreadableError{
					Table: t.Name, PartitionKey: e.PartitionKey, RowKey: e.RowKey, Err: err})
				continue
			}
			of := track.Place.Key.Tenant()
			if all[of] == nil {
				all[of] = &TenantStatus{Tenant: of}
			}
			all[of].add(track, page.Time)
		}
	}
	var out []TenantStatus
	for _, s := range all {
		out = append(out, *s)
	}
	slices.SortFunc(out, func(a, b TenantStatus) int { return cmp.Compare(a.Tenant, b.Tenant) })
	return out, nil
}

// add counts a device.
func (s *TenantStatus) add(t schema.Track, now time.Time) {
	s.Devices++
	s.Rows += t.Rows
	s.Late += t.Late
	s.Rejects += t.Rejects
	if t.Failing() {
		s.Failing++
	}
	if t.HeldAt(tables.TicksOf(now)) {
		s.Held++
	}
	if t.Refolding {
		s.Refolds++
	}
	if t.Waiting {
		s.Waiting++
	}
	if t.Waiting || t.BehindAt(tables.TicksOf(now)) {
		s.Behind++
		if t.Checkpoint != "" {
			s.BehindSeconds = max(s.BehindSeconds, now.Sub(tables.TicksBefore(t.Checkpoint).Time()).Seconds())
		}
	}
}
