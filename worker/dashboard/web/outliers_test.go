package web_test

import (
	"strings"
	"testing"

	"furrow/worker/dashboard/web"
)

// TestOutliersAreOfNoneWhereNoneIsCompared: a silent device stands out without neighbours.
func TestOutliersAreOfNoneWhereNoneIsCompared(t *testing.T) {
	alone := standOut("pump-7")
	alone.Compared = 0
	for _, page := range []web.Page{&web.OutliersPage{List: alone}, &web.MapPage{Outliers: alone}} {
		text := render(t, newPages(t), page)
		if !strings.Contains(text, "pump-7") || strings.Contains(text, "of 0 compared") ||
			strings.Contains(text, "label: 0") {
			t.Error(text)
		}
	}
}
