package admin

import (
	"context"
	"errors"
	"slices"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// Names of acts in the activity log: those of the commands.
const (
	RevokeAct  = "device revoke"
	RestoreAct = "device restore"
)

// Revoke ends the tokens of a device, and it gets no others; see sas.Policies. It reports whether that was so already.
// With atExpiry, or if the device's enrollment has AtExpiry, its tokens end when they expire.
func (f Fleet) Revoke(ctx context.Context, by Actor, d schema.Device, atExpiry bool) (already bool, err error) {
	if !atExpiry {
		if atExpiry, err = f.AtExpiry(ctx, d); err != nil {
			return false, err
		}
	}
	act := schema.Act{What: RevokeAct, Device: d.ID, Tenant: d.Tenant}
	if atExpiry {
		act.Detail = "at expiry"
	}
	err = f.Do(ctx, by, act, func(ctx context.Context) (string, error) {
		now, err := f.Device(ctx, d.ID)
		if err == nil {
			already, err = f.Revoked(ctx, now, atExpiry)
		}
		if err != nil {
			return "", err
		}
		return outcome(already, "revoked"), f.Policies.Revoke(ctx, d, atExpiry)
	})
	return already, err
}

// Restore lets a device get tokens again. It reports whether it could already.
func (f Fleet) Restore(ctx context.Context, by Actor, d schema.Device) (already bool, err error) {
	act := schema.Act{What: RestoreAct, Device: d.ID, Tenant: d.Tenant}
	err = f.Do(ctx, by, act, func(ctx context.Context) (string, error) {
		now, err := f.Device(ctx, d.ID)
		if err != nil {
			return "", err
		}
		already = now.Status != schema.Revoked
		return outcome(already, "restored"), f.Policies.Restore(ctx, d)
	})
	return already, err
}

func outcome(already bool, what string) string {
	if already {
		return "it was " + what + " already"
	}
	return what
}

// Revoked reports whether a device is revoked and, unless tokens may expire by themselves, none is left.
func (f Fleet) Revoked(ctx context.Context, d schema.Device, atExpiry bool) (bool, error) {
	if d.Status != schema.Revoked || atExpiry || len(d.Tokens) == 0 {
		return d.Status == schema.Revoked, nil
	}
	last := d.Tokens[len(d.Tokens)-1]
	if last.Policy == "" {
		return true, nil
	}
	policies, _, err := f.reader().Devices().Policies(ctx, d.Readings)
	if err != nil || !policies.Ended(last) || last.Commands == "" {
		return policies.Ended(last), err
	}
	policies, _, err = f.reader().Devices().Policies(ctx, f.Names.Commands())
	return policies.Ended(schema.Token{Policy: last.Commands}), err
}

// AtExpiry reports whether no revocation ends tokens of a device before they expire.
func (f Fleet) AtExpiry(ctx context.Context, d schema.Device) (bool, error) {
	return f.Enrollments.AtExpiry(ctx, d)
}

// LastExpiry returns when the last token of a device expires; zero if none is valid.
func LastExpiry(d schema.Device) time.Time {
	var last tables.Ticks
	for _, t := range d.Tokens {
		last = max(last, t.Expiry)
	}
	if last.Time().Before(time.Now()) {
		return time.Time{}
	}
	return last.Time()
}

// LastUnended returns when the last token of a device expires that no revocation ends; zero if none is valid. A device
// keeps one where it registers again in another enrollment.
func LastUnended(d schema.Device) time.Time {
	d.Tokens = slices.DeleteFunc(slices.Clone(d.Tokens), func(t schema.Token) bool { return t.Policy != "" })
	return LastExpiry(d)
}

// Lockout returns the first of the devices whose revocation locks out others for long, and its enrollment: devices
// with tokens for more than a day may not request another for weeks.
func (f Fleet) Lockout(
	ctx context.Context, devices []schema.Device,
) (device schema.Device, e schema.Enrollment, locks bool, err error) {
	for _, device := range devices {
		if device.Enrollment == "" {
			continue
		}
		e, err := f.Enrollments.Get(ctx, device.Enrollment)
		if errors.Is(err, sas.ErrNoEnrollment) || err == nil && e.Life <= sas.LongLife {
			continue
		}
		return device, e, err == nil, err
	}
	return device, e, false, nil
}
