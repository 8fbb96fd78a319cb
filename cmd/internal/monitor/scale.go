package monitor

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"

	"furrow/tables/schema"
	"furrow/worker"
)

// A Scale is the answer of /v1/scale.
type Scale struct {
	Workers   int             `json:"workers"` // wanted now; each works for all pipelines
	Pipelines []PipelineScale `json:"pipelines"`
}

// A PipelineScale is what a pipeline needs.
type PipelineScale struct {
	Pipeline   schema.Pipeline `json:"pipeline"`
	Workers    int             `json:"workers"`
	Messages   int             `json:"messages"`             // for current runs, with those that workers hold
	Catchup    int             `json:"catchup"`              // the same for history
	LagSeconds *float64        `json:"lagSeconds,omitempty"` // absent until a run is done
}

// maxJobs is the greatest number of jobs that a worker takes.
const maxJobs = 1000

// serveScale answers /v1/scale. While the pipelines cannot be read it answers 503, so that an autoscaler keeps the
// workers that there are.
func (s *Server) serveScale(w http.ResponseWriter, r *http.Request) {
	text := cmp.Or(r.URL.Query().Get("jobs"), strconv.Itoa(worker.DefaultSize))
	jobs, err := strconv.Atoi(text)
	if err != nil || jobs < 1 || jobs > maxJobs {
		answer(w, http.StatusBadRequest, fmt.Sprintf("jobs=%q: it is the number of jobs of furrow worker --jobs, "+
			"from 1 to %d", text, maxJobs))
		return
	}
	all, err := s.Monitor.pipelines.status()
	if err != nil {
		s.Log.WarnContext(r.Context(), "pipelines not read", "error", err)
		answer(w, http.StatusServiceUnavailable, "the pipelines cannot be read; the log has the reason")
		return
	}
	out := Scale{Pipelines: []PipelineScale{}}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		is := all[name]
		p := PipelineScale{Pipeline: name, Workers: is.WorkersWanted(jobs), Messages: is.Queue, Catchup: is.Catchup}
		if lag, known := is.Lag(); known {
			seconds := lag.Seconds()
			p.LagSeconds = &seconds
		}
		out.Pipelines = append(out.Pipelines, p)
		out.Workers = max(out.Workers, p.Workers)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // a client that has left needs no answer
}
