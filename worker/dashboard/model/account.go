package model

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker"
	"furrow/worker/limits"
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
	// Stated returns the intervals between readings that enrollments state. It is called every 30 s while somebody uses
	// the dashboard. nil: none states any.
	Stated func(context.Context) (map[schema.EnrollmentID]time.Duration, error)
	// DiskFull reports whether the storage takes nothing new because its disk is full. nil: it never is.
	DiskFull func() bool
	// Disk returns how far the storage is from the limits of its disk. nil: nothing is known of the disk.
	Disk func() ([]limits.Limit, error)

	Objects *archive.Store // of the archive; nil: its files are not served
}

// An account is what the store knows of one.
type account struct {
	Account
	number  uint16 // place among those of the store
	fleet   query.Fleet
	current atomic.Pointer[[]Pipeline] // of the newest known configuration
	stated  atomic.Pointer[map[schema.EnrollmentID]time.Duration]
	loaded  chan struct{} // closed when all records were read once
	poller  *poller
	failed  atomic.Bool // it could not be read the last time
}

func newAccount(number int, c Account) *account {
	a := &account{Account: c, number: uint16(number), fleet: query.Fleet{Tables: c.Tables, Names: c.Names},
		loaded: make(chan struct{})}
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
		if p.Writes(latest.Table) && p.Sensors != nil {
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

// every returns the interval between readings that is stated for a device: by its model, or else by its enrollment.
func (a *account) every(m schema.Member) time.Duration {
	for _, p := range a.configured() {
		if p.Every == nil {
			continue
		}
		if every := p.Every(m); every > 0 {
			return every
		}
	}
	if stated := a.stated.Load(); stated != nil {
		return (*stated)[m.Enrollment]
	}
	return 0
}

func (a *account) diskFull() bool { return a.DiskFull != nil && a.DiskFull() }

// keepUp keeps what is known of an account up to date until ctx ends.
func (a *account) keepUp(ctx context.Context) {
	var both sync.WaitGroup
	both.Go(func() { a.poller.keepRecords(ctx) })
	both.Go(func() { a.poller.run(ctx) })
	both.Wait()
}
