package model

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/query"
)

// An Account is where a fleet is stored, or a part of it.
type Account struct {
	Name      string         // for people; it contains no secret
	Tables    *tables.Client // its OnOperation must be CountTable, or answers do not know what they cost
	Queues    *worker.Client
	Names     schema.Names
	Pipelines []Pipeline
	// Newer returns the pipelines of a newer configuration, and whether there is one. It is called every
	// 10 s while somebody uses the dashboard. nil: the pipelines never change.
	Newer func(context.Context) ([]Pipeline, bool, error)
	// DiskFull reports whether the storage takes nothing new because its disk is full. nil: it never is.
	DiskFull func() bool
}

// An account is what the store knows of one.
type account struct {
	Account
	number  uint16 // place among those of the store
	fleet   query.Fleet
	current atomic.Pointer[[]Pipeline] // of the newest known configuration
	loaded  chan struct{}              // closed when all records were read once
	poller  *poller
	failed  atomic.Bool // it could not be read the last time
}

func newAccount(s *Store, number int, c Account) *account {
	a := &account{Account: c, number: uint16(number), fleet: query.Fleet{Tables: c.Tables, Names: c.Names},
		loaded: make(chan struct{})}
	a.poller = newPoller(s, a)
	a.current.Store(&a.Pipelines)
	return a
}

// configured returns the pipelines of the newest known configuration.
func (a *account) configured() []Pipeline { return *a.current.Load() }

// anyPipeline returns a pipeline, which knows about where the newest readings of devices are; none is known before the
// configuration was read.
func (a *account) anyPipeline() schema.Pipeline {
	if all := a.configured(); len(all) > 0 {
		return all[0].Name
	}
	return ""
}

// sensorsOf returns what a device's rows mean to the pipeline that writes newest values.
func (a *account) sensorsOf(m schema.Member) *fold.Sensors {
	for _, p := range a.configured() {
		if p.Latest && p.Sensors != nil {
			return p.Sensors(m)
		}
	}
	return &fold.Sensors{}
}

// modelOf returns the name of a device's model.
func (a *account) modelOf(m schema.Member) string {
	for _, p := range a.configured() {
		if p.Model != nil {
			return p.Model(m)
		}
	}
	return ""
}

func (a *account) diskFull() bool { return a.DiskFull != nil && a.DiskFull() }

// several reports whether the fleet is in several accounts.
func (s *Store) several() bool { return len(s.accounts) > 1 }

// accountOf returns the account of a device; the first one for an unknown device.
func (s *Store) accountOf(id schema.DeviceID) *account {
	x := s.index
	x.mu.RLock()
	defer x.mu.RUnlock()
	if i, known := x.at[string(id)]; known {
		return s.accounts[x.monthOf[x.devices[i].month].account]
	}
	return s.accounts[0]
}

// NumberOf returns the place of a device's account in Config.Accounts; 0 for an unknown device.
func (s *Store) NumberOf(id schema.DeviceID) int { return int(s.accountOf(id).number) }

// NumbersOf returns the accounts in which a tenant has devices, or had some, as NumberOf does.
func (s *Store) NumbersOf(t schema.Tenant) (all []int) {
	for _, a := range s.accounts {
		if slices.Contains(s.index.tenantsIn(a.number), tenantIn{t, a.number}) {
			all = append(all, int(a.number))
		}
	}
	return all
}

// NumberNamed returns the number of the account with a name; of one account only, that is the one without a name.
func (s *Store) NumberNamed(name string) (number int, known bool) {
	for _, a := range s.accounts {
		if s.nameOf(a) == name {
			return int(a.number), true
		}
	}
	return 0, false
}

// fleetOf returns where a device is stored.
func (s *Store) fleetOf(id schema.DeviceID) query.Fleet { return s.accountOf(id).fleet }

// nameOf returns the name of an account, or nothing where there is only one.
func (s *Store) nameOf(a *account) string {
	if !s.several() {
		return ""
	}
	return a.Name
}

// Missing returns the names of the accounts that could not be read the last time, if there are others.
func (s *Store) Missing() (names []string) {
	for _, a := range s.accounts {
		if s.several() && a.failed.Load() {
			names = append(names, a.Name)
		}
	}
	return names
}

// Full returns the names of the accounts whose disk is full.
func (s *Store) Full() (names []string) {
	for _, a := range s.accounts {
		if a.diskFull() {
			names = append(names, a.Name)
		}
	}
	return names
}

// keepUp keeps what is known of an account up to date until ctx ends.
func (a *account) keepUp(ctx context.Context, s *Store) {
	var both sync.WaitGroup
	both.Go(func() { s.keepRecords(ctx, a) })
	both.Go(func() { a.poller.run(ctx) })
	both.Wait()
}

// configured returns the pipelines of all accounts.
func (s *Store) configured() []Pipeline {
	if !s.several() {
		return s.accounts[0].configured()
	}
	var all []Pipeline
	for _, a := range s.accounts {
		all = append(all, a.configured()...)
	}
	return all
}

// complete reports whether the newest values of all devices were read once.
func (s *Store) complete() bool {
	for _, a := range s.accounts {
		if !a.poller.complete.Load() && !(s.several() && a.failed.Load()) {
			return false
		}
	}
	return true
}

// cost returns how many operations the last polls took.
func (s *Store) cost() (n int) {
	for _, a := range s.accounts {
		n += a.poller.cost()
	}
	return n
}

// pace returns how fast the pipelines fold that keep newest values, as one, and whether that is known.
func (s *Store) pace(now time.Time) (perMinute float64, lag time.Duration, known bool) {
	for _, a := range s.accounts {
		if p := a.poller.pace.Load(); p != nil {
			perMinute, lag, known = perMinute+p.perMinute, max(lag, now.Sub(p.done.Time()), p.behind), true
		}
	}
	return perMinute, lag, known
}
