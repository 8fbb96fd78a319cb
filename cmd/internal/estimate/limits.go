package estimate

import (
	"fmt"
	"math"
	"time"

	"furrow/worker/limits"
)

// A Limit of storage, and how much of it the fleet would use.
type Limit struct {
	What  string  `json:"what"`
	Used  float64 `json:"used"` // per second, on average while a run lasts half of its cadence
	Limit float64 `json:"limit"`
	Close bool    `json:"close"` // at 70 % or beyond
	ToDo  string  `json:"toDo,omitempty"`
}

func (e *Estimate) limits(f Fleet) {
	requests, messages, entities := float64(f.Devices)/f.sends().Seconds(), 0.0, 0.0
	for _, p := range e.Pipelines {
		within := p.CadenceSeconds * limits.UseOfTime
		for kind, n := range p.Operations {
			if kind[:6] == "tables" {
				requests += n / within
			}
		}
		messages, entities = max(messages, 2*p.Messages/within), max(entities, p.entities/within)
	}
	for _, l := range []Limit{
		{What: "requests of the account", Used: requests, Limit: limits.Account,
			ToDo: fmt.Sprintf("spread the devices over %.0f accounts, or send and fold less often",
				math.Ceil(requests/limits.Account/limits.Warn))},
		{What: "entities of one device's partition", Used: float64(time.Second) / float64(f.Every), Limit: limits.Partition,
			ToDo: "send several values in one reading"},
		{What: "entities of one partition of a pipeline", Used: entities, Limit: limits.Partition,
			ToDo: "raise the pipeline's cadence, or give enrollments more --shards"},
		{What: "messages of one pipeline's queue", Used: messages, Limit: limits.Queue,
			ToDo: "raise the pipeline's batch or its cadence"},
	} {
		if l.Close = limits.Close(l.Used / l.Limit); !l.Close {
			l.ToDo = ""
		}
		e.Limits = append(e.Limits, l)
	}
}
