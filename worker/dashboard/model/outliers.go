package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// Outliers are the devices of a tenant whose means of a sensor differ most from the median of all devices' means.
// How much that is says the modified z-score of Iglewicz and Hoaglin: 0.6745 times the difference by the median of all
// absolute differences, or the difference by 1.2533 times their mean where that median is zero. From 3.5 on, a device
// stands out. A few devices with large differences do not hide each other, as they would with the standard deviation.
type Outliers struct {
	// Devices with a number in the period. Fewer than five are not compared.
	Compared int      `json:"compared"`
	Some     bool     `json:"some,omitempty"`   // there are more devices than can be read at once
	Median   *float64 `json:"median,omitempty"` // Of the means of devices. Absent without any.
	// at most 20 with a score of at least 3.5 or at most -3.5, the greatest first
	Devices []Outlier `json:"devices"`
}

// An Outlier is a device that stands out.
type Outlier struct {
	Device string  `json:"device"`
	Site   string  `json:"site,omitempty"`
	Count  int64   `json:"count"`
	Mean   float64 `json:"mean"`
	// the modified z-score: 0.6745 times the difference to the median by the median of all absolute differences
	Score float64 `json:"score"`
}

const (
	outlierScore = 3.5
	maxOutliers  = 20
	fewDevices   = 5 // fewer than these are not compared
	// outlierPages limits the pages that are read to compare devices: a day of 120,000 or a month of 3,900. Of a
	// larger
	// tenant, some devices of each month are read.
	outlierPages = 120
	outlierAge   = 5 * time.Minute
)

// A deviceMean is what a device has measured in a period.
type deviceMean struct {
	count int64
	sum   float64
}

// outliers compares the devices of a tenant.
func (rs *ReportAnswers) outliers(ctx context.Context, of query.ReportQuestion) (Outliers, Read, error) {
	window, any := rs.accounts.Configured().windowNear(schema.Daily)
	if !any {
		return Outliers{Devices: []Outlier{}}, Read{}, nil
	}
	key := fmt.Sprintf("%q %s %s", of.Tenant, of.Span, of.Sensors)
	return rs.compares.get(ctx, key, outlierAge, func(ctx context.Context) (out Outliers, err error) {
		means := map[schema.DeviceID]*deviceMean{}
		ask := query.Question{Span: of.Span, Window: window, Sensors: of.Sensors}
		homes, missing := rs.spreadFor(&ask, of.Tenant)
		out.Some = missing
		for b, err := range query.Readable(rs.accounts.rollups(ctx, ask, of.Tenant, homes), new(query.Skipped)) {
			if errors.Is(err, query.ErrMore) {
				out.Some = true
				continue
			}
			if err != nil {
				return out, err
			}
			if means[b.Device] == nil {
				means[b.Device] = &deviceMean{}
			}
			means[b.Device].count += b.Sensors[0].Count
			means[b.Device].sum += b.Sensors[0].Sum
		}
		out.compare(means)
		for i := range out.Devices {
			out.Devices[i].Site = rs.accounts.index.siteOf(out.Devices[i].Device)
		}
		return out, nil
	})
}

// spreadFor returns some homes of a tenant for a question where it has too many devices; nil: all are asked for.
func (rs *ReportAnswers) spreadFor(ask *query.Question, tenant schema.Tenant) (homes []homeIn, missing bool) {
	of, _ := rs.accounts.index.only(string(tenant))
	windows := int(ask.Span.Length() / time.Duration(ask.Window))
	days := max(1, int(ask.Span.Length()/(24*time.Hour)))
	if rs.accounts.index.total(of)*windows <= (outlierPages-days)*1000 {
		return nil, false
	}
	ask.Pages = 1
	return rs.accounts.index.spread(tenant, of, max(1, outlierPages/days))
}

// siteOf returns the site of a device.
func (x *index) siteOf(id string) string {
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, known := x.at[id]; known {
		return x.sites.text(x.devices[i].site)
	}
	return ""
}

// compare finds the devices that stand out.
func (out *Outliers) compare(means map[schema.DeviceID]*deviceMean) {
	out.Devices, out.Compared = []Outlier{}, len(means)
	var all []float64
	for _, m := range means {
		all = append(all, m.sum/float64(m.count))
	}
	if len(all) == 0 {
		return
	}
	median := medianOf(all)
	if out.Median = &median; len(all) < fewDevices {
		return
	}
	sum := 0.0
	for i := range all {
		all[i] = math.Abs(all[i] - median)
		sum += all[i] / float64(len(all))
	}
	spread := medianOf(all) / 0.6745
	if spread <= 1e-9*math.Abs(median) { // most devices have the same mean, but for rounding
		spread = sum * 1.2533
	}
	for device, m := range means {
		mean := m.sum / float64(m.count)
		score := (mean - median) / spread
		if math.Abs(score) >= outlierScore && math.Abs(mean-median) > 1e-9*math.Abs(median) && !math.IsInf(score, 0) {
			out.Devices = append(out.Devices, Outlier{Device: string(device), Count: m.count, Mean: mean, Score: score})
		}
	}
	slices.SortFunc(out.Devices, func(a, b Outlier) int {
		return cmp.Or(cmp.Compare(math.Abs(b.Score), math.Abs(a.Score)), cmp.Compare(a.Device, b.Device))
	})
	out.Devices = out.Devices[:min(len(out.Devices), maxOutliers)]
}

// medianOf returns the median of numbers, which it sorts.
func medianOf(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	return all[n/2]/2 + all[(n-1)/2]/2
}
