package model

import (
	"context"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// Device returns everything about a device, or ErrUnknown. A tenant that had the device once gets what is of its time.
func (s *Store) Device(ctx context.Context, id string) (DeviceAnswer, Read, error) {
	o, first, err := s.holder(ctx, id)
	if err != nil {
		return DeviceAnswer{}, first, err
	}
	r, second, err := s.device(ctx, o.member)
	read := first.And(second)
	if err != nil {
		return DeviceAnswer{}, read, err
	}
	now := time.Now()
	a := DeviceAnswer{Device: recordOf(o, r.inFleet), State: OK, Latest: []Latest{}, Pipelines: []DevicePipeline{},
		Rejects: []Reject{}, Unreadable: append(unreadableOf(o.skipped), r.unreadable...), Operations: read.Operations}
	newest := r.heard
	for _, v := range r.latest {
		newest = max(newest, v.At)
		a.Latest = append(a.Latest, s.newestValue(v, now))
	}
	for _, r := range r.rates {
		a.Rates = append(a.Rates, s.newestRate(r, now))
	}
	if unix(newest) < s.silentBefore() {
		a.State = Silent
	}
	for _, t := range r.tracks {
		a.Pipelines = append(a.Pipelines, t.answer(now))
		if t.Failing() {
			a.State = Held
		}
	}
	switch {
	case o.until != 0:
		a.State = Moved
	case o.status() == schema.Revoked:
		a.State = Revoked
	}
	for _, e := range r.rejects {
		a.Rejects = append(a.Rejects, rejectOf(e))
	}
	return a, read, nil
}

func (s *Store) newestValue(v latest.Value, now time.Time) Latest {
	at := v.At.Time()
	l := Latest{Sensor: v.Sensor, Value: v.Number, Unit: s.unit(v.Sensor), Time: at,
		AgeSeconds: max(0, now.Sub(at)).Seconds(), Doubtful: v.Doubtful}
	if v.Is == fold.State {
		l.Value = v.State
	}
	return l
}

// rejectOf returns a reject as it is shown. For a whole row, the value is the row.
func rejectOf(r query.Reject) Reject {
	const limit = 120 // characters of a value; furrow rejects shows all of it
	value := r.Value
	if r.Sensor == "" {
		value = r.Reading
	}
	if runes := []rune(value); len(runes) > limit {
		value = string(runes[:limit]) + "…"
	}
	return Reject{Pipeline: string(r.Pipeline), Number: r.Number + 1, Row: r.Row, Time: timeOf(r.Row), Sensor: r.Sensor,
		Reason: r.Reason, Value: value, At: r.At.Time()}
}

func (t tracked) answer(now time.Time) DevicePipeline {
	p := DevicePipeline{Pipeline: string(t.pipeline), Checkpoint: t.Checkpoint, CheckpointTime: timeOf(t.Checkpoint),
		Rows: t.Rows, Rejects: t.Rejects, RejectsKept: min(t.Rejects, schema.RejectSlots), Late: t.Late}
	if lag := 0.0; t.Checkpoint != "" || t.waiting != 0 {
		if t.waiting != 0 {
			lag = max(0, now.Sub(t.waiting.Time())).Seconds()
		}
		p.LagSeconds = &lag
	}
	if t.BatchRows > 0 {
		p.LastBatch = &LastBatch{t.BatchRows, t.BatchTook.Seconds()}
	}
	if t.Failing() {
		p.Held = &Hold{Until: t.HeldUntil.Time(), Reason: t.Reason, Attempts: t.Attempts}
	}
	return p
}

// timeOf returns the time in a row key, or nil where there is none.
func timeOf(row string) *time.Time {
	at := query.TimeOf(row)
	if at == 0 {
		return nil
	}
	t := at.Time()
	return &t
}

func recordOf(o owner, inFleet bool) Record {
	m := o.member
	r := Record{Device: string(m.Device), Month: m.Month.String(), Tenant: string(m.Tenant), Readings: m.Readings,
		Status: string(o.status()), InFleet: &inFleet}
	if o.until != 0 {
		until := o.until.Time()
		r.Status, r.Until, r.InFleet = string(Moved), &until, nil
		r.Site, r.Labels = string(m.Site), m.Labels
	}
	d := o.record
	if d == nil {
		return r
	}
	r.Site, r.Labels, r.Enrollment = string(d.Site), d.Labels, string(d.Enrollment)
	if d.Position != nil {
		r.Lat, r.Lon = &d.Position.Lat, &d.Position.Lon
	}
	for _, t := range d.Tokens {
		r.Tokens = append(r.Tokens, Token{Policy: t.Policy, From: t.From.Time(), To: t.To.Time(), Expires: t.Expiry.Time(),
			Ended: o.policies != nil && o.policies.Ended(t), Fingerprint: t.Fingerprint})
	}
	return r
}
