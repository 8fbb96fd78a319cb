package answers

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"furrow/worker/outliers"
	"furrow/worker/query"
)

// An Outlier is a device that stands out from its neighbours.
type Outlier struct {
	Device string `json:"device" column:"device"`
	Site   string `json:"site,omitempty" column:"site"`
	// how it does; furrow help outliers
	Kind   string `json:"kind" column:"kind" enum:"silent rejected stuck drifting off noisy"`
	Sensor string `json:"sensor,omitempty" column:"sensor" people:"-"`
	// The newest value; of drifting, its growth per hour beside the neighbours; of noisy, what it varies within a window;
	// of rejected, readings of the last day. Absent for silent.
	Value *float64 `json:"value,omitempty" column:"value" people:"-"`
	Unit  string   `json:"unit,omitempty" column:"unit" people:"-"`
	// the same of the neighbours
	Median *float64 `json:"median,omitempty" column:"median" people:"-"`
	// distance of both in spreads; absent for silent, rejected and stuck
	Score *float64 `json:"score,omitempty" column:"score" people:"-"`
	// devices that it was compared with
	Neighbours int `json:"neighbours,omitempty" column:"neighbours" people:"-"`
	// what they have in common: site NAME, no site, LABEL=VALUE or the tenant
	Group  string     `json:"group,omitempty" column:"group" people:"-"`
	Since  *time.Time `json:"since,omitempty" column:"since" people:"-"` // of silent
	Text   string     `json:"text" column:"text"`                        // all of this for people
	Tenant string     `json:"tenant" column:"tenant" people:"-"`
}

// OutlierOf returns a device that stands out.
func OutlierOf(o query.Outlier) Outlier {
	out := Outlier{Device: o.Device, Tenant: string(o.Tenant), Site: string(o.Site), Kind: string(o.Kind),
		Sensor: o.Sensor, Unit: o.Unit, Neighbours: o.Neighbours, Group: o.Group}
	hours := time.Duration(o.Window).Hours()
	switch o.Kind {
	case outliers.Silent:
		out.Since = &o.Since
		out.Text = "nothing was heard for three intervals, since " + o.Since.UTC().Format("2006-01-02 15:04")
		return out
	case outliers.Rejected:
		out.Value = new(o.Value)
		out.Text = fmt.Sprintf("%.0f readings were rejected in the last day", o.Value)
		return out
	case outliers.Drifting:
		o.Value, o.Median = o.Value/hours, o.Median/hours
		if out.Unit += "/h"; o.Unit == "" {
			out.Unit = ""
		}
	}
	out.Value, out.Median = new(o.Value), new(o.Median)
	if o.Score != 0 {
		out.Score = new(o.Score)
	}
	out.Text = out.text(o)
	return out
}

func (o *Outlier) text(of query.Outlier) string {
	value := func(x float64) string { return strings.TrimSpace(sixDigits(x) + " " + o.Unit) }
	beside := fmt.Sprintf("%d devices of %s", o.Neighbours, o.Group)
	if o.Group == "no site" {
		beside = fmt.Sprintf("%d devices without a site", o.Neighbours)
	}
	switch of.Kind {
	case outliers.Stuck:
		return fmt.Sprintf("%s has been %s for four windows of %s, while %s changed", o.Sensor, value(*o.Value), of.Window,
			beside)
	case outliers.Drifting:
		return fmt.Sprintf("%s drifts by %s from %s", o.Sensor, value(threeDigits(*o.Value)), beside)
	case outliers.Noisy:
		return fmt.Sprintf("%s varies by %s within %s; the median of %s is %s", o.Sensor, value(threeDigits(*o.Value)),
			of.Window, beside, value(threeDigits(*o.Median)))
	}
	return fmt.Sprintf("%s is %s; the median of %s is %s", o.Sensor, value(*o.Value), beside, value(*o.Median))
}

// threeDigits returns a number with three of its digits.
func threeDigits(x float64) float64 {
	short, err := strconv.ParseFloat(strconv.FormatFloat(x, 'g', 3, 64), 64)
	if err != nil {
		return x
	}
	return short
}
