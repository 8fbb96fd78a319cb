package fold

import (
	"cmp"
	"maps"
	"slices"

	"furrow/tables/schema"
)

// An Output names an entity that processors write, or an object: its name is then the PartitionKey, a slash and the
// RowKey.
type Output struct {
	Table        string // one of Processor.Tables; empty: an object
	PartitionKey string
	RowKey       string
}

// Part returns the output that the nth part of o is written as, counted from 1.
func (o Output) Part(n int) Output {
	o.RowKey = schema.PartKey(o.RowKey, n)
	return o
}

// Name is that of an output that is an object.
func (o Output) Name() string { return o.PartitionKey + "/" + o.RowKey }

// An output has a property for each sensor, and Azure takes 252 in an entity. An output of more sensors is several
// entities, its parts: the first has the output's own key, the others a suffix that sorts right after it. Parts are cut
// from the sorted names of the output's sensors, so they depend on nothing else.
const (
	PartSensors = 201 // five parts have room for MaxSensors and what is reserved
	MaxParts    = (MaxSensors + reserved + PartSensors - 1) / PartSensors
	reserved    = 3 // properties of an output besides sensors, as IsReserved
)

// PartsProperty is a property of the first part of an output with several parts: how many parts storage has, including
// those that are empty now.
const PartsProperty = "_parts"

// Properties of outputs that tell what no sensor does.
const (
	// HeardProperty is the time, in ticks, of a device's newest reading without values, such as a heartbeat. The table
	// latest has it where no value is newer.
	HeardProperty = "_heard"
	// ReadingsProperty is the number of readings in a bucket of rollups. Without it, that is the greatest count of a
	// sensor: each reading has a number of that sensor.
	ReadingsProperty = "_readings"
)

// IsReserved reports whether a property of an output is not a sensor's.
func IsReserved(name string) bool {
	switch name {
	case FenceProperty, PartsProperty, HeardProperty, ReadingsProperty, schema.FormatProperty, schema.SiteProperty,
		schema.LabelsProperty, schema.DevicesProperty, schema.MoreProperty, schema.StoredProperty:
		return true
	}
	return false
}

// FenceProperty is the property of every output that holds its writer's fence.
const FenceProperty = "_fence"

// SortedOutputs returns a map's outputs, ordered by partition.
func SortedOutputs[V any](m map[Output]V) []Output {
	return slices.SortedFunc(maps.Keys(m), func(a, b Output) int {
		return cmp.Or(cmp.Compare(a.Table, b.Table), cmp.Compare(a.PartitionKey, b.PartitionKey),
			cmp.Compare(a.RowKey, b.RowKey))
	})
}
