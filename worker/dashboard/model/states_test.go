package model

import (
	"fmt"
	"testing"
	"time"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestStatesLastUntilTheNextReadingOrGap has a door that sends every minute and pauses once.
func TestStatesLastUntilTheNextReadingOrGap(t *testing.T) {
	began := time.Date(2026, 11, 21, 8, 0, 0, 0, time.UTC)
	var readings []latest.Value
	for i, state := range []string{"open", "open", "shut", "shut", "", "", "", "", "shut", "open"} {
		if state != "" {
			readings = append(readings, latest.Value{At: tables.TicksOf(began.Add(time.Duration(i) * time.Minute)),
				SensorValue: fold.SensorValue{Is: fold.State, State: state}})
		}
	}
	got := ""
	for _, s := range spansOf(readings, began.Add(9*time.Minute+30*time.Second)) {
		got += fmt.Sprintf("%s %s-%s, ", s.State, s.From.Sub(began), s.To.Sub(began))
	}
	if want := "open 0s-2m0s, shut 2m0s-4m0s, shut 8m0s-9m0s, open 9m0s-9m30s, "; got != want {
		t.Errorf("%s; want %s", got, want)
	}
}

// TestSeriesHasNoDoubtfulValues, of whatever window: a longer chart shows what a shorter one does.
func TestSeriesHasNoDoubtfulValues(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	sensors := fold.Sensors{Quality: "quality", Good: []string{"good"}}
	f.Pipeline.Sensors = sensors
	f.Add(t, schema.Device{ID: "pump-7"})
	now := time.Now().Truncate(time.Second)
	for i, quality := range []string{"good", "bad", "good"} {
		f.Send(t, "pump-7", now.Add(time.Duration(i-5)*time.Minute), map[string]any{"door": quality,
			"temperature": float64(20 + 500*(i%2)), "quality": quality})
	}
	f.Fold(t)
	s := over(t, f)
	(*s.Accounts.all[0].current.Load())[0].Sensors = func(schema.Member) *fold.Sensors { return &sensors }
	look(t, s)
	for _, window := range []string{"raw", "1m"} {
		q := SeriesQuery{Device: "pump-7", Sensor: "temperature", From: now.Add(-time.Hour), To: now, Window: window}
		got, err := s.Charts.Series(t.Context(), q)
		if err != nil || len(got.Points) != 2 {
			t.Errorf("window %s: %+v, %v", window, got, err)
		}
		q.Sensor = "door"
		if got, err = s.Charts.Series(t.Context(), q); err != nil || len(got.States) != 1 || got.States[0].State != "good" {
			t.Errorf("states in window %s: %+v, %v", window, got, err)
		}
	}
}

// TestSeriesOfATextSensorHasItsStates reads a text sensor as every window, which no rollup has.
func TestSeriesOfATextSensorHasItsStates(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "pump-7"})
	now := time.Now().Truncate(time.Second)
	for i, state := range []string{"open", "shut", "shut"} {
		f.Send(t, "pump-7", now.Add(time.Duration(i-5)*time.Minute), map[string]any{"door": state, "temperature": 20.0})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	for _, window := range []string{"", "raw", "1m"} {
		got, err := s.Charts.Series(t.Context(), SeriesQuery{Device: "pump-7", Sensor: "door",
			From: now.Add(-time.Hour), To: now,
			Window: window})
		if err != nil || len(got.Points) > 0 || len(got.States) != 2 || got.States[0].State != "open" ||
			!got.States[1].To.Equal(now.Add(-2*time.Minute)) {
			t.Errorf("window %q: %+v, %v", window, got, err)
		}
	}
}
