package sas

import (
	"context"
	"errors"
	"fmt"
	"maps"

	"furrow/tables"
)

// An Outcome is what an import did with a device.
type Outcome string

const (
	Added   Outcome = "added"
	Changed Outcome = "changed"
	Same    Outcome = "same"
)

// A ContradictionError says that a device is known as something that an import may
// not change.
type ContradictionError struct{ text string }

func (e *ContradictionError) Error() string { return e.text }

// Import makes a device known as it is stated to be, or gives one that is known
// the site, the position and the labels that are stated; what is not stated stays
// as it is. The month of a device that is known never changes, and another tenant
// or enrollment is a ContradictionError. It completes what an earlier attempt has
// left undone, and a repeat changes nothing.
func (r Registry) Import(ctx context.Context, stated tables.Device) (tables.Device, Outcome, error) {
	stored, err := r.Get(ctx, stated.ID)
	if errors.Is(err, tables.ErrNotFound) {
		return r.add(ctx, stated)
	}
	if err != nil {
		return stored, "", err
	}
	return r.amend(ctx, stored, stated)
}

// WouldImport is what Import would do.
func (r Registry) WouldImport(ctx context.Context, stated tables.Device) (Outcome, error) {
	stored, err := r.Get(ctx, stated.ID)
	if errors.Is(err, tables.ErrNotFound) {
		_, err := stated.Entity()
		return Added, err
	}
	if err != nil {
		return "", err
	}
	changed, err := amended(&stored, stated)
	if err == nil && changed {
		return Changed, nil
	}
	return Same, err
}

// add registers a device, which may have registered by itself meanwhile.
func (r Registry) add(ctx context.Context, stated tables.Device) (tables.Device, Outcome, error) {
	stored, err := r.Register(ctx, stated)
	if err != nil {
		return stored, "", err
	}
	d := stored
	switch changed, err := amended(&d, stated); {
	case err != nil:
		return stored, "", err
	case changed:
		return r.amend(ctx, stored, stated)
	}
	return stored, Added, nil
}

// amend gives a device that is known what is stated of it.
func (r Registry) amend(ctx context.Context, stored, stated tables.Device) (tables.Device, Outcome, error) {
	d := stored
	changed, err := amended(&d, stated)
	if err != nil {
		return stored, "", err
	}
	if changed {
		d, err = r.Update(ctx, stated.ID, func(d *tables.Device) error {
			_, err := amended(d, stated)
			return err
		})
		if err != nil {
			return d, "", err
		}
	}
	outcome := Same
	if changed {
		outcome = Changed
	}
	return d, outcome, r.complete(ctx, d)
}

// amended gives d what is stated of it, and tells whether that changed it.
func amended(d *tables.Device, stated tables.Device) (changed bool, err error) {
	switch {
	case stated.Tenant != d.Tenant:
		return false, &ContradictionError{fmt.Sprintf("it belongs to tenant %s, and not to %s: its outputs are stored as that tenant's, so a device never changes hands; give it a new id", d.Tenant, stated.Tenant)}
	case stated.Enrollment != d.Enrollment:
		return false, &ContradictionError{fmt.Sprintf("it belongs to enrollment %s, and not to %s: its key comes from there", d.Enrollment, stated.Enrollment)}
	}
	if stated.Site != "" && stated.Site != d.Site {
		d.Site, changed = stated.Site, true
	}
	if stated.Position != nil && (d.Position == nil || *stated.Position != *d.Position) {
		d.Position, changed = stated.Position, true
	}
	labels := maps.Clone(d.Labels)
	for name, text := range stated.Labels {
		if was, there := labels[name]; there && was == text {
			continue
		}
		if labels == nil {
			labels = map[string]string{}
		}
		labels[name], changed = text, true
	}
	d.Labels = labels // a copy: another holds the record that d came from
	return changed, nil
}
