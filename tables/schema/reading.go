package schema

import "furrow/tables"

// A Reading is a row that a device wrote, with a property per sensor. Devices choose the
// names and types of the properties.
type Reading struct {
	Device     DeviceID
	Key        RowKey
	Properties []tables.Property
}

// ReadingOf decodes a row of a readings table. It returns an error if the keys are not those
// of a reading. The result shares the row's properties.
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

// Entity returns the row of r.
func (r Reading) Entity() tables.Entity {
	return tables.Entity{PartitionKey: string(r.Device), RowKey: r.Key.String(), Properties: r.Properties}
}
