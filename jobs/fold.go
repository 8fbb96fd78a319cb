package jobs

import "furrow/tables"

// MaxSensors is how many sensors a device may have in an output, which has a
// property for each: Azure takes 252, and the fence and its like need some.
const MaxSensors = 240

// A Fold is the work of a processor: it takes samples in row order and says
// what is to be written. It is pure: the same state and the same samples give
// the same result, bit for bit, however many calls they came in. It does no
// input or output, and knows no time but that of the samples.
type Fold interface {
	// Fold gives the state after the samples. A nil state is that of a device
	// that was never folded; any other is one that this Fold gave. It is an error
	// of the program, not of the readings, when a state cannot be read. Of the
	// member it heeds the device, the tenant and the month.
	Fold(d tables.Member, state []byte, samples []Sample) (Folded, error)
}

// Folded is what came of a fold.
type Folded struct {
	State   []byte
	Effects []Effect
	Refused []Refusal
}

// An Effect asks for one output to be written, whole.
type Effect struct {
	Output Output
	// Properties are the output's, a property per sensor; nil where the fold did
	// not change it, and only says that it is closed.
	Properties []tables.Property
	// Closed says that no later sample in row order can change the output.
	Closed bool
}

// An Output names an entity that processors write.
type Output struct {
	Kind         OutputKind
	PartitionKey string
	RowKey       string
}

// An OutputKind is a table of outputs.
type OutputKind uint8

const (
	Latest OutputKind = iota + 1
	Rollups
)

// A Refusal is a value that could not be folded, or a whole row. It goes to the
// rejects, and the rest of its row and of the device is folded all the same.
type Refusal struct {
	Row    string // RowKey of the reading
	Sensor string // empty: the row
	Reason string
}
