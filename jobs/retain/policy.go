package retain

import (
	"context"
	"iter"
	"slices"
	"time"

	"furrow/jobs/commit"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"
)

// A Policy says what is deleted, and when.
type Policy struct {
	Keep []Keep // the first that a device matches holds for it; others keep everything
	// GiveWay waits a little for more urgent work before each device. It may be nil.
	GiveWay func(context.Context)
	// Archived reports whether an archive has a tenant's day of a partition of the fleet. It is nil if there is no
	// archive of days.
	Archived func(context.Context, schema.Month, schema.Tenant, schema.Day) (bool, error)
	// OldDays yields what an archive has of days that end before the one of a tenant. It may be nil.
	OldDays func(ctx context.Context, before func(schema.Tenant) schema.Day) iter.Seq2[Outdated, error]
}

// A Keep says how long what is stored of some devices is kept. Zero is for ever.
type Keep struct {
	Match  fold.Match // zero: all devices
	Models []string
	// Where, if it is not nil, limits Readings to the rows that it holds for. The others are kept.
	Where    *condition.Condition
	Readings time.Duration
	Rollups  map[schema.Window]time.Duration
	Rejects  time.Duration
	Commands time.Duration // finished ones, since they were sent

	// The others are for tenants as a whole: see KeepOfTenant.
	Buckets   map[schema.Window]time.Duration // that reports are made of
	Reports   map[schema.Window]time.Duration
	Incidents time.Duration // closed ones, since they closed, with all that is beside them
	Activity  time.Duration
	Archive   time.Duration
}

// Of returns what is kept of a device of a model, or nil: everything.
func (r *Policy) Of(m schema.Member, model string) *Keep {
	return keepOf(r.Keep, m, model)
}

func keepOf(all []Keep, m schema.Member, model string) *Keep {
	for i := range all {
		k := &all[i]
		if (!k.Match.Some() || k.Match.Of(m)) && (len(k.Models) == 0 || slices.Contains(k.Models, model)) {
			return k
		}
	}
	return nil
}

// settings stands for what decides which rows go.
func (k *Keep) settings(m *fold.Model) string {
	if k.Where == nil {
		return "all"
	}
	return "where:" + k.Where.String() + " " + m.Settings
}

// cut returns the time below which rows of a device may go, by the configuration alone: the start of a day.
func (p *Retainer) cut(k *Keep, m schema.Member, now tables.Ticks) tables.Ticks {
	if k == nil || k.Readings == 0 {
		return 0
	}
	return max(0, now.Add(-max(k.Readings, p.Late(m))).Floor(tables.Day))
}

// A Folding is a pipeline that folds, as retention sees it.
type Folding struct {
	Name     schema.Pipeline
	Tracking *tables.Table
	ModelOf  func(schema.Member) *fold.Model
	Archives bool // group jobs make days of an archive for it
}

// A Retainer deletes by a policy.
type Retainer struct {
	*Policy
	Client  *tables.Client
	Names   schema.Names
	Clock   commit.Clock
	Others  []Folding // all pipelines that fold
	ModelOf func(schema.Member) *fold.Model
	Late    func(schema.Member) time.Duration // age of the oldest row that a token admits
	Portion int                               // rows of a device that one job looks at
	Most    int                               // rows that it looks at in all
}

// An Outdated is some of what a tenant keeps no longer.
type Outdated struct {
	Tenant schema.Tenant // empty: of the fleet
	Table  string        // without the prefix of the fleet's names, or archive
	Window schema.Window // of reports and the buckets that they are made of
	Rows   int           // or objects
	Delete func(context.Context) error

	Stay int  // rows that are as old and stay
	Wait Wait // why
}
