package schema

import (
	"fmt"

	"furrow/tables"
)

// PlacesRow is the RowKey of the number of an enrollment's places.
const PlacesRow = "places"

const placePrefix = "device" + Separator

// PlaceOf returns the row of a device that registered itself in an enrollment.
func PlaceOf(e EnrollmentID, device DeviceID) tables.Entity {
	return tables.Entity{PartitionKey: string(e), RowKey: placePrefix + string(device)}
}

// PlacesIn returns the rows of all devices that registered themselves in an enrollment.
func PlacesIn(e EnrollmentID) tables.Range {
	return tables.Range{Partitions: tables.Is(string(e)), Rows: tables.KeysWithPrefix(placePrefix)}
}

// Places is the number of devices that registered themselves in an enrollment. It is kept only while the enrollment
// has a limit.
type Places struct {
	Enrollment EnrollmentID
	Number     int          `row:"Number"`
	Since      tables.Ticks `row:"Since"` // when it was first counted
	Final      bool         `row:"Final"` // every endpoint knows the limit since: the number need not be counted again
	ETag       tables.ETag  // of the version that was read
}

// Entity returns the row of p.
func (p Places) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: string(p.Enrollment), RowKey: PlacesRow}
	_ = e.Encode(&p) // numbers
	return e
}

// PlacesOf decodes the result of Entity.
func PlacesOf(e tables.Entity) (Places, error) {
	p := Places{Enrollment: EnrollmentID(e.PartitionKey), ETag: e.ETag}
	f := decode(&e, &p)
	if p.Number < 0 {
		f.Fail("property Number", fmt.Errorf("%d is negative", p.Number))
	}
	return p, f.Err()
}
