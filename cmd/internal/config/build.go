package config

import (
	"fmt"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"
)

// Build makes the pipeline that device jobs know. The objects may be nil where
// MakesObjects says so.
func (p Pipeline) Build(client *tables.Client, names schema.Names, objects jobs.Objects) (*jobs.Pipeline, error) {
	if p.MakesObjects() && objects == nil {
		return nil, fmt.Errorf("pipeline %s makes objects, and there is no place for them: the storage account has no blobs", p.Name)
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
	}
	for _, processor := range p.Processors {
		fold, err := processor.fold()
		if err != nil {
			return nil, fmt.Errorf("pipeline %s: %s: %w", p.Name, processor.Name(), err)
		}
		built.Processors = append(built.Processors, jobs.Processor{Name: processor.Name(), Fold: fold})
	}
	return built, nil
}

// MakesObjects tells whether a processor of the pipeline writes objects.
func (p Pipeline) MakesObjects() bool {
	for _, processor := range p.Processors {
		if processor.raw() {
			return true
		}
	}
	return false
}

// Meant are the sensors as jobs know them.
func (p Pipeline) Meant() jobs.Sensors {
	s := jobs.Sensors{Kinds: map[string]jobs.SensorKind{}, Quality: p.Quality.Sensor, Good: p.Quality.Good}
	for name, sensor := range p.Sensors {
		s.Kinds[name] = sensor.Type
	}
	return s
}
