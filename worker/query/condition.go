package query

import (
	"slices"
	"strings"

	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables/schema"
)

// Row returns what a condition on a device's newest values asks for.
func (n Newest) Row(labels map[string]string) condition.Row {
	return condition.Row{Labels: labels, Sensor: func(name string) condition.Value {
		i, found := slices.BinarySearchFunc(n.Values, name, func(v latest.Value, name string) int {
			return strings.Compare(v.Sensor, name)
		})
		if !found {
			return condition.Value{}
		}
		return n.Values[i].Condition()
	}}
}

// BucketMembers are the members of sensors in conditions on buckets. A sensor alone is its mean.
func BucketMembers() []string { return []string{"count", "sum", "min", "max", "first", "last", "mean"} }

// Row returns what a condition on a bucket asks for.
func (b Bucket) Row(labels map[string]string) condition.Row {
	return condition.Row{Labels: labels, Sensor: func(name string) condition.Value {
		sensor, member, _ := strings.Cut(name, ".")
		i, found := slices.BinarySearchFunc(b.Sensors, sensor, func(a Aggregate, sensor string) int {
			return strings.Compare(a.Sensor, sensor)
		})
		if !found {
			return condition.Value{}
		}
		return condition.Number(b.Sensors[i].member(member))
	}}
}

func (a Aggregate) member(name string) float64 {
	switch name {
	case "count":
		return float64(a.Count)
	case "sum":
		return a.Sum
	case "min":
		return a.Min
	case "max":
		return a.Max
	case "first":
		return a.First
	case "last":
		return a.Last
	}
	return a.Mean()
}

// Row returns what a condition on a reading asks for: its values as the model names and converts them, those of
// heartbeats included. Values that would be rejected are absent. m may be nil.
func (m *Model) Row(r schema.Reading, labels map[string]string) condition.Row {
	var sensors fold.Sensors
	if m != nil && m.Sensors != nil {
		sensors = *m.Sensors
		sensors.Heartbeat = nil
	}
	sample, _ := sensors.Sample(r)
	return condition.Row{Labels: labels, Sensor: func(name string) condition.Value {
		for i := range sample.Values {
			if sample.Values[i].Sensor == name {
				return sample.Values[i].Condition()
			}
		}
		return condition.Value{}
	}}
}
