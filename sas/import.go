package sas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Delivery is what a factory, or who puts it up, says of a device. What is zero
// is not said.
type Delivery struct {
	Device   schema.DeviceID
	Tenant   schema.Tenant
	Site     schema.Site
	Position *schema.Position
	Labels   map[string]string
	Deployed time.Time
}

// record is the record of a device that was not known before.
func (v Delivery) record(e schema.Enrollment, now time.Time) schema.Device {
	if !v.Deployed.IsZero() {
		now = v.Deployed
	}
	d := FirstContact(v.Device, e, now)
	d.Tenant, d.Site, d.Position = cmp.Or(v.Tenant, d.Tenant), cmp.Or(v.Site, d.Site), v.Position
	d.Labels = merged(d.Labels, v.Labels)
	return d
}

func merged(labels, over map[string]string) map[string]string {
	if len(over) == 0 {
		return labels
	}
	m := maps.Clone(labels) // another holds the record that they came from
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, over)
	return m
}

// An Outcome is what an import did with a device.
type Outcome string

const (
	Added   Outcome = "added"
	Changed Outcome = "changed"
	Same    Outcome = "same"
)

// A RefusedError says why a delivery cannot be right, whatever storage does.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Import makes a device known as a member of an enrollment, or gives one that is
// known the site, the position and the labels that are said of it; of the labels,
// those that are not said stay. The month of a device that is known never changes,
// and another tenant or enrollment is a RefusedError. It completes what an
// earlier attempt has left undone, and a repeat changes nothing.
func (r Registry) Import(ctx context.Context, e schema.Enrollment, v Delivery) (schema.Device, Outcome, error) {
	stored, err := r.Get(ctx, v.Device)
	if errors.Is(err, tables.ErrNotFound) {
		return r.add(ctx, e, v)
	}
	if err != nil {
		return stored, "", err
	}
	return r.amend(ctx, stored, e, v)
}

// WouldImport is what Import would do.
func (r Registry) WouldImport(ctx context.Context, e schema.Enrollment, v Delivery) (Outcome, error) {
	stored, err := r.Get(ctx, v.Device)
	if errors.Is(err, tables.ErrNotFound) {
		return Added, checkNew(v.record(e, time.Now()))
	}
	if err != nil {
		return "", err
	}
	changed, err := v.amend(&stored, e)
	return outcome(changed), err
}

// checkNew says why there can be no such record.
func checkNew(d schema.Device) error {
	_, err := d.Entity()
	if err = cmp.Or(err, schema.CheckLabels(d.Labels)); err != nil {
		return refused("%v", err)
	}
	return nil
}

// add registers a device, which may register by itself meanwhile.
func (r Registry) add(ctx context.Context, e schema.Enrollment, v Delivery) (schema.Device, Outcome, error) {
	d := v.record(e, time.Now())
	if err := checkNew(d); err != nil {
		return d, "", err
	}
	stored, err := r.Register(ctx, d)
	if err != nil {
		return stored, "", err
	}
	stored, _, err = r.amend(ctx, stored, e, v)
	return stored, Added, err
}

// amend gives a device that is known what is said of it.
func (r Registry) amend(ctx context.Context, stored schema.Device, e schema.Enrollment, v Delivery) (schema.Device, Outcome, error) {
	d := stored
	changed, err := v.amend(&d, e)
	if err != nil {
		return stored, "", err
	}
	if changed {
		d, err = r.Update(ctx, v.Device, func(d *schema.Device) error {
			_, err := v.amend(d, e)
			return err
		})
		if err != nil {
			return d, "", err
		}
	}
	return d, outcome(changed), r.complete(ctx, d)
}

func outcome(changed bool) Outcome {
	if changed {
		return Changed
	}
	return Same
}

// amend gives d what is said of it, and tells whether that changed it.
func (v Delivery) amend(d *schema.Device, e schema.Enrollment) (changed bool, err error) {
	switch {
	case v.Tenant != "" && v.Tenant != d.Tenant:
		return false, refused("it belongs to tenant %s, and not to %s: what was made of its readings is stored as that tenant's, so that a device never changes hands; give it a new id", d.Tenant, v.Tenant)
	case d.Enrollment != e.ID:
		return false, refused("it belongs to enrollment %s, and not to %s: its key comes from there", cmp.Or(d.Enrollment, "(none)"), e.ID)
	}
	if v.Site != "" && v.Site != d.Site {
		d.Site, changed = v.Site, true
	}
	if v.Position != nil && (d.Position == nil || *v.Position != *d.Position) {
		d.Position, changed = v.Position, true
	}
	if labels := merged(d.Labels, v.Labels); !maps.Equal(labels, d.Labels) {
		d.Labels, changed = labels, true
	}
	if err := schema.CheckLabels(d.Labels); err != nil {
		return false, refused("%v", err)
	}
	return changed, nil
}
