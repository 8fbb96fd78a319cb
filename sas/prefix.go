package sas

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"furrow/tables/schema"
)

// Reasons why a device cannot register itself with its ID. A registered device keeps its enrollment.
var (
	ErrPrefix      = errors.New("the device ID does not begin with the prefix of its enrollment")
	ErrOtherPrefix = errors.New("the device ID begins with the prefix of another enrollment")
)

// CheckPrefix returns why a device cannot register itself in an enrollment: its ID does not begin with the
// enrollment's prefix, or another enrollment has a longer prefix that the ID begins with. It sees a change of a prefix
// within Recent, and fails while enrollments cannot be read: registered devices can wait for that, new ones have to.
func (n *Enrollments) CheckPrefix(ctx context.Context, e schema.Enrollment, device schema.DeviceID) error {
	if !strings.HasPrefix(string(device), e.Prefix) {
		return ErrPrefix
	}
	_, other, err := n.prefixOwner(ctx, e, device)
	if other {
		return ErrOtherPrefix
	}
	return err
}

// prefixOwner returns the enrollment with the longest prefix that a device ID begins with, if that is longer than e's.
func (n *Enrollments) prefixOwner(
	ctx context.Context, e schema.Enrollment, device schema.DeviceID,
) (owner schema.Enrollment, other bool, err error) {
	byID, err := n.current(ctx)
	owner = e
	for _, f := range byID { // an invalid row keeps its prefix
		if o := f.enrollment; len(o.Prefix) > len(owner.Prefix) && strings.HasPrefix(string(device), o.Prefix) {
			owner, other = o, true
		}
	}
	return owner, other, err
}

// fitsPrefix refuses prefixes of different tenants that overlap: it would be unclear whose the IDs are that begin with
// both.
func fitsPrefix(e schema.Enrollment, others []schema.Enrollment) error {
	for _, o := range others {
		if o.ID == e.ID || o.Tenant == e.Tenant || o.Prefix == "" || e.Prefix == "" {
			continue
		}
		if strings.HasPrefix(o.Prefix, e.Prefix) || strings.HasPrefix(e.Prefix, o.Prefix) {
			return fmt.Errorf("enrollment %s of tenant %s has the prefix %s, which overlaps %s: device IDs that begin with "+
				"both would belong to two tenants; choose a prefix that is no beginning of the other", o.ID, o.Tenant,
				o.Prefix, e.Prefix)
		}
	}
	return nil
}
