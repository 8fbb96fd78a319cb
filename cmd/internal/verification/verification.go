// Package verification tells package verify how a fleet is configured. It translates, and computes nothing: what rows
// mean and what outputs hold is written down in package verify once more.
package verification

import (
	"context"
	"slices"
	"time"

	"furrow/cmd/internal/config"
	"furrow/jobs/archive"
	"furrow/jobs/archive/delta"
	"furrow/jobs/condition"
	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/jobs/rate"
	"furrow/jobs/retain"
	"furrow/jobs/rollup"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// Of returns what is to be known of a fleet's pipelines. Format is the fleet's.
func Of(client *tables.Client, names schema.Names, all []config.Pipeline, format int64) (*verify.Config, error) {
	c := &verify.Config{Client: client, Names: names}
	for _, p := range all {
		if p.Retains() {
			continue
		}
		p.Format = format
		c.Pipelines = append(c.Pipelines, pipelineOf(p))
	}
	if len(all) == 0 {
		return c, nil
	}
	c.Archive = archiveOf(all, format)
	first := all[0] // all have the models and the retention of the configuration
	models := map[*config.Model]*verify.Model{}
	for i := range first.Models {
		models[&first.Models[i]] = modelOf(first.Models[i].Meant())
	}
	c.Model = func(m schema.Member) *verify.Model { return models[first.ModelOf(m)] }
	keeps, err := first.Keeps()
	policy := retain.Policy{Keep: keeps}
	c.Kept = func(m schema.Member, output verify.Table, w schema.Window) time.Duration {
		switch tenant := retain.KeepOfTenant(keeps, m.Tenant); {
		case output == verify.Rollups:
			if k := policy.Of(m, first.ModelOf(m).Name); k != nil {
				return k.Rollups[w]
			}
		case output == verify.Rejects:
			if k := policy.Of(m, first.ModelOf(m).Name); k != nil {
				return k.Rejects
			}
		case output == verify.Archived && tenant != nil:
			return tenant.Archive
		case output == verify.Buckets && tenant != nil:
			return shorter(tenant.Buckets[w], tenant.Reports[w])
		}
		return 0
	}
	return c, err
}

// archiveOf returns what is to be known of the archive; nil if no pipeline has one, or if it has no tables yet.
func archiveOf(all []config.Pipeline, format int64) *verify.Archive {
	for _, p := range all {
		for _, processor := range p.Processors {
			if c, is := processor.Config.(*archive.Config); is && format >= archive.Format {
				return &verify.Archive{Pipeline: p.Name, CloseAfter: c.CloseAfter, Rollups: c.Rollups}
			}
		}
	}
	return nil
}

// FilesOf returns what reads the files of tables.
func FilesOf(s *archive.Store) func(context.Context, schema.Tenant, string) ([]byte, error) {
	return func(ctx context.Context, of schema.Tenant, name string) ([]byte, error) {
		content, _, err := s.Get(ctx, delta.Folder(string(of))+"/"+name)
		return content, err
	}
}

// shorter returns the shorter of two durations. Zero is for ever.
func shorter(a, b time.Duration) time.Duration {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}

func pipelineOf(p config.Pipeline) verify.Pipeline {
	of := verify.Pipeline{Name: p.Name, Settle: p.Settle, Cadence: p.Cadence,
		Settings: func(m schema.Member) string { return p.Settings(p.ModelOf(m)) }}
	for _, processor := range p.Processors {
		switch c := processor.Config.(type) {
		case *latest.Config:
			of.Outputs = append(of.Outputs, verify.Latest{})
		case *rollup.Config:
			o := verify.Rollup{Windows: c.Windows, Reported: slices.Sorted(slices.Values(p.Reported()))}
			if p.Reports != nil {
				o.By = p.Reports.By
			}
			of.Outputs = append(of.Outputs, o)
		case *rate.Config:
			of.Outputs = append(of.Outputs, verify.Rates{Over: c.Over})
		}
	}
	return of
}

// modelOf returns what properties mean.
func modelOf(s fold.Sensors) *verify.Model {
	m := &verify.Model{Named: map[string]verify.Meaning{}, LongName: s.Long.Name, LongValue: s.Long.Value,
		Quality: s.Quality, Good: s.Good, Counters: map[string]verify.Counter{}, Lat: s.Position.Lat, Lon: s.Position.Lon,
		Sequence: s.Sequence}
	for name, c := range s.Counters {
		m.Counters[name] = verify.Counter{Zero: c.Zero, Numbers: c.Wrap, Dips: c.Dips}
	}
	for name, means := range s.Named {
		m.Named[name] = meaningOf(means)
	}
	for _, p := range s.Patterns {
		m.Patterns = append(m.Patterns, verify.Pattern{Prefix: p.Prefix, Suffix: p.Suffix, Meaning: meaningOf(p.Meaning)})
	}
	if s.Heartbeat != nil {
		m.Heartbeat = func(value func(string) (verify.Value, bool)) bool {
			return s.Heartbeat.Holds(condition.Row{Sensor: func(name string) condition.Value {
				switch v, is := value(name); {
				case !is:
					return condition.Value{}
				case v.IsText:
					return condition.Text(v.Text)
				default:
					return condition.Number(v.Number)
				}
			}})
		}
	}
	return m
}

func meaningOf(m fold.Meaning) verify.Meaning {
	kinds := map[fold.SensorKind]verify.Kind{fold.AsSent: verify.AsSent, fold.Number: verify.Number,
		fold.State: verify.State, fold.Ignored: verify.Ignored}
	return verify.Meaning{As: m.As, Kind: kinds[m.Is], Scale: m.Scale, Offset: m.Offset,
		Missing: m.Missing}
}
