package web_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
	"furrow/worker/dashboard/web"
	"furrow/worker/query"
)

// TestSharesAreRoundedDown: a share of 100 % is all.
func TestSharesAreRoundedDown(t *testing.T) {
	for want, share := range map[string]float64{"100.00 %": 1, "99.99 %": 1 - 1e-15, "99.98 %": 9_998.0 / 10_000,
		"99.97 %": 0.99979, "33.33 %": 1.0 / 3, "0.00 %": 0} {
		if is := (web.CompletenessPage{}).Exactly(&share); is != want {
			t.Errorf("%v is %s, want %s", share, is, want)
		}
	}
}

// TestDaysOfADeviceAreTheWorstFirst: a day that is to be folded again, then one with late rows, then those that lack
// nothing. What a run has not come to yet is no lack of today.
func TestDaysOfADeviceAreTheWorstFirst(t *testing.T) {
	p := web.DevicePage{Now: time.Date(2026, 11, 7, 9, 0, 0, 0, time.UTC),
		Gaps: &model.RecentGaps{Numbered: true, Days: []answers.GapDay{{Day: "2026-11-07", Readings: 9, Made: 9},
			{Day: "2026-11-06", Readings: 6, Unnumbered: 2, Made: 6}, {Day: "2026-11-03", Readings: 7, Made: 9, Missing: 2}}},
		Answer: model.DeviceAnswer{Pipelines: []model.DevicePipeline{{Pipeline: "live", Days: []query.FoldedDay{
			{Day: "2026-11-07", Rows: 5}, {Day: "2026-11-06", Rows: 7}, {Day: "2026-11-05", Rows: 3},
			{Day: "2026-11-04", Rows: 2, Again: true}, {Day: "2026-11-03", Sealed: true}, {Day: "2026-11-02", Sealed: true},
			{Day: "2026-11-01"}}}, {Pipeline: "archive", Days: []query.FoldedDay{{Day: "2026-11-07", Rows: 9},
			{Day: "2026-11-06", Rows: 8}, {Day: "2026-11-05", Rows: 3}, {Day: "2026-11-04", Rows: 8},
			{Day: "2026-11-03", Rows: 7}, {Day: "2026-11-02", Rows: 6}, {Day: "2026-11-01"}}}}}}
	var all []string
	for _, d := range p.Days() {
		text := d.Day[8:] + " stored"
		if d.Known {
			text = fmt.Sprint(text, " ", d.Stored)
		}
		for _, f := range d.Folded {
			if d.Lacks(f) {
				text = fmt.Sprint(text, " folded ", f.Rows)
			}
		}
		all = append(all, text)
	}
	want := []string{"04 stored 8 folded 2", "03 stored 7", "06 stored 8 folded 7", "07 stored 9 folded 5", "05 stored 3",
		"02 stored"}
	if !slices.Equal(all, want) {
		t.Errorf("the days are\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
}
