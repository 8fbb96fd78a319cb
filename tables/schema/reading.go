package schema

import "furrow/tables"

// A Reading is a row that a device wrote: a property per sensor. Devices write
// what they like, so its properties may be of any type and name.
type Reading struct {
	Device     DeviceID
	Key        RowKey
	Properties []tables.Property
}

// ReadingOf is a row of a readings table, or an error when its keys are not
// those of a reading. It shares the row's properties.
func ReadingOf(e tables.Entity) (Reading, error) {
	device, err := ParseDeviceID(e.PartitionKey)
	if err != nil {
		return Reading{}, err
	}
	key, err := ParseRowKey(e.RowKey)
	if err != nil {
		return Reading{}, err
	}
	return Reading{Device: device, Key: key, Properties: e.Properties}, nil
}

// Entity is r as it is stored.
func (r Reading) Entity() tables.Entity {
	return tables.Entity{PartitionKey: string(r.Device), RowKey: r.Key.String(), Properties: r.Properties}
}
