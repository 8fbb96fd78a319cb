package config

import (
	"fmt"
	"slices"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// Build returns the pipeline for device jobs. The objects may be nil unless MakesObjects.
func (p Pipeline) Build(client *tables.Client, names schema.Names, objects jobs.Objects) (*jobs.Pipeline, error) {
	if p.MakesObjects() && objects == nil {
		return nil, fmt.Errorf("pipeline %s writes objects, but the storage account has no blobs",
			p.Name)
	}
	built := &jobs.Pipeline{
		Name:     p.Name,
		Sensors:  p.Meant(),
		Client:   client,
		Objects:  objects,
		Names:    names,
		Batch:    p.Batch,
		Settle:   p.Settle,
		Settings: p.Settings(),
		Format:   p.Format,
	}
	for _, processor := range p.Processors {
		configured, err := processor.With(processor.Config, jobs.Setup{Sensors: built.Sensors,
			Format: processor.Format(p.level())})
		if err != nil {
			return nil, fmt.Errorf("pipeline %s: %w", p.Name, err)
		}
		built.Processors = append(built.Processors, configured)
	}
	return built, nil
}

// MakesObjects tells whether a processor of the pipeline writes objects.
func (p Pipeline) MakesObjects() bool {
	return slices.ContainsFunc(p.Processors, func(p Processor) bool { return p.Raw })
}

// Meant returns the sensors for jobs.
func (p Pipeline) Meant() jobs.Sensors {
	s := jobs.Sensors{Kinds: map[string]jobs.SensorKind{}, Quality: p.Quality.Sensor, Good: p.Quality.Good,
		Position: p.Position}
	for name, sensor := range p.Sensors {
		s.Kinds[name] = sensor.Type
		if sensor.Counter {
			if s.Counters == nil {
				s.Counters = map[string]bool{}
			}
			s.Counters[name] = true
		}
	}
	return s
}
