package config

import (
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/jobs/archive"
	"furrow/jobs/fold"
	"furrow/jobs/groups"
	"furrow/jobs/notify"
	"furrow/tables"
	"furrow/tables/schema"
)

// Build returns the pipeline for device jobs. The store may be nil unless the pipeline Archives.
func (p Pipeline) Build(client *tables.Client, names schema.Names, store *archive.Store) (*jobs.Pipeline, error) {
	if p.Archives() && store == nil {
		return nil, fmt.Errorf("pipeline %s has an archive, but the storage account has no blobs", p.Name)
	}
	retention, err := p.retention(client, names, store)
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
	built.Every = others.Every
	p.archive(built, store)
	return built, nil
}

// archive has the processor archive make what its marks ask for. While workers of an earlier release may run, which
// make the same days in another form, it waits.
func (p Pipeline) archive(built *jobs.Pipeline, store *archive.Store) {
	for _, processor := range p.Processors {
		c, is := processor.Config.(*archive.Config)
		if !is {
			continue
		}
		made := c.Grouping(built.Source(), store)
		made.Summed, made.Hold = p.summed(made.Summed), p.level() < archive.Format
		if built.Groups == nil {
			built.Groups = map[schema.MarkKind]groups.Grouping{}
		}
		built.Groups[schema.ArchiveMark] = made
	}
}

// model returns a model for device jobs, with the pipeline's processors.
func (p Pipeline) model(m *Model) (fold.Model, error) {
	built := fold.Model{Name: m.Name, Match: m.Match, Sensors: m.Meant(), Settings: p.Settings(m),
		Every: m.Every}
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

// Archives tells whether the pipeline, or one that it deletes for, has the processor archive.
func (p Pipeline) Archives() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return p.Marks }) ||
		slices.ContainsFunc(p.Others, Pipeline.Archives)
}
