package schema

import (
	"encoding/json"
	"strings"

	"furrow/tables"
)

// A Verified is a row of the table runs, !verified and day!tenant: what the scheduler counted of the readings that a
// sample of a tenant's devices has of a day. The row without a tenant is written last, and has the sum.
type Verified struct {
	Day    Day
	Tenant Tenant       // empty: the sum
	At     tables.Ticks // when the readings had been counted
	Share  float64      // of the devices that were to be in the sample

	Devices  int64 // of the sample that had something of the day
	Made     int64 // readings, by the numbers that devices give them
	Missing  int64 // of these, storage does not have them
	Stored   int64
	Rejected int64
	Folded   int64 // by all pipelines together
	ToFold   int64 // what that should be

	Unexplained int64            // differences
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
	addCounts(v.counts(), o.counts())
	v.Reasons = added(v.Reasons, o.Reasons)
}

func (v *Verified) counts() []count {
	return []count{{"Devices", &v.Devices}, {"Made", &v.Made}, {"Missing", &v.Missing}, {"Stored", &v.Stored},
		{"Rejected", &v.Rejected}, {"Folded", &v.Folded}, {"ToFold", &v.ToFold}, {"Unexplained", &v.Unexplained}}
}

// Entity returns the row of v.
func (v Verified) Entity() tables.Entity {
	tenant := ""
	if v.Tenant != "" {
		tenant = v.Tenant.Key()
	}
	e := tables.Entity{PartitionKey: verifiedPartition, RowKey: v.Day.String() + Separator + tenant}
	e.Set("At", tables.DateTime(v.At))
	e.Set("Share", tables.Double(v.Share))
	setCounts(&e, v.counts())
	setNamed(&e, reasonsPrefix, v.Reasons)
	return e
}

// VerifiedOf decodes a row of VerifiedIn.
func VerifiedOf(e tables.Entity) (Verified, error) {
	f := fieldsOf(&e)
	v := Verified{At: f.Ticks("At"), Share: f.Float("Share"), Reasons: namedOf(f, e, reasonsPrefix)}
	readCounts(f, v.counts())
	day, tenant, _ := strings.Cut(e.RowKey, Separator)
	var err error
	v.Day, err = ParseDay(day)
	f.Fail("RowKey", err)
	if tenant != "" {
		v.Tenant, err = ParseTenantKey(tenant)
		f.Fail("RowKey", err)
	}
	return v, f.Err()
}

// A Verification is a row of the table runs, !verified and !state: how far the scheduler has verified, and who does it.
type Verification struct {
	Number  int64        // of the next sample, from 0
	Through Day          // days before it were verified
	At      tables.Ticks // when the last sample had been verified; 0: none was
	By      string       // who verifies; empty: nobody
	Until   tables.Ticks // how long nobody else does

	Last        Verified    // the sum of the last sample, without its day
	Unexplained int64       // differences in the last sample, and still in devices of earlier ones
	Differ      []Differing // devices that have them, the first of them
	ETag        tables.ETag
}

// MaxDiffering is how many devices a Verification names at most.
const MaxDiffering = 50

// A Differing is a device with differences that nothing explains.
type Differing struct {
	Tenant Tenant   `json:"tenant"`
	Device DeviceID `json:"device,omitempty"` // empty: reports of the tenant
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
	e.Set("Number", tables.Int64(v.Number))
	e.Set("Through", tables.String(v.Through.String()))
	setNonzero(&e, "At", tables.DateTime(v.At))
	setNonzero(&e, "By", tables.String(v.By))
	setNonzero(&e, "Until", tables.DateTime(v.Until))
	setNonzero(&e, "Open", tables.Int64(v.Unexplained))
	if v.At > 0 {
		e.Set("Share", tables.Double(v.Last.Share))
		setCounts(&e, v.Last.counts())
	}
	differ, err := packed(v.Differ, len(v.Differ))
	if len(v.Differ) > 0 {
		e.Set("Differ", differ)
	}
	return e, err
}

// VerificationOf decodes the row.
func VerificationOf(e tables.Entity) (Verification, error) {
	f := fieldsOf(&e)
	v := Verification{Number: f.Int("Number"), By: f.String("By"), Unexplained: f.Int("Open"), ETag: e.ETag,
		Last: Verified{Share: f.Float("Share")}}
	readCounts(f, v.Last.counts())
	var err error
	v.Through, err = ParseDay(f.String("Through"))
	f.Fail("Through", err)
	for name, to := range map[string]*tables.Ticks{"At": &v.At, "Until": &v.Until} {
		if e.Get(name) != (tables.Value{}) {
			*to = f.Ticks(name)
		}
	}
	if text := f.String("Differ"); text != "" {
		f.Fail("Differ", json.Unmarshal([]byte(text), &v.Differ))
	}
	return v, f.Err()
}
