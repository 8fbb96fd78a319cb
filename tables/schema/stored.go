package schema

import (
	"encoding/json"
	"fmt"

	"furrow/tables"
)

// A Stored counts the readings that storage has accepted of one or more devices in a bucket of time.
type Stored struct {
	Rows    int64
	Bytes   int64 // that storage charges for the rows
	Devices int64 // that have such rows; 0 in the bucket of one device
}

// StoredProperty is the property of rows of buckets and reports that holds a Stored.
const StoredProperty = "_stored"

// Add adds what other devices have stored.
func (s *Stored) Add(o Stored) {
	s.Rows, s.Bytes, s.Devices = s.Rows+o.Rows, s.Bytes+o.Bytes, s.Devices+o.Devices
}

// String returns the property: a JSON array of rows, bytes and devices.
func (s Stored) String() string { return fmt.Sprintf("[%d,%d,%d]", s.Rows, s.Bytes, s.Devices) }

// StoredOf reads the property of a row. A row without it, such as one that was written before it existed, has stored
// nothing that is known.
func StoredOf(e tables.Entity) (s Stored, err error) {
	text := e.Get(StoredProperty).Text()
	if text == "" {
		return s, nil
	}
	var counts []int64
	if err := json.Unmarshal([]byte(text), &counts); err != nil || len(counts) != 3 {
		return s, fmt.Errorf("%s: %s is not an array of three whole numbers", StoredProperty, tables.Quote(text))
	}
	return Stored{counts[0], counts[1], counts[2]}, nil
}
