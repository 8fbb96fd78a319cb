package model

import (
	"context"
	"fmt"
	"time"

	"furrow/tables/schema"
	"furrow/worker/outliers"
	"furrow/worker/query"
)

// Outliers are the devices of a tenant whose means of a sensor stand out from those of the devices of their site and
// model; furrow help outliers. Of a site with fewer than six devices, none is compared.
type Outliers struct {
	Compared int  `json:"compared"`       // devices with enough neighbours
	Some     bool `json:"some,omitempty"` // there are more devices than can be read at once
	// at most 20, the greatest score first
	Devices []MeanOutlier `json:"devices"`
}

// A MeanOutlier is a device whose mean stands out.
type MeanOutlier struct {
	Device     string  `json:"device"`
	Site       string  `json:"site,omitempty"`
	Count      int64   `json:"count"`
	Mean       float64 `json:"mean"`
	Median     float64 `json:"median"` // of the means of the neighbours
	Score      float64 `json:"score"`  // distance of both, in spreads
	Neighbours int     `json:"neighbours"`
}

const (
	maxOutliers = 20
	// outlierPages limits the pages that are read to compare devices: a day of 120,000 or a month of 3,900. Of a
	// larger tenant, some devices of each month are read.
	outlierPages = 120
	outlierAge   = 5 * time.Minute
)

// A deviceMean is what a device has measured in a period.
type deviceMean struct {
	count int64
	sum   float64
}

// outliers compares the devices of a tenant.
func (rs *ReportAnswers) outliers(ctx context.Context, of query.ReportQuestion) (Outliers, error) {
	window, any := rs.accounts.Configured().windowNear(schema.Daily)
	if !any {
		return Outliers{Devices: []MeanOutlier{}}, nil
	}
	key := fmt.Sprintf("%q %s %s", of.Tenant, of.Span, of.Sensors)
	return rs.compares.get(ctx, key, outlierAge, func(ctx context.Context) (out Outliers, err error) {
		means := map[schema.DeviceID]*deviceMean{}
		ask := query.Question{Span: of.Span, Window: window, Sensors: of.Sensors}
		all := rs.accounts.sampled(ctx, ask, of.Tenant, outlierPages, &out.Some)
		for b, err := range cut(all, &out.Some) {
			if err != nil {
				return out, err
			}
			if means[b.Device] == nil {
				means[b.Device] = &deviceMean{}
			}
			means[b.Device].count += b.Sensors[0].Count
			means[b.Device].sum += b.Sensors[0].Sum
		}
		out.compare(means, rs.accounts.index)
		return out, nil
	})
}

// compare finds the devices that stand out.
func (out *Outliers) compare(means map[schema.DeviceID]*deviceMean, x *index) {
	out.Devices = []MeanOutlier{}
	var all []outliers.Device
	for id, m := range means {
		d := outliers.Device{ID: string(id)}
		x.look(d.ID, func(of *device) { d = x.neighbours(of, "") })
		d.Sensors = []outliers.Sensor{{Value: m.sum / float64(m.count)}}
		all = append(all, d)
	}
	found := outliers.Find(all)
	out.Compared = found.Compared
	for _, o := range found.Outliers[:min(len(found.Outliers), maxOutliers)] {
		m := means[schema.DeviceID(o.Device)]
		out.Devices = append(out.Devices, MeanOutlier{o.Device, x.siteOf(o.Device), m.count, o.Value, o.Median, o.Score,
			o.Neighbours})
	}
}

// siteOf returns the site of a device.
func (x *index) siteOf(id string) (site string) {
	x.look(id, func(d *device) { site = x.sites.text(d.site) })
	return site
}

// modelOf returns the name of a device's model.
func (x *index) modelOf(id string) (model string) {
	x.look(id, func(d *device) { model = x.models.text(uint32(d.model)) })
	return model
}

// neighbours returns a device, and with which others it is compared.
func (x *roster) neighbours(d *device, by schema.By) outliers.Device {
	return outliers.Device{ID: d.id, Class: x.tenants.text(d.tenant) + "\n" + x.models.text(uint32(d.model)),
		Groups: query.Neighbours(x.sites.text(d.site), labelsOf(d.labels), by)}
}
