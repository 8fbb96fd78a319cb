package web

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// A RulesPage shows the rules that watch devices, and what has come of them.
type RulesPage struct {
	foot
	Now    time.Time
	Answer model.RulesAnswer
}

func (s *Site) rules(r *http.Request, _ api.None) (Page, error) {
	a, err := s.c.Model.Incidents.Rules(r.Context())
	return &RulesPage{Now: time.Now().UTC(), Answer: a}, err
}

// Muted says which devices a mute is for.
func (RulesPage) Muted(m schema.Mute) string {
	var parts []string
	for _, part := range [][2]string{{"tenant", string(m.Tenant)}, {"site", string(m.Site)}, {"device", m.Device},
		{"labels", answers.LabelsText(m.Labels)}} {
		if part[1] != "" {
			parts = append(parts, part[0]+" "+part[1])
		}
	}
	return strings.Join(parts, ", ")
}

// A ConfigurationPage shows a generation of the configuration, and all that were stored.
type ConfigurationPage struct {
	foot
	Now        time.Time
	History    []schema.Configuration // the newest first
	Generation int64                  // that is shown; zero: none is stored
	Text       string                 // empty where the person may not read it
	Diff       []string               // from the generation before, in lines
}

// ofGeneration names a generation of the configuration; zero: the newest.
type ofGeneration struct {
	Generation int64 `query:"generation"`
}

// configuration shows a generation to those who may act. Others see when it was stored, and by whom.
func (s *Site) configuration(r *http.Request, p ofGeneration) (Page, error) {
	history, err := s.c.Model.Configurations.History(r.Context())
	page := &ConfigurationPage{Now: time.Now().UTC(), History: history}
	if err != nil || len(history) == 0 {
		return page, err
	}
	at := slices.IndexFunc(history, func(c schema.Configuration) bool {
		return p.Generation == 0 || c.Generation == p.Generation
	})
	if at < 0 {
		return nil, api.NewProblem(api.NotFound, "Generation not found",
			"There is no such generation of the configuration.")
	}
	page.Generation = history[at].Generation
	if !api.PersonOf(r.Context()).Role.May(schema.Operator) {
		return page, nil
	}
	var before string
	if at+1 < len(history) {
		if before, err = s.c.Model.Configurations.Text(r.Context(), history[at+1].Generation); err != nil {
			return nil, err
		}
	}
	text, err := s.c.Model.Configurations.Text(r.Context(), page.Generation)
	page.Text = text
	if before != "" {
		page.Diff = strings.Split(strings.TrimSpace(udiff.Unified("before", "this", before, text)), "\n")
	}
	return page, err
}

// Changed returns the class of a line of a difference.
func (ConfigurationPage) Changed(line string) string {
	switch {
	case strings.HasPrefix(line, "+"):
		return "added"
	case strings.HasPrefix(line, "-"):
		return "removed"
	}
	return ""
}
