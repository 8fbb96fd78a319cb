package query

import (
	"context"
	"fmt"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// An Unheard is an enrollment for which an audit has found rows of devices that had no token.
type Unheard struct {
	Enrollment schema.EnrollmentID `json:"enrollment"` // empty: of devices without one
	Device     schema.DeviceID     `json:"device"`     // one of them
	Devices    int                 `json:"devices"`    // that the last audit has found which found any
	At         time.Time           `json:"at"`         // slot of the run of that audit
}

// String says what was found, and what to do.
func (u Unheard) String() string {
	of, cure := "without an enrollment", ""
	if u.Enrollment != "" {
		of = "of enrollment " + string(u.Enrollment)
		cure = fmt.Sprintf(", and furrow enrollment set %s --written-by-others has every run look", u.Enrollment)
	}
	devices := "1 device"
	if u.Devices != 1 {
		devices = fmt.Sprint(u.Devices, " devices")
	}
	return fmt.Sprintf("an audit of %s found rows of %s %s that had no token, such as %s: if somebody writes them "+
		"with the account's key, they are found late%s", u.At.Format("15:04 UTC"), devices, of, u.Device, cure)
}

// Unheard returns the enrollments for which audits since a time have found rows that no token admitted.
func (f Progress) Unheard(ctx context.Context, p schema.Pipeline, since time.Time) (all []Unheard, err error) {
	rows := tables.Query{Range: schema.UnheardRows(p)}
	for u, err := range recordsOf(ctx, f.Tables.Table(f.Names.Runs()), rows, schema.UnheardOf) {
		if err != nil {
			return nil, err
		}
		if at := u.At.Time(); !at.Before(since) {
			all = append(all, Unheard{u.Enrollment, u.Device, u.Devices, at})
		}
	}
	return all, nil
}
