package config

import (
	"context"
	"reflect"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/condition"
	"furrow/jobs/retain"
	"furrow/jobs/rules"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// Retention is the name of the pipeline that deletes what the retention of a configuration no longer keeps. It is in no
// file.
const Retention schema.Pipeline = "retention"

// Tokens admit rows of the last 7 days by default, and audits look for late ones a day longer. Where an enrollment
// admits older rows, these are kept accordingly.
const (
	retentionCadence = 6 * time.Hour
	leastKept        = 9 * day
)

// A Keep says how long what is stored of some devices is kept. Zero is for ever.
type Keep struct {
	Match    rules.Match                     `yaml:"match"`                // zero: all devices
	Where    string                          `yaml:"where" is:"condition"` // on the readings that go; empty: all
	Readings time.Duration                   `yaml:"readings" is:"kept"`
	Rollups  map[schema.Window]time.Duration `yaml:"rollups"`
	Rejects  time.Duration                   `yaml:"rejects" is:"kept"`
	Commands time.Duration                   `yaml:"commands" is:"kept"`

	// Kept by tenant, in entries that match nothing else.
	Buckets   map[schema.Window]time.Duration `yaml:"buckets" is:"reported"`
	Reports   map[schema.Window]time.Duration `yaml:"reports" is:"reported"`
	Incidents time.Duration                   `yaml:"incidents" is:"kept"`
	Activity  time.Duration                   `yaml:"activity" is:"kept"`
	Archive   time.Duration                   `yaml:"archive" is:"kept"`
}

// keptTag declares the durations of windows.
const keptTag = `is:"kept"`

// check checks an entry by itself.
func (k *Keep) check(r *reader, _, n ast.Node, _ bool) {
	match := retain.Keep{Match: k.Match.Match, Models: k.Match.Model}
	for _, name := range []string{"buckets", "reports", "incidents", "activity", "archive"} {
		if at := r.child(n, name); at != nil && !match.ByTenant() {
			r.problem(at, "%s: belong to a tenant as a whole, so they cannot be kept by what a single device has; "+
				"move the key to an entry without match, or one that matches tenant alone", name)
		}
	}
	switch at := r.child(n, "archive"); {
	case k.Archive == 0:
	case !slices.ContainsFunc(r.config.Pipelines, Pipeline.Archives):
		r.problem(at, "archive: no pipeline has the processor archive")
	case k.Archive < k.Readings:
		r.problem(at, "archive: %s is shorter than readings: %s, and so the archive would never have what readings no "+
			"longer do", schema.FormatDuration(k.Archive), schema.FormatDuration(k.Readings))
	}
	if k.Where != "" && k.Readings == 0 {
		r.problem(r.child(n, "where"), "where: say how long the rows are kept for which it holds, as in readings: 14d")
	}
}

// Kept is a list of what is kept: the first entry that a device matches holds for it.
type Kept []Keep

// check reports entries that are never used.
func (all *Kept) check(r *reader, _, n ast.Node, _ bool) {
	whole := 0
	for i, item := range r.entries(n) {
		if whole > 0 {
			r.problem(item, "retention: line %d is for all devices, so this entry is never used; move it above that line",
				whole)
		}
		if match := (*all)[i].Match; !match.Some() && len(match.Model) == 0 {
			whole, _ = place(item)
		}
	}
}

// hasWindow reports whether something has a window, outputs or reports, and what to say if nothing does.
func (c *Config) hasWindow(w schema.Window, reported bool) (without string, has bool) {
	if reported {
		return "no report has the window", c.Reports != nil && slices.Contains(c.Reports.Windows, w)
	}
	return "no pipeline has the window", slices.ContainsFunc(c.Pipelines, func(p Pipeline) bool {
		return slices.ContainsFunc(p.Processors, func(p Processor) bool { return slices.Contains(p.Sizes(), w) })
	})
}

// retain gives the configuration the pipeline that deletes.
func (c *Config) retain() {
	if len(c.Retention) == 0 {
		return
	}
	p := newPipeline()
	p.Name, p.Cadence, p.Batch, p.Models = Retention, retentionCadence, jobs.MaxBatch, c.Models
	p.Keep, p.Budget, p.Verify, p.Others = c.Retention, c.Budget.USDPerMonth, c.Verify, slices.Clone(c.Pipelines)
	c.Pipelines = append(c.Pipelines, p)
}

// Retains reports whether the pipeline deletes instead of folding.
func (p Pipeline) Retains() bool { return p.Name == Retention }

// InFile returns the pipelines that a file has.
func (c *Config) InFile() []Pipeline {
	return slices.DeleteFunc(slices.Clone(c.Pipelines), Pipeline.Retains)
}

// Keeps returns what the configuration keeps, as jobs have it.
func (p Pipeline) Keeps() (all []retain.Keep, err error) {
	for _, k := range p.Keep {
		keep := retain.Keep{Match: k.Match.Match, Models: k.Match.Model, Readings: k.Readings, Rollups: k.Rollups,
			Rejects: k.Rejects, Commands: k.Commands, Buckets: k.Buckets, Reports: k.Reports, Incidents: k.Incidents,
			Activity: k.Activity, Archive: k.Archive}
		if k.Where != "" {
			if keep.Where, err = condition.Parse(k.Where); err != nil {
				return nil, err
			}
		}
		all = append(all, keep)
	}
	return all, nil
}

// retention returns what the pipeline deletes.
func (p Pipeline) retention(
	client *tables.Client, names schema.Names, store *archive.Store,
) (*jobs.Retention, error) {
	if !p.Retains() {
		return nil, nil
	}
	r := &jobs.Retention{}
	var err error
	if r.Keep, err = p.Keeps(); err != nil {
		return nil, err
	}
	for _, other := range p.Others {
		other.Format = p.Format
		built, err := other.Build(client, names, store)
		if err != nil {
			return nil, err
		}
		r.Others = append(r.Others, built)
		if made, is := built.Groups[schema.ArchiveMark].(*archive.Tables); is {
			r.OldDays = made.OldDays
			r.Archived = func(ctx context.Context, m schema.Month, t schema.Tenant, d schema.Day) (bool, error) {
				return made.Has(ctx, archive.TableDay{Tenant: t, Day: d, Month: m})
			}
		}
	}
	return r, nil
}

// changedRetention describes the differences between what two configurations keep.
func changedRetention(old, new []Keep) []string {
	switch {
	case reflect.DeepEqual(shown(&Config{Retention: old}), shown(&Config{Retention: new})):
		return nil
	case len(old) == 0:
		return []string{"retention is new: what is older is deleted for good"}
	case len(new) == 0:
		return []string{"retention is removed: everything is kept from now on"}
	}
	return []string{"retention has changed"}
}
