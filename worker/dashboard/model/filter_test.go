package model

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"furrow/jobs/condition"
	"furrow/tables/azuretest"
	"furrow/tables/schema"
	"furrow/worker/dashboard/model/modeltest"
)

// TestDevicesAreFoundByWhatTheyMeasure has conditions on numbers, texts and labels, on what is absent, and models.
func TestDevicesAreFoundByWhatTheyMeasure(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	for i, d := range []schema.Device{
		{ID: "a", Tenant: "inn", Labels: map[string]string{"class": "Fryer"}}, {ID: "b", Tenant: "inn", Model: "grill"},
		{ID: "c", Tenant: "bar", Labels: map[string]string{"class": "Grill"}}, {ID: "d", Tenant: "bar"},
	} {
		f.Add(t, d)
		values := map[string]any{"oil": 100.0 * float64(i)}
		if i%2 == 1 {
			values["door"] = "open"
		}
		f.Send(t, d.ID, time.Now().Add(-time.Minute), values)
	}
	f.Fold(t)
	s := over(t, f)
	pipelines := s.Accounts.Configured()
	pipelines[0].Model = func(m schema.Member) string { return m.Model + m.Labels["class"] }
	look(t, s)
	for _, c := range []struct {
		filter Filter
		want   string
	}{
		{Filter{}, "a b c d"},
		{Filter{Where: parsed("oil > 100")}, "c d"},
		{Filter{Where: parsed("oil > 100"), Tenant: "inn"}, ""},
		{Filter{Where: parsed(`door == "open" and oil < 300`)}, "b"},
		{Filter{Where: parsed("door == nil")}, "a c"},
		{Filter{Where: parsed(`labels.class == "Grill" or oil == 0`)}, "a c"},
		{Filter{Where: parsed("labels.class == nil"), State: OK}, "b d"},
		{Filter{Model: "grill"}, "b"},
		{Filter{Model: "Grill", Where: parsed("oil == 200")}, "c"},
		{Filter{Model: "none"}, ""},
	} {
		list, err := s.Lists.Devices(t.Context(), ListQuery{Filter: c.filter})
		var got []string
		for _, d := range list.Devices {
			got = append(got, d.Device)
		}
		if err != nil || strings.Join(got, " ") != c.want || list.Total != len(got) {
			t.Errorf("%+v: %q of %d, %v; want %s", c.filter, got, list.Total, err, c.want)
		}
		seen, err := s.Maps.Overview(t.Context(), c.filter)
		if err != nil || seen.Devices != len(got) {
			t.Errorf("%+v: the overview has %d, %v", c.filter, seen.Devices, err)
		}
		export, err := s.FleetRows.Newest(t.Context(), FleetQuery{Filter: c.filter, Part: Part{Limit: 9}})
		if rows := rowsOf(t, export, err); strings.Join(rows, " ") != c.want {
			t.Errorf("%+v: newest values of %q", c.filter, rows)
		}
	}
	for _, where := range []string{"oli > 1", "door == nil and oli == nil", "labels.class == nil or oli > 1"} {
		_, err := s.Lists.Devices(t.Context(), ListQuery{Filter: Filter{Where: parsed(where)}})
		if q, is := errors.AsType[*QueryError](err); !is || !strings.HasPrefix(q.Detail, `there is no sensor "oli"`) {
			t.Errorf("%s: %v", where, err)
		}
	}
	pipelines[0].Model = func(m schema.Member) string { return fmt.Sprint("new-", m.Device) }
	s.Accounts.all[0].Newer = func(ctx context.Context) ([]Pipeline, bool, error) { return pipelines, true, nil }
	look(t, s)
	list, err := s.Lists.Devices(t.Context(), ListQuery{Filter: Filter{Model: "new-b"}})
	if err != nil || list.Total != 1 {
		t.Errorf("with other models: %+v, %v", list, err)
	}
}

// parsed returns a condition that is known to be one.
func parsed(text string) *condition.Condition {
	c, err := condition.Parse(text)
	if err != nil {
		panic(err)
	}
	return c
}

// countRows reads an answer to its end.
func countRows(s *Store, ctx context.Context, q ReadingsQuery) (n int, err error) {
	out, err := s.DeviceRows.Readings(ctx, q)
	if err != nil {
		return 0, err
	}
	for _, err := range out.Rows {
		if err != nil {
			return n, err
		}
		n++
	}
	return n, nil
}

// TestConditionsOfOnePersonLeaveRoomToOthers while all that she may ask are being decided.
func TestConditionsOfOnePersonLeaveRoomToOthers(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "a", Tenant: "inn"})
	f.Send(t, "a", time.Now().Add(-time.Minute), map[string]any{"oil": 1.0})
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	ann, bob := By(Within(t.Context(), "inn"), "ann"), By(Within(t.Context(), "inn"), "bob")
	for s.decider.shares.Take(1, owners(ann)...) {
	}
	query := ListQuery{Filter: Filter{Where: parsed("oil == 1")}}
	if list, err := s.Lists.Devices(bob, query); err != nil || list.Total != 1 {
		t.Errorf("bob gets %+v, %v", list, err)
	}
	rows := ReadingsQuery{Device: "a", From: time.Now().Add(-time.Hour), To: time.Now(), Part: Part{Limit: 10},
		Where: query.Filter.Where}
	if n, err := countRows(s, bob, rows); n != 1 || err != nil {
		t.Errorf("bob gets %d readings, %v", n, err)
	}
	left, leave := context.WithCancel(ann)
	leave()
	if _, err := s.Lists.Devices(left, query); !errors.Is(err, context.Canceled) {
		t.Errorf("when she is gone: %v", err)
	}
	waiting, cancel := context.WithTimeout(ann, 50*time.Millisecond)
	defer cancel()
	if n, err := countRows(s, waiting, rows); n != 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("before it is her turn she gets %d readings, %v", n, err)
	}
}

// TestDearConditionEndsItsPart and not the answer: all parts together have each row once.
func TestDearConditionEndsItsPart(t *testing.T) {
	f := modeltest.New(t, azuretest.Local(t))
	f.Add(t, schema.Device{ID: "a", Tenant: "inn"})
	now := time.Now()
	for i := range 5 {
		f.Send(t, "a", now.Add(-time.Duration(i+1)*time.Minute), map[string]any{"oil": float64(i)})
	}
	f.Fold(t)
	s := over(t, f)
	look(t, s)
	s.decider.limit = 0 // so each row takes too long
	where := parsed("oil >= 0")
	parts := func(ask func(after string) (Export, error)) (n, rows int) {
		for after := ""; n == 0 || after != ""; n++ {
			out, err := ask(after)
			if err != nil {
				t.Fatal(err)
			}
			for _, err := range out.Rows {
				if err != nil {
					t.Fatal(err)
				}
				rows++
			}
			after = out.Answer.Reach().Next
		}
		return n, rows
	}
	readings := ReadingsQuery{Device: "a", From: now.Add(-time.Hour), To: now, Part: Part{Limit: 10}, Where: where}
	if n, rows := parts(func(after string) (Export, error) {
		readings.After = after
		return s.DeviceRows.Readings(t.Context(), readings)
	}); n < 5 || rows != 5 {
		t.Errorf("%d readings in %d parts", rows, n)
	}
	windows := FleetQuery{Filter: Filter{Where: where}, From: now.Add(-time.Hour), To: now, Window: "1m",
		Part: Part{Limit: 10}}
	if n, rows := parts(func(after string) (Export, error) {
		windows.After = after
		return s.FleetRows.Windows(t.Context(), windows)
	}); n < 5 || rows != 5 {
		t.Errorf("%d windows in %d parts", rows, n)
	}
	readings.After, readings.Newest = "", 3
	if _, err := countRows(s, t.Context(), readings); !errors.Is(err, ErrSlow) {
		t.Errorf("the newest readings: %v", err)
	}
}
