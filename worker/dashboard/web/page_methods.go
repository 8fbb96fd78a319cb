package web

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web/internal/chart"
)

// The methods below are called by the templates.

// address returns an address with those parameters that are not empty. Changes are names and values in turn.
func address(path string, q url.Values, changes ...string) string {
	for i := 0; i+1 < len(changes); i += 2 {
		q.Set(changes[i], changes[i+1])
	}
	for name := range q {
		if q.Get(name) == "" {
			q.Del(name)
		}
	}
	if len(q) == 0 {
		return path
	}
	return path + "?" + q.Encode()
}

func (p MapPage) Closer(c model.Cluster) string {
	if !c.BBox.OnEarth() {
		return "/"
	}
	width := max(c.BBox[2]-c.BBox[0], c.BBox[3]-c.BBox[1], 1e-4)
	zoom := max(2, min(18, math.Log2(360/width)+1))
	return p.Address("sensor", p.Map.Sensor, "bbox", boxText(c.BBox), "zoom", fmt.Sprintf("%.1f", zoom))
}

// Address returns the address of the overview with some parameters changed: names and values in turn.
func (p MapPage) Address(changes ...string) string {
	return address("/", filterQuery(p.Filter), changes...)
}

func (p MapPage) Filtered() bool { return p.Filter != (model.Filter{}) }

// MoreOutliers returns how many devices stand out that the page does not show.
func (p MapPage) MoreOutliers() int { return p.Outliers.Total - len(p.Outliers.Rows) }

// Empty reports whether there is nothing to show, and nothing that could hide it.
func (p MapPage) Empty() bool { return p.Overview.Devices == 0 && !p.Filtered() }

// Start returns the commands with which a fleet begins.
func (MapPage) Start() []string {
	return []string{"furrow enrollment add plant1 --tenant contoso",
		"furrow device add pump-7 --lat 57.15 --lon -2.09 | sh", "furrow query pump-7 --latest"}
}

func (p MapPage) ListAddress() string { return address("/devices", filterQuery(p.Filter)) }

func filterQuery(f model.Filter) url.Values {
	return url.Values{"tenant": {f.Tenant}, "site": {f.Site}, "label": {f.Label}, "model": {f.Model},
		"where": {f.Where.String()},
		"text":  {f.Text},
		"state": {string(f.State)}}
}

func boxText(b model.Box) string { return fmt.Sprintf("%.5f,%.5f,%.5f,%.5f", b[0], b[1], b[2], b[3]) }

// Devices that are all within onePlace are shown within a country: closer, there is nothing to see around them. Both
// are in degrees; map.js has the same.
const (
	onePlace = 0.02
	country  = 3
)

// Fit returns the box that the map begins with: the requested one or, when the fleet is all in one part of
// the world, that part. Empty is the world.
func (p MapPage) Fit() string {
	if p.BBox != nil && p.BBox.OnEarth() {
		return boxText(*p.BBox)
	}
	fit := model.Box{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
	for _, c := range p.Map.Clusters {
		fit = model.Box{min(fit[0], c.BBox[0]), min(fit[1], c.BBox[1]), max(fit[2], c.BBox[2]), max(fit[3], c.BBox[3])}
	}
	for _, d := range p.Map.Devices {
		fit = model.Box{min(fit[0], d.Lon), min(fit[1], d.Lat), max(fit[2], d.Lon), max(fit[3], d.Lat)}
	}
	if !(fit[2]-fit[0] <= 90) || !fit.OnEarth() {
		return ""
	}
	margin := 0.05 * max(fit[2]-fit[0], fit[3]-fit[1]) // degrees
	if margin < onePlace*0.05 {
		margin = country
	}
	return boxText(model.Box{max(-180, fit[0]-margin), max(-90, fit[1]-margin), min(180, fit[2]+margin),
		min(90, fit[3]+margin)})
}

func (p DevicesPage) Filter() model.Filter { return p.Query.Filter }

func (p DevicesPage) Filtered() bool {
	return p.Query.Filter != (model.Filter{}) || p.Query.Prefix != ""
}

func (p DevicesPage) Sorted() string { return cmp.Or(p.Query.Sort, model.SortDevice) }

// Address returns the address of the list with some parameters changed: names and values in turn. It begins
// at the first page unless after is among them.
func (p DevicesPage) Address(changes ...string) string {
	q := filterQuery(p.Query.Filter)
	q.Set("prefix", p.Query.Prefix)
	q.Set("sensor", p.Query.Sensor)
	q.Set("sort", p.Query.Sort)
	if p.Query.Limit > 0 {
		q.Set("limit", strconv.Itoa(p.Query.Limit))
	}
	return address("/devices", q, changes...)
}

// Near returns the address of the map around a device of the list.
func (p DevicesPage) Near(d model.Row) string {
	return nearAmong(filterQuery(p.Query.Filter), d.Lat, d.Lon)
}

func (p DevicesPage) MapAddress() string { return address("/", filterQuery(p.Query.Filter)) }

func (p DevicesPage) Unit() string {
	for _, s := range p.Sensors {
		if s.Name == p.Query.Sensor {
			return s.Unit
		}
	}
	return ""
}

// Held reports whether a pipeline holds the device.
func (p DevicePage) Held() bool {
	return slices.ContainsFunc(p.Answer.Pipelines, func(p model.DevicePipeline) bool { return p.Held != nil })
}

func (p DevicePage) Sensor() string { return sensorOf(p.Series) }

func unitOf(s *model.Series) string {
	if s == nil {
		return ""
	}
	return s.Unit
}

func sensorOf(s *model.Series) string {
	if s == nil {
		return ""
	}
	return s.Sensor
}

func (p DevicePage) Title() string { return p.Sensor() + " of " + p.Answer.Device.Device }

// Address returns the address of the page with one parameter changed.
func (p DevicePage) Address(name, text string) string {
	q := p.query(name != "span")
	if q.Set(name, text); name == "sensor" {
		q["with"] = slices.DeleteFunc(q["with"], func(other string) bool { return other == text })
	}
	return address(p.path(), q)
}

func (p DevicePage) path() string { return "/devices/" + url.PathEscape(p.Answer.Device.Device) }

// query returns the parameters of the page, with the time that it shows unless another is chosen.
func (p DevicePage) query(timed bool) url.Values {
	q := url.Values{"sensor": {p.Sensor()}, "span": {p.Span}, "window": {p.Window}}
	if p.Span == "" && p.Series != nil && timed {
		q.Set("from", p.Series.From.UTC().Format(time.RFC3339))
		q.Set("to", p.Series.To.UTC().Format(time.RFC3339))
	}
	q["with"] = slices.Clone(p.With)
	if !p.NoOther {
		q.Set("against", p.Against)
	}
	return q
}

// CSV returns the address of what the chart shows, as a file.
func (p DevicePage) CSV() string { return address(p.path()+"/series.csv", p.query(true)) }

// A Comparison is a sensor that can be drawn over the chart.
type Comparison struct {
	Sensor, Unit string
	Chosen       bool
}

// Comparisons returns the other sensors that have numbers.
func (p DevicePage) Comparisons() (all []Comparison) {
	for _, v := range p.Answer.Latest {
		if _, isNumber := v.Value.(float64); isNumber && v.Sensor != p.Sensor() {
			all = append(all, Comparison{v.Sensor, v.Unit, slices.Contains(p.With, v.Sensor)})
		}
	}
	return all
}

// Bands returns the incidents as the chart shows them.
func (p DevicePage) Bands() []chart.Band { return bands(p.Now, p.Incidents) }

// bands returns incidents, the newest first, as a chart shows them.
func bands(now time.Time, incidents []answers.Incident) (all []chart.Band) {
	for _, i := range slices.Backward(incidents) {
		to, title := now, fmt.Sprintf("%s: %s, since %s UTC: %s", i.Severity, i.Rule,
			i.Since.UTC().Format("2 Jan 15:04:05"), i.Text)
		if i.Closed != nil {
			to = *i.Closed
			title += ". Closed " + to.UTC().Format("2 Jan 15:04:05") + "."
		}
		all = append(all, chart.Band{From: i.Opened, To: to, Class: severityClass(i.Severity), Title: title})
	}
	return all
}

// IncidentsAddress returns the address of all incidents of the device.
func (p DevicePage) IncidentsAddress() string {
	return address("/incidents", url.Values{"device": {p.Answer.Device.Device}}, "state",
		strings.Join(model.IncidentStates(), ","))
}

// CSV returns the address of the whole list as a file.
func (p DevicesPage) CSV() string {
	q := filterQuery(p.Query.Filter)
	q.Set("prefix", p.Query.Prefix)
	return address("/devices.csv", q, "sensor", p.Query.Sensor, "sort", p.Query.Sort)
}

func (p TenantsPage) Tenants() int { return max(p.Answer.Total, len(p.Answer.Tenants)) }

func (p TenantsPage) MaxDevices() (n int) {
	for _, t := range p.Answer.Tenants {
		n = max(n, t.Devices)
	}
	return n
}

// Several reports whether the limits are those of several storage accounts.
func (p LimitsPage) Several() bool { return len(p.Limits) > 0 && p.Limits[0].Storage != "" }

// Needed returns what the fleet needs of a limit a second; empty where the limit has no number.
func (LimitsPage) Needed(l model.StorageLimit) string {
	switch needed := l.Share * l.Most; {
	case l.Most == 0:
		return ""
	case !(needed >= 10):
		return number(needed)
	default:
		return count(needed)
	}
}

func (p TenantPage) Sensor() string { return sensorOf(p.Series) }

func (p TenantPage) Title() string { return p.Sensor() + " of " + p.Tenant.Tenant + " on " + p.Day }

func (p TenantPage) Address(name, text string) string {
	q := url.Values{"day": {p.Day}, "sensor": {p.Sensor()}}
	return address("/tenants/"+url.PathEscape(p.Tenant.Tenant), q, name, text)
}

func (p TenantPage) Before() string { return beside(time.DateOnly, p.Day, 0, -1) }

// After returns the day after, unless it is in the future.
func (p TenantPage) After() string {
	if p.Today != "" && p.Day >= p.Today {
		return ""
	}
	return beside(time.DateOnly, p.Day, 0, 1)
}

// beside returns the month or the day so many after another.
func beside(layout, of string, months, days int) string {
	t, err := time.Parse(layout, of)
	if err != nil {
		return of
	}
	return t.AddDate(0, months, days).Format(layout)
}
