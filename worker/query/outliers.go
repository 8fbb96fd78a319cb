package query

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/outliers"
)

// An Outlier is a device that stands out.
type Outlier struct {
	outliers.Outlier
	Tenant schema.Tenant
	Site   schema.Site
	Window schema.Window // of what is found in windows
	Unit   string        // of its sensor
}

// An OutlierQuestion says which devices are compared, and how.
type OutlierQuestion struct {
	Question                 // of a tenant: its scope, filter, models and sensors
	By       schema.By       // groups of the devices whose site has too few; empty: none
	Windows  []schema.Window // of rollups that there are
	Pipeline schema.Pipeline // whose rejects count
	Now      time.Time
	Every    func(schema.Member) time.Duration // stated interval of a device
}

// Outliers returns the devices of a tenant that stand out, and how many were compared: none where no device is asked
// for. For each thousand devices, it takes about nine requests: for memberships, newest values, six windows, and
// tracking rows; and twenty more at most.
func (f Fleet) Outliers(
	ctx context.Context, q OutlierQuestion, skipped *Skipped,
) (all []Outlier, compared int, err error) {
	members, asked := map[schema.DeviceID]schema.Member{}, false
	for m, err := range Readable(f.Devices().Members(ctx, DeviceSelector{Tenant: q.Scope.tenant}), skipped) {
		if err != nil {
			return nil, 0, err
		}
		if m.Spans.End() == 0 && !m.Revoked {
			members[m.Device], asked = m, asked || q.SelectsMember(m)
		}
	}
	if !asked {
		return nil, 0, nil
	}
	recent := RecentOf(q.Windows, q.Now)
	if recent.Window > 0 {
		ask := Question{Scope: q.Scope, Span: recent.Span, Window: recent.Window, Sensors: q.Sensors}
		if err := recent.Take(Readable(f.Outputs().Rollups(ctx, ask), skipped)); err != nil {
			return nil, 0, err
		}
	}
	rejects, err := f.Rejecting(ctx, q.Pipeline, DeviceSelector{Tenant: q.Scope.tenant}, q.Now)
	if err != nil {
		return nil, 0, err
	}
	var devices []outliers.Device
	for n, err := range Readable(f.Outputs().Latest(ctx, Question{Scope: q.Scope}), skipped) {
		if err != nil {
			return nil, 0, err
		}
		if m, is := members[n.Device]; is {
			d := q.compared(n, m, recent)
			d.Rejects = rejects[n.Device]
			devices = append(devices, d)
			delete(rejects, n.Device)
		}
	}
	for id, n := range rejects { // nothing that they have sent was a reading
		if _, is := members[id]; is {
			devices = append(devices, outliers.Device{ID: string(id), Rejects: n})
		}
	}
	found := outliers.Find(devices)
	for _, o := range found.Outliers {
		if m := members[schema.DeviceID(o.Device)]; q.SelectsMember(m) {
			all = append(all, Outlier{o, m.Tenant, m.Site, recent.Window, q.Models.Of(m).UnitOf(o.Sensor)})
		}
	}
	return all, found.Compared, nil
}

// compared returns what of a device is compared.
func (q OutlierQuestion) compared(n Newest, m schema.Member, recent *Recent) outliers.Device {
	model := q.Models.Of(m)
	d := outliers.Device{ID: string(n.Device), Class: model.Name, Groups: Neighbours(string(m.Site), m.Labels, q.By)}
	n.Every = q.Every(m)
	d.Silent = n.SilentSince(q.Now)
	for _, v := range n.Values {
		if v.Is == fold.Number && !v.Doubtful && q.wants(v.Sensor) && model.Sensors.Compares(v.Sensor) {
			d.Sensors = append(d.Sensors, outliers.Sensor{Name: v.Sensor, Value: v.Number, At: v.At.Time(),
				Windows: recent.WindowsOf(n.Device, v.Sensor)})
		}
	}
	return d
}

// Neighbours returns the groups in which a device is compared: its site, and one by a label or of the whole tenant.
func Neighbours(site string, labels map[string]string, by schema.By) []string {
	all := []string{"no site"}
	if site != "" {
		all[0] = "site " + site
	}
	label := by.Label()
	switch text := labels[label]; {
	case by == schema.ByTenant:
		all = append(all, "the tenant")
	case label != "" && text != "":
		all = append(all, label+"="+text)
	}
	return all
}

// mostRejecting is of how many devices rejects are read.
const mostRejecting = 20

// Rejecting returns how many readings of selected devices a pipeline has rejected in the last day. A device keeps the
// newest hundred. Storage scans every tracking row, but sends only those of devices that have ever had as many rejects
// as stand out. Of the twenty with the most, it takes a request each.
func (f Fleet) Rejecting(
	ctx context.Context, p schema.Pipeline, s DeviceSelector, now time.Time,
) (map[schema.DeviceID]int, error) {
	counts := map[schema.DeviceID]int64{}
	q := tables.Query{Range: tables.Range{Rows: s.memberships()},
		Filter: schema.TracksRejecting(outliers.ManyRejects), Select: schema.TrackProperties()}
	tracks := recordsOf(ctx, f.Tables.Table(f.Names.Partitions(p)), q, schema.TrackOf)
	for track, err := range Readable(tracks, new(Skipped)) {
		if err != nil {
			return nil, err
		}
		counts[track.Place.Device()] = max(counts[track.Place.Device()], track.Rejects)
	}
	most := slices.SortedFunc(maps.Keys(counts), func(a, b schema.DeviceID) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	recently := map[schema.DeviceID]int{}
	for _, d := range most[:min(len(most), mostRejecting)] {
		ring := tables.Range{Partitions: tables.Is(string(d)), Rows: schema.RejectsOf(p)}
		rejects := recordsOf(ctx, f.Rows().rejects(), tables.Query{Range: ring}, schema.RejectOf)
		for r, err := range Readable(rejects, new(Skipped)) {
			if err != nil {
				return nil, err
			}
			if r.At > tables.TicksOf(now.Add(-24*time.Hour)) {
				recently[d]++
			}
		}
	}
	return recently, nil
}
