package model

import (
	"context"
	"time"

	"furrow/jobs/latest"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// Device returns everything about a device, or ErrUnknown. A tenant that had the device once gets what is of its time.
func (ds *Devices) Device(ctx context.Context, id string) (DeviceAnswer, error) {
	o, err := ds.owners.holder(ctx, id)
	if err != nil {
		return DeviceAnswer{}, err
	}
	r, err := ds.device(ctx, o.member)
	if err != nil {
		return DeviceAnswer{}, err
	}
	now := time.Now()
	a := DeviceAnswer{Device: recordOf(o, r.inFleet), State: OK, Latest: []Latest{}, Pipelines: []DevicePipeline{},
		Rejects:    []answers.Reject{},
		Unreadable: append(unreadableOf(o.skipped), r.unreadable...)}
	newest := r.heard
	for _, v := range r.latest {
		newest = max(newest, v.At)
		a.Latest = append(a.Latest, ds.newestValue(o.member, v, now))
	}
	for _, r := range r.rates {
		a.Rates = append(a.Rates, ds.newestRate(o.member, r, now))
	}
	every := ds.accounts.accountOf(o.member.Device).every(o.member)
	a.Heard, a.EverySeconds = timeOfUnix(unix(newest)), every.Seconds()
	if due := dueAt(unix(newest), seconds(every)); due == 0 {
		a.State = Unheard
	} else if due < ds.accounts.now() {
		a.State, a.OverdueSince = Silent, timeOfUnix(due)
	}
	for _, t := range r.tracks {
		if t.waiting != 0 && a.State == Unheard {
			a.State = OK // it has sent what is not folded yet
		}
		a.Pipelines = append(a.Pipelines, t.answer(now))
		if t.Failing() {
			a.State = Held
		}
	}
	if o.until == 0 {
		ds.accounts.index.look(id, func(d *device) { a.Severity = severityText(severityIn(d.flags)) })
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
	return a, nil
}

func (ds *Devices) newestValue(m schema.Member, v latest.Value, now time.Time) Latest {
	return Latest{v.Sensor, answers.NewestValueOf(v.At, v.SensorValue, ds.accounts.unitOf(m, v.Sensor)),
		max(0, now.Sub(v.At.Time())).Seconds()}
}

// rejectOf returns a reject as it is shown: without long texts. For a whole row, the value is the row.
func rejectOf(r query.Reject) answers.Reject {
	const limit = 120 // characters of a value; furrow rejects shows all of it
	out := answers.RejectOf(r)
	if out.Sensor == "" {
		out.Value = out.Reading
	}
	for _, text := range []*string{&out.Value, &out.Reading} {
		if runes := []rune(*text); len(runes) > limit {
			*text = string(runes[:limit]) + "…"
		}
	}
	return out
}

func (t tracked) answer(now time.Time) DevicePipeline {
	p := DevicePipeline{Pipeline: string(t.pipeline), Checkpoint: t.Checkpoint, CheckpointTime: timeOf(t.Checkpoint),
		Rows: t.Rows, Rejects: t.Rejects, RejectsKept: min(t.Rejects, schema.RejectSlots), Late: t.Late,
		Rest: t.rest, Days: append([]query.FoldedDay{}, t.days...)}
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
	return new(at.Time())
}

func recordOf(o owner, inFleet bool) answers.Record {
	m := o.member
	r := answers.Record{Site: string(m.Site), Labels: m.Labels}
	if o.record != nil {
		r = answers.RecordOf(*o.record)
		r.Tokens = answers.TokensOf(*o.record, o.policies)
	}
	r.Device, r.Month, r.Tenant, r.Readings = string(m.Device), m.Month.String(), string(m.Tenant), m.Readings
	r.Status, r.InFleet = string(o.status()), &inFleet
	if o.until != 0 {
		r.Status, r.Until, r.InFleet = string(Moved), new(o.until.Time()), nil
	}
	return r
}
