package fold

import "furrow/tables/schema"

// Bounds of what is kept of a device, whatever it sends. They hold for samples and for folds, before
// anything is written, so that no state and no output is ever more than storage takes.
const (
	// MaxSensors is how many sensors a device may have: in one reading, in latest, and in each window of a rollup.
	MaxSensors = 1000

	// MaxStates is how many bytes the states of all processors of a device may have together. Each processor keeps to a
	// share of its own, its MaxState. While rows are folded again, the tracking row has them twice, except for rules, with
	// the ledger and the open outputs beside them.
	MaxStates = 504 << 10

	// MaxRoom is how many bytes the values of one reading may take, as Room counts them, so that latest can hold all of
	// them.
	MaxRoom = 127 << 10
)

// shortText is the length of a short text in bytes, such as a GUID.
const shortText = 40

// IsLong reports whether a value takes much room in a state: its text together with the suffix of its reading's row
// key.
func IsLong(key schema.RowKey, state string) bool { return len(state)+len(key.Suffix) > shortText }

// Room returns the maximum number of bytes of a sensor's value in a state. It depends on nothing else, so what fits
// does not change with the value.
func Room(sensor string, long bool) int {
	const around = 16 // lengths, time and flags
	if long {
		return around + len(sensor) + maxState + maxSuffix
	}
	return around + len(sensor) + shortText
}

// maxSuffix is the maximum length of the suffix of a row key in bytes.
const maxSuffix = 64

// Bounds, in bytes, of what outputs hold hundreds of. A sensor's name is that of a property, which Azure limits to 255
// characters.
const (
	maxState      = 256
	maxSensorName = 200
)

// maxRefusals is how many refusals of a reading are kept apart.
const maxRefusals = 10
