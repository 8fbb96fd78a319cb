package report

import (
	"strconv"

	"furrow/jobs/rollup"
)

// An Aggregate is the aggregate of one sensor in one bucket over the devices of a group.
type Aggregate struct {
	rollup.Timed
	Devices int64 // with a number of the sensor
}

// Join adds the devices of another partition of the fleet. Partitions are joined in their order.
func (a *Aggregate) Join(o Aggregate) {
	a.Timed.Join(o.Timed)
	a.Devices += o.Devices
}

// String returns the property of a report.
func (a Aggregate) String() string {
	b := append(a.Append([]byte{'['}), ',')
	return string(append(strconv.AppendInt(b, a.Devices, 10), ']'))
}

// Parse reads what String writes.
func Parse(s string) (a Aggregate, err error) {
	a.Timed, err = rollup.ParseTimed(s, &a.Devices)
	return a, err
}
