package schema

import (
	"cmp"

	"furrow/tables"
)

// A Verified is a row of the table runs, !verified and day!tenant: what the scheduler counted of the readings that a
// sample of a tenant's devices has of a day. The row without a tenant is written last, and has the sum.
type Verified struct {
	Day    Day
	Tenant Tenant       // empty: the sum
	At     tables.Ticks `row:"At"`            // when the readings had been counted
	Share  float64      `row:"Share"`         // of the devices that were to be in the sample
	UpTo   string       `row:"UpTo,omitzero"` // last device of those that it counts, while there are more; see Verification

	Devices  int64 `row:"Devices,omitzero"` // of the sample that had something of the day
	Made     int64 `row:"Made,omitzero"`    // readings, by the numbers that devices give them
	Missing  int64 `row:"Missing,omitzero"` // of these, storage does not have them
	Stored   int64 `row:"Stored,omitzero"`
	Rejected int64 `row:"Rejected,omitzero"`
	Folded   int64 `row:"Folded,omitzero"` // by all pipelines together
	ToFold   int64 `row:"ToFold,omitzero"` // what that should be

	Unexplained int64            `row:"Unexplained,omitzero"` // differences
	Reasons     map[string]int64 // differences by reason
}

const (
	verifiedPartition = Separator + "verified"
	reasonsPrefix     = "Reason_"
)

// VerifiedIn returns the range of the rows from a day to another, both inclusive.
func VerifiedIn(from, to Day) tables.Range {
	return tables.Range{Partitions: tables.Is(verifiedPartition),
		Rows: tables.Keys{From: from.String(), Before: tables.KeysWithPrefix(to.String() + Separator).Before}}
}

// Add adds what other devices have.
func (v *Verified) Add(o Verified) {
	addCounts(v, &o)
	v.Reasons = added(v.Reasons, o.Reasons)
}

// Entity returns the row of v.
func (v Verified) Entity() tables.Entity {
	e := tables.Entity{PartitionKey: verifiedPartition, RowKey: dayOfTenant(v.Day, v.Tenant)}
	_ = e.Encode(&v) // numbers
	setNamed(&e, reasonsPrefix, v.Reasons)
	return e
}

// VerifiedOf decodes a row of VerifiedIn.
func VerifiedOf(e tables.Entity) (Verified, error) {
	var v Verified
	f := decode(&e, &v)
	v.Reasons = namedOf(f, e, reasonsPrefix)
	v.Day, v.Tenant = dayAndTenant(f, e.RowKey)
	return v, f.Err()
}

// A Verification is a row of the table runs, !verified and !state: how far the scheduler has verified, and who does it.
type Verification struct {
	Number  int64        `row:"Number"` // of the next sample, from 0
	Through Day          // days before it were verified
	At      tables.Ticks // when the last sample had been verified; 0: none was
	By      string       `row:"By,omitzero"`    // who verifies; empty: nobody
	Until   tables.Ticks `row:"Until,omitzero"` // how long nobody else does

	// A sample that has begun continues there, whoever does: the rows UpTo that device have what it counted.
	After string       `row:"After,omitzero"` // place of the last device; empty: at the first one
	Ends  tables.Ticks `row:"Ends,omitzero"`  // of its days
	Found []Differing  `row:"Found,omitzero"` // as Differ
	More  int64        `row:"More,omitzero"`  // as Unexplained

	Last        Verified    // the sum of the last sample, without its day
	Unexplained int64       `row:"Open,omitzero"`   // differences in the last sample, and still in devices of earlier ones
	Differ      []Differing `row:"Differ,omitzero"` // devices that have them, the first of them
	ETag        tables.ETag
}

// MaxDiffering is how many devices a Verification names at most.
const MaxDiffering = 50

// A Differing is a device with differences that nothing explains.
type Differing struct {
	Tenant Tenant   `json:"tenant"`
	Device DeviceID `json:"device,omitempty"` // empty: reports and archive of the tenant
	Begin  float64  `json:"begin,omitempty"`  // without a device: of a share that has what differs
	Day    string   `json:"day"`              // the first
	Output string   `json:"output"`           // of the first difference
	Count  int64    `json:"count"`            // of differences
}

// VerificationKey returns the key of the row.
func VerificationKey() (partition, row string) { return verifiedPartition, Separator + "state" }

// Entity returns the row of v.
func (v Verification) Entity() (tables.Entity, error) {
	e := tables.Entity{}
	e.PartitionKey, e.RowKey = VerificationKey()
	err := e.Encode(&v)
	e.Set("Through", tables.String(v.Through.String()))
	if v.Last.At = v.At; v.At > 0 {
		err = cmp.Or(err, e.Encode(&v.Last))
	}
	return e, err
}

// VerificationOf decodes the row.
func VerificationOf(e tables.Entity) (Verification, error) {
	v := Verification{ETag: e.ETag}
	f := decode(&e, &v)
	f.Decode(&v.Last)
	v.At, v.Last.At = v.Last.At, 0
	v.Through = parsed(f, "Through", f.String("Through"), ParseDay)
	return v, f.Err()
}
