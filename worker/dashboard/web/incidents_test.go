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
