package web_test

import (
	"strings"
	"testing"
	"time"

	"furrow/jobs/rules"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
)

// TestChartOfAnIncidentShowsTheLimitOfItsDevice where a label has it.
func TestChartOfAnIncidentShowsTheLimitOfItsDevice(t *testing.T) {
	above := rules.Limit{Above: &rules.Bound{Label: "max"}}
	page := &web.IncidentPage{Now: theTime(), Rule: model.Rule{Name: "hot", Limits: above.Numbers},
		Series: series("1m", time.Minute, 60)}
	page.Answer.Incident = incidents()[0]
	for limit, want := range map[string]bool{"5.5": true, "much": false} {
		page.Answer.Labels = map[string]string{"max": limit}
		text := render(t, newPages(t), page)
		if strings.Contains(text, "The limit is 5.5") != want || strings.Contains(text, `class="limit"`) != want {
			t.Errorf("max=%s: %s", limit, text)
		}
	}
}

// TestDayWithoutIncidentsHasNoChart: bars without height would say nothing.
func TestDayWithoutIncidentsHasNoChart(t *testing.T) {
	counts := &model.IncidentCounts{From: theTime(), Hours: make([]int, 24)}
	quiet := render(t, newPages(t), &web.IncidentsPage{Counts: counts})
	if strings.Contains(quiet, "<figure>") || !strings.Contains(quiet, "No rule has opened an incident") {
		t.Errorf("a quiet day: %s", quiet)
	}
	counts.Hours[3], counts.Rules = 1, []model.RuleCount{{Rule: "hot", Day: 1}}
	text := render(t, newPages(t), &web.IncidentsPage{Counts: counts})
	if !strings.Contains(text, "1\u00a0incident opened in 24") {
		t.Errorf("a day with one incident: %s", text)
	}
}
