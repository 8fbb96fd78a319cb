package model

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"furrow/tables/schema"
	"furrow/worker/query"
)

// Accounts are where a fleet is stored, in one or in several whose answers are joined, and what the poller keeps of it
// in memory.
type Accounts struct {
	all   []*account
	index *index
	watch *watch
	log   *slog.Logger
	clock func() time.Time // by which devices are silent
}

// several reports whether the fleet is in several accounts.
func (as *Accounts) several() bool { return len(as.all) > 1 }

// accountOf returns the account of a device; the first one for an unknown device.
func (as *Accounts) accountOf(id schema.DeviceID) *account {
	in := uint16(0)
	as.index.look(string(id), func(d *device) { in = as.index.in(d) })
	return as.all[in]
}

// NumberOf returns the place of a device's account in Config.Accounts; 0 for an unknown device.
func (as *Accounts) NumberOf(id schema.DeviceID) int { return int(as.accountOf(id).number) }

// NumbersOf returns the accounts in which a tenant has devices, or had some, as NumberOf does.
func (as *Accounts) NumbersOf(t schema.Tenant) (all []int) {
	for _, a := range as.all {
		if slices.Contains(as.index.tenantsIn(a.number), tenantIn{t, a.number}) {
			all = append(all, int(a.number))
		}
	}
	return all
}

// NumberNamed returns the number of the account with a name; of one account only, that is the one without a name.
func (as *Accounts) NumberNamed(name string) (number int, known bool) {
	for _, a := range as.all {
		if as.nameOf(a) == name {
			return int(a.number), true
		}
	}
	return 0, false
}

// fleetOf returns where a device is stored.
func (as *Accounts) fleetOf(id schema.DeviceID) query.Fleet { return as.accountOf(id).fleet }

// nameOf returns the name of an account, or nothing where there is only one.
func (as *Accounts) nameOf(a *account) string {
	if !as.several() {
		return ""
	}
	return a.Name
}

// Missing returns the names of the accounts that could not be read the last time, if there are others.
func (as *Accounts) Missing() []string {
	return as.namesOf(func(a *account) bool { return as.several() && a.failed.Load() })
}

// Full returns the names of the accounts whose disk is full.
func (as *Accounts) Full() []string { return as.namesOf((*account).diskFull) }

func (as *Accounts) namesOf(which func(*account) bool) (names []string) {
	for _, a := range as.all {
		if which(a) {
			names = append(names, a.Name)
		}
	}
	return names
}

// Configured returns the pipelines of all accounts.
func (as *Accounts) Configured() Configured {
	if !as.several() {
		return as.all[0].configured()
	}
	var all Configured
	for _, a := range as.all {
		all = append(all, a.configured()...)
	}
	return all
}

// complete reports whether the newest values of all devices were read once.
func (as *Accounts) complete() bool {
	for _, a := range as.all {
		if !a.poller.complete.Load() && !(as.several() && a.failed.Load()) {
			return false
		}
	}
	return true
}

// operations returns how many operations the last polls took.
func (as *Accounts) operations() (n int) {
	for _, a := range as.all {
		n += a.poller.cost()
	}
	return n
}

// pace returns how fast the pipelines fold that keep newest values, as one, and whether that is known.
func (as *Accounts) pace(now time.Time) (perMinute float64, lag time.Duration, known bool) {
	for _, a := range as.all {
		if p := a.poller.pace.Load(); p != nil {
			perMinute, lag, known = perMinute+p.perMinute, max(lag, now.Sub(p.done.Time()), p.behind), true
		}
	}
	return perMinute, lag, known
}

// folded returns the time up to which all accounts that answer have folded what devices sent, by their last runs. A
// device is silent by it: with a cadence of 60 s, one that sends every 10 s would else be silent before each run.
func (as *Accounts) folded() time.Time {
	at := as.clock()
	for _, a := range as.all {
		if p := a.poller.pace.Load(); p != nil && !a.failed.Load() && p.folded.Before(at) {
			at = p.folded
		}
	}
	return at
}

// current waits for the poller where that takes a moment.
func (as *Accounts) current(ctx context.Context) error {
	at, err := as.watch.await(ctx)
	ReadOf(ctx).addPoll(at, as.operations())
	return err
}

// tenantFor waits for the poller, and returns the tenant whose devices answer a question about asked, which is empty
// for all. It is a TenantError where ctx may not see that tenant, or no device belongs to it. A person's own tenant
// need not have any.
func (as *Accounts) tenantFor(ctx context.Context, asked string) (string, error) {
	if err := as.current(ctx); err != nil {
		return "", err
	}
	tenant := scoped(ctx, asked)
	if tenant != within(ctx) && !as.index.hasTenant(tenant) {
		return "", &TenantError{asked}
	}
	return tenant, nil
}

// now returns the Unix time that states are of. It is zero until all values were read once: no device is silent or
// new then.
func (as *Accounts) now() uint32 {
	if !as.complete() {
		return 0
	}
	return uint32(as.folded().Unix())
}
