package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"furrow/cmd/internal/records"
	"furrow/sas"
	"furrow/tables/schema"
)

// A deviceRecord is a device in lists.
type deviceRecord struct {
	schema.Device
	Outcome sas.Outcome // of an import; otherwise empty
	InFleet *bool       // whether its fleet row exists; nil: not read
	// Policies of its readings table; nil: not read, or there are none.
	Policies *schema.Policies
	tracks   []trackLine // of the pipelines that know it; only device show reads them
}

var _ records.Record = deviceRecord{}

func (deviceRecord) Columns() []string {
	return []string{"device", "month", "tenant", "site", "enrollment", "status", "lat", "lon", "labels"}
}

func (r deviceRecord) Lines() [][]any {
	var lat, lon any = "", ""
	if r.Position != nil {
		lat, lon = r.Position.Lat, r.Position.Lon
	}
	return [][]any{{string(r.ID), r.Month.String(), string(r.Tenant), string(r.Site), string(r.Enrollment),
		string(r.status()), lat, lon, labelsText(r.Labels)}}
}

// status treats a missing status as active.
func (r deviceRecord) status() schema.Status { return cmp.Or(r.Status, schema.Active) }

// labelsText formats labels as name=text in the order of the names.
func labelsText(labels map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		parts = append(parts, name+"="+labels[name])
	}
	return strings.Join(parts, ", ")
}

// deviceLine is a device in JSON.
type deviceLine struct {
	Device     schema.DeviceID     `json:"device"`
	Month      string              `json:"month"`
	Tenant     schema.Tenant       `json:"tenant"`
	Site       schema.Site         `json:"site,omitempty"`
	Lat        *float64            `json:"lat,omitempty"`
	Lon        *float64            `json:"lon,omitempty"`
	Labels     map[string]string   `json:"labels,omitempty"`
	Model      string              `json:"model,omitempty"` // that the device states
	Readings   string              `json:"readings"`
	Enrollment schema.EnrollmentID `json:"enrollment,omitempty"`
	Status     schema.Status       `json:"status"`
	Outcome    sas.Outcome         `json:"outcome,omitempty"` // only device add
	// whether runs find the device; like tokens, only device show and device set
	InFleet   *bool       `json:"inFleet,omitempty"`
	Tokens    []tokenLine `json:"tokens,omitempty"`
	Pipelines []trackLine `json:"pipelines,omitempty"`
}

// A trackLine is how far a pipeline has got with a device.
type trackLine struct {
	Pipeline     schema.Pipeline `json:"pipeline"`
	Checkpoint   string          `json:"checkpoint"` // rows up to this row key are folded
	Rows         int64           `json:"rows"`       // since the beginning
	Late         int64           `json:"late"`
	BatchRows    int64           `json:"batchRows"`    // that the last job with rows has folded
	BatchSeconds float64         `json:"batchSeconds"` // to read and to fold them
}

type tokenLine struct {
	Policy      string    `json:"policy"` // empty with --revocation at-expiry: no revocation ends it
	From        time.Time `json:"from"`   // lowest row key that it admits
	To          time.Time `json:"to"`
	Expires     time.Time `json:"expires"`
	Ended       bool      `json:"ended"` // whether a revocation ended it: of the device, or of another one of its cohort
	Fingerprint string    `json:"fingerprint"`
}

// ended reports whether a revocation has ended a token.
func (r deviceRecord) ended(t schema.Token) bool { return r.Policies != nil && r.Policies.Ended(t) }

func (r deviceRecord) Object() any {
	l := deviceLine{Device: r.ID, Month: r.Month.String(), Tenant: r.Tenant, Site: r.Site, Labels: r.Labels,
		Model:      r.Model,
		Readings:   r.Readings,
		Enrollment: r.Enrollment, Status: r.status(), Outcome: r.Outcome, InFleet: r.InFleet}
	if r.Position != nil {
		l.Lat, l.Lon = &r.Position.Lat, &r.Position.Lon
	}
	if l.Pipelines = r.tracks; r.InFleet == nil {
		return l
	}
	for _, t := range r.Device.Tokens {
		l.Tokens = append(l.Tokens, tokenLine{Policy: t.Policy, From: t.From.Time(), To: t.To.Time(),
			Expires: t.Expiry.Time(), Ended: r.ended(t), Fingerprint: t.Fingerprint})
	}
	return l
}
