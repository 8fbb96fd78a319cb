package config

import (
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/commit"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/schema"
)

// Build returns the pipeline for device jobs. The objects may be nil unless MakesObjects.
func (p Pipeline) Build(client *tables.Client, names schema.Names, objects commit.Objects) (*jobs.Pipeline, error) {
	if p.MakesObjects() && objects == nil {
		return nil, fmt.Errorf("pipeline %s writes objects, but the storage account has no blobs",
			p.Name)
	}
	retention, err := p.retention(client, names, objects)
	if err != nil {
		return nil, err
	}
	keep, err := p.Keeps()
	if err != nil {
		return nil, err
	}
	notifier := &notify.Notifier{Pipeline: p.Name, Client: client, Names: names, Targets: p.Notify, Format: p.Format}
	built := &jobs.Pipeline{
		Keep:      keep,
		Retention: retention,
		Name:      p.Name,
		Client:    client,
		Objects:   objects,
		Names:     names,
		Batch:     p.Batch,
		Cadence:   p.Cadence,
		Settle:    p.Settle,
		Format:    p.Format,
		Notifier:  notifier,
		Groups:    p.groupings(client, names, notifier, keep),
	}
	for i := range p.Models {
		m, err := p.model(&p.Models[i])
		if err != nil {
			return nil, fmt.Errorf("pipeline %s: %w", p.Name, err)
		}
		built.Models = append(built.Models, m)
	}
	last := len(built.Models) - 1
	others := built.Models[last]
	built.Models = built.Models[:last]
	built.Processors, built.Sensors, built.Settings = others.Processors, others.Sensors, others.Settings
	p.group(built)
	return built, nil
}

// group has processors make what their marks ask for.
func (p Pipeline) group(built *jobs.Pipeline) {
	for _, processor := range p.Processors {
		c, makes := processor.Config.(interface {
			Grouping(*groups.Source) (schema.MarkKind, groups.Grouping)
		})
		if !makes {
			continue
		}
		if kind, grouping := c.Grouping(built.Source()); grouping != nil {
			if built.Groups == nil {
				built.Groups = map[schema.MarkKind]groups.Grouping{}
			}
			if days, is := grouping.(*archive.Days); is {
				days.Summed = p.summed(days.Summed)
			}
			built.Groups[kind] = grouping
		}
	}
}

// model returns a model for device jobs, with the pipeline's processors.
func (p Pipeline) model(m *Model) (fold.Model, error) {
	built := fold.Model{Name: m.Name, Match: m.Match, Sensors: m.Meant(), Settings: p.Settings(m)}
	for _, processor := range p.Processors {
		configured, err := processor.With(processor.Config, fold.Setup{Sensors: built.Sensors, Model: m.Name,
			Format: processor.Format(p.level()), Reported: p.Reported()})
		if err != nil {
			return built, err
		}
		built.Processors = append(built.Processors, configured)
	}
	return built, nil
}

// MakesObjects tells whether a processor of the pipeline writes objects.
func (p Pipeline) MakesObjects() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return p.Raw }) ||
		slices.ContainsFunc(p.Others, Pipeline.MakesObjects)
}
