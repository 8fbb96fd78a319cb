package schema

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"furrow/tables"

	"github.com/go-json-experiment/json"
)

// An EnrollmentID identifies an enrollment: [a-z][a-z0-9]{0,19}, as for pipelines, so that it
// can be a part of a table's name.
type EnrollmentID string

// ParseEnrollmentID returns s as an EnrollmentID, or why it is invalid.
func ParseEnrollmentID(s string) (EnrollmentID, error) {
	return EnrollmentID(s), checkWord("enrollment", s)
}

// EnrollmentRow is the RowKey of an enrollment's only row.
const EnrollmentRow = "enrollment"

// Limits of an enrollment.
const (
	MaxLife = 90 * 24 * time.Hour // of a token
	// MaxLifeAtExpiry is that of a token which no revocation can end.
	MaxLifeAtExpiry = time.Hour
	MaxBackfill     = 3660 * 24 * time.Hour // ten years; how old a row may be when its token is issued
	MaxRate         = 1_000_000             // tokens a minute
	mostDevices     = 1_000_000_000
)

// An Enrollment is a row of the table enrollments: a group of devices whose keys are
// derived from one key, and the policy of their tokens.
type Enrollment struct {
	ID       EnrollmentID
	Tenant   Tenant        `row:"Tenant"`   // of its devices
	Readings string        `row:"Readings"` // name of the table that they write to
	Life     time.Duration `row:"Life"`     // of a token
	Backfill time.Duration `row:"Backfill"` // how old a row may be when its token is issued
	// Admits is how old a row may be when it is stored with any token that was ever issued.
	// It never decreases: pipelines look for late rows that old.
	Admits time.Duration `row:"Admits"`

	// Site and Labels are those of devices that register themselves.
	Site   Site              `row:"Site,omitzero"`
	Labels map[string]string `row:"Labels,omitzero"`

	Prefix     string `row:"Prefix,omitzero"`     // of the IDs of its devices; empty: any
	Rate       int    `row:"Rate,omitzero"`       // tokens a minute at one endpoint; zero: no limit of its own
	MaxDevices int    `row:"MaxDevices,omitzero"` // that may register themselves; zero: no limit
	ImportOnly bool   `row:"ImportOnly"`          // only known devices get tokens
	Disabled   bool   `row:"Disabled"`            // no device gets a token
	Commands   bool   `row:"Commands"`            // with its token, a device gets one that reads its commands
	// AtExpiry means that its tokens refer to no stored access policy: a revocation ends none before it expires. It is
	// fixed when the enrollment is added, so that a revocation knows how to end a device's tokens.
	AtExpiry bool `row:"AtExpiry,omitzero"`
	Shards   int  `row:"Shards"` // of a month; zero means one

	SendEvery time.Duration `row:"SendEvery"` // suggested to devices
	// Others says that somebody else writes rows of the devices, with the account's key.
	Others bool `row:"WrittenByOthers,omitzero"`
	Batch  int  `row:"Batch"` // rows a transaction, suggested to devices

	// The sealed keys: storage never has one in the clear.
	Primary   []byte      `row:"Primary,omitzero"`
	Secondary []byte      `row:"Secondary,omitzero"`
	ETag      tables.ETag // of the version that was read
}

// Entity returns the row of n.
func (n Enrollment) Entity() (tables.Entity, error) {
	e := tables.Entity{PartitionKey: string(n.ID), RowKey: EnrollmentRow}
	err := e.Encode(&n)
	return e, cmp.Or(n.check(), err)
}

// EnrollmentOf decodes a row of the table enrollments.
func EnrollmentOf(e tables.Entity) (Enrollment, error) {
	n := Enrollment{ID: EnrollmentID(e.PartitionKey), ETag: e.ETag}
	f := decode(&e, &n)
	f.Fail("enrollment", n.check())
	return n, f.Err()
}

func (n Enrollment) check() error {
	_, errID := ParseEnrollmentID(string(n.ID))
	_, errTenant := ParseTenant(string(n.Tenant))
	_, errPrefix := IDsWithPrefix(n.Prefix)
	var errSite, errSpan error
	if n.Site != "" {
		_, errSite = ParseSite(string(n.Site))
	}
	switch {
	case n.Life < time.Minute || n.Life > MaxLife:
		errSpan = fmt.Errorf("enrollment %s: a token's life of %v is not between 1m and 90d", n.ID, n.Life)
	case n.AtExpiry && n.Life > MaxLifeAtExpiry:
		errSpan = fmt.Errorf("enrollment %s: a token's life of %s is longer than 1h, and its revocation is at expiry: no "+
			"longer one may outlive a revocation", n.ID, Window(n.Life))
	case n.Backfill < 0 || n.Backfill > MaxBackfill:
		errSpan = fmt.Errorf("enrollment %s: a backfill of %v is not between 0 and 3660d", n.ID, n.Backfill)
	case n.MaxDevices < 0 || n.MaxDevices > mostDevices:
		errSpan = fmt.Errorf("enrollment %s: a limit of %d devices is not between 1 and %d", n.ID, n.MaxDevices, mostDevices)
	case n.Rate < 0 || n.Rate > MaxRate:
		errSpan = fmt.Errorf("enrollment %s: %d tokens a minute are not between 1 and %d", n.ID, n.Rate, MaxRate)
	case n.Shards < 0 || n.Shards > MaxShards:
		errSpan = fmt.Errorf("enrollment %s: %d shards are not between 1 and %d", n.ID, n.Shards, MaxShards)
	case n.Batch < 0 || n.Batch > tables.MaxOps:
		errSpan = fmt.Errorf("enrollment %s: a batch of %d rows is not between 1 and %d", n.ID, n.Batch, tables.MaxOps)
	}
	return cmp.Or(errID, errTenant, errPrefix, errSite, tables.CheckTable(n.Readings), errSpan)
}

// CheckLabels returns why a device cannot have these labels. Names and values are text with the
// rules of a Site, and the labels together are limited to 32 KiB of JSON.
func CheckLabels(labels map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		if err := checkText("the name of a label", name); err != nil {
			return err
		}
		if err := checkText("label "+tables.Quote(name)+":", labels[name]); err != nil {
			return err
		}
	}
	const most = 32 << 10 // bytes, of 64 KiB in UTF-16
	text, err := json.Marshal(labels)
	if err == nil && len(text) > most {
		err = fmt.Errorf("labels have %d bytes together; at most %d are allowed", len(text), most)
	}
	return err
}
