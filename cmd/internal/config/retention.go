package config

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"time"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/retain"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/goccy/go-yaml/ast"
)

// Retention is the name of the pipeline that deletes what the retention of a configuration no longer keeps. It is in no
// file.
const Retention schema.Pipeline = "retention"

// Bounds of what is kept. Tokens admit rows of the last 7 days by default, and audits look for late ones a day longer.
// Where an enrollment admits older rows, these are kept accordingly.
const (
	retentionCadence = 6 * time.Hour
	leastKept        = 9 * day
	mostKept         = 36_600 * day
)

// A Keep says how long what is stored of some devices is kept. Zero is for ever.
type Keep struct {
	Match    fold.Match // zero, without Models: all devices
	Models   []string
	Where    string // a condition on the readings that go; empty: all
	Readings time.Duration
	Rollups  map[schema.Window]time.Duration
	Rejects  time.Duration
	Commands time.Duration

	// Kept by tenant, in entries that match nothing else.
	Buckets, Reports             map[schema.Window]time.Duration
	Incidents, Activity, Archive time.Duration
}

// retention returns the key for how long what is stored is kept. It is read after pipelines and models.
func (r *reader) retention(c *Config) key {
	const want = "a list of maps such as {match: {tenant: contoso}, readings: 30d, rollups: {1m: 14d}}"
	return key{name: "retention", read: func(n ast.Node) {
		all := 0
		for i, item := range r.items("retention", n, want) {
			if all > 0 {
				r.problem(item, "retention: line %d is for all devices, so this entry is never used; move it above that line", all)
			}
			r.within(fmt.Sprintf("retention %d", i+1), func() {
				keep := r.keep(item, c)
				if !keep.Match.Some() && len(keep.Models) == 0 {
					all, _ = place(item)
				}
				c.Retention = append(c.Retention, keep)
			})
		}
	}}
}

// keep reads an entry of the list.
func (r *reader) keep(n ast.Node, c *Config) (k Keep) {
	r.object(n, "a map like {match: {tenant: contoso}, readings: 30d, rollups: {1m: 14d}}",
		r.matchOr(&k.Match, "model", func(of ast.Node) { k.Models = r.modelNames(of, c.Models) }),
		r.kept("readings", &k.Readings),
		key{name: "where", read: func(n ast.Node) { r.whereOf(n, &k) }},
		r.keptWindows("rollups", &k.Rollups, "no pipeline has the window", c.hasWindow),
		r.kept("rejects", &k.Rejects),
		r.kept("commands", &k.Commands),
		r.ofTenants(&k, r.keptWindows("buckets", &k.Buckets, notReported, c.reportsOf)),
		r.ofTenants(&k, r.keptWindows("reports", &k.Reports, notReported, c.reportsOf)),
		r.ofTenants(&k, r.kept("incidents", &k.Incidents)),
		r.ofTenants(&k, r.kept("activity", &k.Activity)),
		r.ofTenants(&k, r.keptArchive(&k, c)))
	return k
}

const notReported = "no report has the window"

// ofTenants returns a key for what belongs to tenants as a whole.
func (r *reader) ofTenants(k *Keep, of key) key {
	read := of.read
	of.read = func(n ast.Node) {
		if match := (retain.Keep{Match: k.Match, Models: k.Models}); !match.ByTenant() {
			r.problem(n, "%s: belong to a tenant as a whole, so they cannot be kept by what a single device has; "+
				"move the key to an entry without match, or one that matches tenant alone", of.name)
		}
		read(n)
	}
	return of
}

// keptArchive returns the key for how long days of the archive are kept. It is read after readings.
func (r *reader) keptArchive(k *Keep, c *Config) key {
	of := r.kept("archive", &k.Archive)
	read := of.read
	of.read = func(n ast.Node) {
		read(n)
		switch {
		case k.Archive == 0:
		case !slices.ContainsFunc(c.Pipelines, Pipeline.Archives):
			r.problem(n, "archive: no pipeline has the processor archive")
		case k.Archive < k.Readings:
			r.problem(n, "archive: %s is shorter than readings: %s, and so the archive would never have what readings no "+
				"longer do", schema.FormatDuration(k.Archive), schema.FormatDuration(k.Readings))
		}
	}
	return of
}

// whereOf reads which rows go. It is read after readings.
func (r *reader) whereOf(n ast.Node, k *Keep) {
	var where *condition.Condition
	r.where("where", &where).read(n)
	if where == nil {
		return
	}
	if k.Where = where.String(); k.Readings == 0 {
		r.problem(n, "where: say how long the rows are kept for which it holds, as in readings: 14d")
	}
}

// kept returns the key for how long something is kept.
func (r *reader) kept(name string, to *time.Duration) key {
	want := fmt.Sprintf("forever, or a duration from %s, because tokens and audits reach back 8 days, such as 14d or 2w",
		schema.FormatDuration(leastKept))
	return r.word(name, want, func(text string) bool {
		if text == forever {
			return true
		}
		d, ok := parseSeconds(text)
		*to = d
		return ok && d >= leastKept && d <= mostKept && d%day == 0
	})
}

const forever = "forever"

// keptWindows returns the key for how long something is kept by the length of its window.
func (r *reader) keptWindows(name string, to *map[schema.Window]time.Duration, without string,
	has func(schema.Window) bool) key {
	return key{name: name, read: func(n ast.Node) {
		all := map[schema.Window]time.Duration{}
		_, _ = r.pairs(n, "a map like {1h: 730d, 1d: forever}", func(window string, at, value ast.Node) {
			d, ok := parseSeconds(window)
			w := schema.Window(d)
			if !ok || !has(w) {
				r.problem(at, "%s: %s %s", name, without, quote(window))
				return
			}
			var kept time.Duration
			r.within(name, func() { r.kept(window, &kept).read(value) })
			all[w] = kept
		})
		*to = all
	}}
}

func (c *Config) hasWindow(w schema.Window) bool {
	return slices.ContainsFunc(c.Pipelines, func(p Pipeline) bool { return p.hasWindow(w) })
}

func (c *Config) reportsOf(w schema.Window) bool {
	return c.Reports != nil && slices.Contains(c.Reports.Windows, w)
}

// hasWindow reports whether a processor of the pipeline writes outputs of a window.
func (p Pipeline) hasWindow(w schema.Window) bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return slices.Contains(p.Sizes(), w) })
}

// retain gives the configuration the pipeline that deletes.
func (c *Config) retain() {
	if len(c.Retention) == 0 {
		return
	}
	p := newPipeline()
	p.Name, p.Cadence, p.Batch, p.Models = Retention, retentionCadence, jobs.MaxBatch, c.Models
	p.Keep, p.Budget, p.Verify, p.Others = c.Retention, c.Budget, c.Verify, slices.Clone(c.Pipelines)
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
		keep := retain.Keep{Match: k.Match, Models: k.Models, Readings: k.Readings, Rollups: k.Rollups, Rejects: k.Rejects,
			Commands: k.Commands, Buckets: k.Buckets, Reports: k.Reports, Incidents: k.Incidents, Activity: k.Activity,
			Archive: k.Archive}
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

// shownKeep is the shape of an entry in a file.
type shownKeep struct {
	Match    map[string][]quoted `yaml:"match,omitempty" json:"match,omitempty"`
	Where    quoted              `yaml:"where,omitempty" json:"where,omitempty"`
	Readings string              `yaml:"readings,omitempty" json:"readings,omitempty"`
	Rollups  map[string]string   `yaml:"rollups,omitempty" json:"rollups,omitempty"`
	Rejects  string              `yaml:"rejects,omitempty" json:"rejects,omitempty"`
	Commands string              `yaml:"commands,omitempty" json:"commands,omitempty"`

	Buckets   map[string]string `yaml:"buckets,omitempty" json:"buckets,omitempty"`
	Reports   map[string]string `yaml:"reports,omitempty" json:"reports,omitempty"`
	Incidents string            `yaml:"incidents,omitempty" json:"incidents,omitempty"`
	Activity  string            `yaml:"activity,omitempty" json:"activity,omitempty"`
	Archive   string            `yaml:"archive,omitempty" json:"archive,omitempty"`
}

func shownRetention(all []Keep) (shown []shownKeep) {
	for _, k := range all {
		s := shownKeep{Match: shownMatch(k.Match), Where: quoted(k.Where), Readings: keptText(k.Readings),
			Rollups: shownWindows(k.Rollups), Rejects: keptText(k.Rejects), Commands: keptText(k.Commands),
			Buckets: shownWindows(k.Buckets), Reports: shownWindows(k.Reports), Incidents: keptText(k.Incidents),
			Activity: keptText(k.Activity), Archive: keptText(k.Archive)}
		for _, model := range k.Models {
			s.Match["model"] = append(s.Match["model"], quoted(model))
		}
		shown = append(shown, s)
	}
	return shown
}

func shownWindows(all map[schema.Window]time.Duration) (shown map[string]string) {
	for w, kept := range all {
		if shown == nil {
			shown = map[string]string{}
		}
		shown[w.String()] = cmp.Or(keptText(kept), forever)
	}
	return shown
}

func keptText(d time.Duration) string {
	if d == 0 {
		return ""
	}
	return schema.FormatDuration(d)
}

// changedRetention describes the differences between what two configurations keep.
func changedRetention(old, new []Keep) []string {
	was, is := shownRetention(old), shownRetention(new)
	switch {
	case reflect.DeepEqual(was, is):
		return nil
	case len(old) == 0:
		return []string{"retention is new: what is older is deleted for good"}
	case len(new) == 0:
		return []string{"retention is removed: everything is kept from now on"}
	}
	return []string{"retention has changed"}
}
