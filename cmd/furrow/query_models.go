package main

import (
	"furrow/cmd/internal/config"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// modelsOf returns what questions need of the models of a configuration.
func modelsOf(c *config.Config) *query.Models {
	of := map[*config.Model]*query.Model{}
	all := &query.Models{Of: func(d schema.Member) *query.Model { return of[c.Model(d)] }}
	for i := range c.Models {
		m := &c.Models[i]
		sensors := m.Meant()
		known := &query.Model{Name: m.Name, Sensors: &sensors}
		for _, sensor := range m.Sensors {
			if sensor.Unit != "" {
				known.Unit = m.Unit
			}
		}
		of[m] = known
		all.All = append(all.All, known)
	}
	return all
}
