package estimate

import (
	"strings"
	"testing"
	"time"

	"furrow/cmd/internal/config"
	"furrow/tables/azuretest/must"
)

// TestAdviceIsCheaperStepByStep, until nothing is left to change.
func TestAdviceIsCheaperStepByStep(t *testing.T) {
	t.Parallel()
	f := Fleet{Devices: 50_000, Every: 5 * time.Minute, Sensors: 6, Tenants: 4, Months: 6, Token: time.Hour, AtOnce: 1}
	before := must.Have(Of(f, config.Default()))(t).Cost.Total
	all := must.Have(Advise(f, config.Default(), 15*time.Minute))(t)
	for _, a := range all {
		if a.Total >= before {
			t.Errorf("$%.2f with %s, after $%.2f", a.Total, a.Change, before)
		}
		before = a.Total
	}
	if len(all) < 2 || !strings.Contains(all[0].Change, "15m of pipeline live") &&
		!strings.Contains(all[0].Change, "send 3 readings") {
		t.Errorf("what saves most for 15 minutes: %+v", all)
	}
	if left := must.Have(Advise(f, config.Default(), time.Minute))(t); len(left) != 1 ||
		!strings.Contains(left[0].Change, "live for a day") {
		t.Errorf("for a minute, which the pipeline has already, and tokens of an hour: %+v", left)
	}
}

// TestChangesKeepAReadingFresh: it waits until the last of those that are sent with it, and then for a run.
func TestChangesKeepAReadingFresh(t *testing.T) {
	t.Parallel()
	const fresh = 15 * time.Minute
	for _, atOnce := range []int{1, 2, 10} {
		f := Fleet{Devices: 1000, Every: time.Minute, AtOnce: atOnce, Token: time.Hour}
		for _, c := range changes(f, minutely(t), fresh) {
			if age := c.fleet.sends() - c.fleet.Every + c.config.Pipelines[0].Cadence; age > fresh {
				t.Errorf("%s, with %d readings at once: a reading is %v old", c.name, atOnce, age)
			}
		}
	}
}

// TestAdvisedCadencesCanBeConfigured: they divide a day, or are whole days.
func TestAdvisedCadencesCanBeConfigured(t *testing.T) {
	t.Parallel()
	for fresh, want := range map[time.Duration]time.Duration{
		61 * time.Second: time.Minute, 7 * time.Minute: 6 * time.Minute, 15 * time.Minute: 15 * time.Minute,
		11 * time.Hour: 8 * time.Hour, 24*time.Hour - 1: 12 * time.Hour, 50 * time.Hour: 48 * time.Hour,
		400 * 24 * time.Hour: 366 * 24 * time.Hour,
	} {
		if got := longest(fresh); got != want {
			t.Errorf("the longest cadence up to %v is %v, want %v", fresh, got, want)
		}
		f := Fleet{Devices: 1000, Every: time.Minute, AtOnce: 1, Token: time.Hour}
		for _, c := range changes(f, minutely(t), fresh) {
			if is := c.config.Pipelines[0].Cadence; (24*time.Hour)%is != 0 && is%(24*time.Hour) != 0 {
				t.Errorf("to be fresh after %v: %s, which no configuration may have", fresh, c.name)
			}
		}
	}
	if got := longest(-time.Hour); got != 0 {
		t.Errorf("there is a cadence of %v", got)
	}
}
