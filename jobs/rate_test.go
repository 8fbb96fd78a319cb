package jobs_test

import (
	"strings"
	"testing"
	"time"

	"furrow/jobs/jobstest"
	"furrow/jobs/rate"
)

// TestALateRowChangesTheRatesOfTheDayAfter: the first reading of a day differs from
// one of the day before, which came when both days were folded.
func TestALateRowChangesTheRatesOfTheDayAfter(t *testing.T) {
	start := floorDay(time.Now()).Add(-4 * 24 * time.Hour)
	minutes := append(upTo(23*60, 60), upTo(48*60, 30)[60:]...)
	f, insert := minutely(t, start, minutes...)
	f.World.Rates = true
	p := f.Pipeline(t, nil)
	jobstest.Must(t, f.Settle(t.Context(), p))
	before := f.Ends(t)
	insert(23*60+30, 23*60+45)
	jobstest.Must(t, f.Settle(t.Context(), p))
	got := f.Ends(t)
	sameAsNew(t, f, p)
	changed := 0
	for key, v := range got {
		if strings.HasPrefix(key, rate.Table+"/t0!1h!"+start.Add(24*time.Hour).Format("2006-01-02")) && before[key] != v {
			changed++
		}
	}
	if changed == 0 {
		t.Error("no rate of the day after has changed")
	}
}

// TestARefoldOfRatesGoesOnInItsLead: portions that are smaller than what is folded before a
// day for what it tells of that day.
func TestARefoldOfRatesGoesOnInItsLead(t *testing.T) {
	start := floorDay(time.Now()).Add(-4 * 24 * time.Hour)
	f, insert := minutely(t, start, upTo(80*60, 30)...)
	f.World.Rates = true
	p := f.Pipeline(t, nil)
	p.Portion, p.Most = 7, 14
	jobstest.Must(t, f.Settle(t.Context(), p))
	insert(50*60 + 3)
	jobstest.Must(t, f.Settle(t.Context(), p))
	if track := f.Track(t, f.World.Devices[0]); track.Get("Rows").Int() != 161 {
		t.Errorf("%v rows are counted", track.Get("Rows"))
	}
	sameAsNew(t, f, p)
}
