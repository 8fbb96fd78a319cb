package sas

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
)

// A Delivery describes a device as a factory or an installer knows it. Zero fields are
// unknown.
type Delivery struct {
	Device   schema.DeviceID
	Tenant   schema.Tenant
	Site     schema.Site
	Position *schema.Position
	Labels   map[string]string
	Model    string
	Deployed time.Time
}

// record returns the record of a new device.
func (v Delivery) record(e schema.Enrollment, now time.Time) schema.Device {
	if !v.Deployed.IsZero() {
		now = v.Deployed
	}
	d := FirstContact(v.Device, e, now)
	d.Tenant, d.Site, d.Position = cmp.Or(v.Tenant, d.Tenant), cmp.Or(v.Site, d.Site), v.Position
	d.Labels, d.Model = merged(d.Labels, v.Labels), v.Model
	return d
}

func merged(labels, over map[string]string) map[string]string {
	if len(over) == 0 {
		return labels
	}
	m := maps.Clone(labels) // the original belongs to another record
	if m == nil {
		m = map[string]string{}
	}
	maps.Copy(m, over)
	return m
}

// An Outcome is what an import did to a device.
type Outcome string

const (
	Added   Outcome = "added"
	Changed Outcome = "changed"
	Same    Outcome = "same"
)

// A RefusedError is a reason why a delivery is invalid, independent of storage's state.
type RefusedError struct{ text string }

func (e *RefusedError) Error() string { return e.text }

func refused(format string, args ...any) error { return &RefusedError{fmt.Sprintf(format, args...)} }

// Import registers a device in an enrollment, or updates the site, position, labels and model of a
// registered one. Labels that the delivery does not contain stay. The month of a registered
// device never changes, and another tenant or enrollment is a RefusedError. Import completes
// an earlier attempt that was interrupted, and a repeat changes nothing.
func (r Registry) Import(ctx context.Context, e schema.Enrollment, v Delivery) (schema.Device, Outcome, error) {
	stored, err := r.Get(ctx, v.Device)
	if errors.Is(err, tables.ErrNotFound) || err == nil && stored.Status.MayRegister() {
		if err := r.checkOwner(ctx, e, v.Device); err != nil {
			return stored, "", err
		}
		return r.add(ctx, e, v)
	}
	if err != nil {
		return stored, "", err
	}
	return r.amend(ctx, stored, e, v)
}

// WouldImport returns what Import would do.
func (r Registry) WouldImport(ctx context.Context, e schema.Enrollment, v Delivery) (Outcome, error) {
	stored, err := r.Get(ctx, v.Device)
	if errors.Is(err, tables.ErrNotFound) || err == nil && stored.Status.MayRegister() {
		if err := r.checkOwner(ctx, e, v.Device); err != nil {
			return "", err
		}
		return Added, cmp.Or(v.checkNew(e), v.checkRemoved(stored, e))
	}
	if err != nil {
		return "", err
	}
	changed, err := v.amend(&stored, e)
	return outcome(changed), err
}

// checkOwner refuses a new device whose ID begins with the prefix of another enrollment.
func (r Registry) checkOwner(ctx context.Context, e schema.Enrollment, id schema.DeviceID) error {
	if r.Prefixes == nil {
		return nil
	}
	owner, other, err := r.Prefixes.prefixOwner(ctx, e, id)
	if err == nil && other {
		err = refused("its ID begins with %s, the prefix of enrollment %s: add it with --enrollment %s, or choose another ID",
			owner.Prefix, owner.ID, owner.ID)
	}
	return err
}

// checkNew returns why the device cannot be registered in an enrollment.
func (v Delivery) checkNew(e schema.Enrollment) error {
	d := v.record(e, time.Now())
	_, err := d.Entity()
	if err = cmp.Or(err, schema.CheckLabels(d.Labels)); err != nil {
		return refused("%v", err)
	}
	if !strings.HasPrefix(string(d.ID), e.Prefix) {
		return refused("the IDs of enrollment %s begin with %s", e.ID, e.Prefix)
	}
	return nil
}

// checkRemoved returns why a removed device cannot be registered again.
func (v Delivery) checkRemoved(stored schema.Device, e schema.Enrollment) error {
	if _, err := rejoined(stored, v.record(e, time.Now())); err != nil {
		return refused("%v", err)
	}
	return nil
}

// add registers a device, which may register itself at the same time.
func (r Registry) add(ctx context.Context, e schema.Enrollment, v Delivery) (schema.Device, Outcome, error) {
	if err := v.checkNew(e); err != nil {
		return schema.Device{}, "", err
	}
	stored, err := r.Register(ctx, v.record(e, time.Now()))
	if errors.Is(err, ErrElsewhere) {
		err = v.checkRemoved(stored, e)
	}
	if err != nil {
		return stored, "", err
	}
	stored, _, err = r.amend(ctx, stored, e, v)
	return stored, Added, err
}

// amend applies a delivery to a registered device.
func (r Registry) amend(
	ctx context.Context, stored schema.Device, e schema.Enrollment, v Delivery,
) (schema.Device, Outcome, error) {
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
	return d, outcome(changed), r.follow(ctx, d)
}

func outcome(changed bool) Outcome {
	if changed {
		return Changed
	}
	return Same
}

// amend applies the delivery to d and reports whether that changed it.
func (v Delivery) amend(d *schema.Device, e schema.Enrollment) (changed bool, err error) {
	switch {
	case d.Status.Left():
		return false, refused("it is being removed: complete this with furrow device remove %s", d.ID)
	case v.Tenant != "" && v.Tenant != d.Tenant:
		return false, refused("it belongs to tenant %s, not to %s: to move it, use furrow device move %s --tenant %s",
			d.Tenant, v.Tenant, d.ID, v.Tenant)
	case d.Enrollment != e.ID:
		return false, refused("it belongs to enrollment %s, not to %s: its key is derived from there",
			cmp.Or(d.Enrollment, "(none)"), e.ID)
	}
	if v.Site != "" && v.Site != d.Site {
		d.Site, changed = v.Site, true
	}
	if v.Position != nil && (d.Position == nil || *v.Position != *d.Position) {
		d.Position, changed = v.Position, true
	}
	if v.Model != "" && v.Model != d.Model {
		d.Model, changed = v.Model, true
	}
	if labels := merged(d.Labels, v.Labels); !maps.Equal(labels, d.Labels) {
		d.Labels, changed = labels, true
	}
	if err := schema.CheckLabels(d.Labels); err != nil {
		return false, refused("%v", err)
	}
	return changed, nil
}
