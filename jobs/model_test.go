package jobs_test

import (
	"strings"
	"testing"

	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestChangedModelRefoldsItsDevicesAlone: those of other models, and of none, go on as they were.
func TestChangedModelRefoldsItsDevicesAlone(t *testing.T) {
	t.Parallel()
	w := newLateWorld(t)
	f := w.NewFleet(t)
	p := f.Pipeline(t, nil)
	settings()[0].apply(t, p)
	must.Succeed(t, f.Drain(t.Context(), p))

	s := settings()[0]
	s.models = []string{"scaled"}
	s.apply(t, p)
	r := must.Have(p.Run(t.Context(), f.Batch))(t)
	var again, want []string
	for _, d := range r.Reset {
		again = append(again, d.String())
	}
	for _, d := range w.Devices {
		if w.Member(d, f.Readings).Tenant == "t0" {
			want = append(want, w.Place(d).String())
		}
	}
	if strings.Join(again, " ") != strings.Join(want, " ") || len(want) == len(w.Devices) {
		t.Errorf("%v are folded again, want %v", again, want)
	}
	must.Succeed(t, f.Settle(t.Context(), p))
	s.sameAsNew(t, f)
}

func TestFirstModelThatMatchesHolds(t *testing.T) {
	pump := schema.Member{Device: "plant:pump-7", Tenant: "contoso", Site: "north", Enrollment: "plant1",
		Labels: map[string]string{"class": "pump", "line": "3"}}
	stated := pump
	stated.Model = "named"
	labels := func(pairs ...string) map[string][]string {
		m := map[string][]string{}
		for i := 0; i < len(pairs); i += 2 {
			m[pairs[i]] = append(m[pairs[i]], pairs[i+1])
		}
		return m
	}
	for _, c := range []struct {
		name   string
		device schema.Member
		match  fold.Match
		want   bool
	}{
		{"nothing", pump, fold.Match{}, false},
		{"its tenant", pump, fold.Match{Tenant: []string{"fabrikam", "contoso"}}, true},
		{"another tenant", pump, fold.Match{Tenant: []string{"fabrikam"}}, false},
		{"tenant and another site", pump, fold.Match{Tenant: []string{"contoso"}, Site: []string{"south"}}, false},
		{"tenant, site and enrollment", pump, fold.Match{Tenant: []string{"contoso"}, Site: []string{"north"},
			Enrollment: []string{"plant1"}}, true},
		{"a prefix", pump, fold.Match{Device: []string{"x*", "plant:*"}}, true},
		{"its ID", pump, fold.Match{Device: []string{"plant:pump-7"}}, true},
		{"an ID that begins like its own", pump, fold.Match{Device: []string{"plant:pump"}}, false},
		{"a label", pump, fold.Match{Labels: labels("class", "fryer", "class", "pump")}, true},
		{"two labels, one of them not its own", pump, fold.Match{Labels: labels("class", "pump", "line", "4")}, false},
		{"a label that it lacks", pump, fold.Match{Labels: labels("floor", "")}, false},
		{"states another", stated, fold.Match{Tenant: []string{"contoso"}}, false},
	} {
		all := []fold.Model{{Name: "first", Match: c.match}, {Name: "named"}}
		i := fold.ModelOf(all, c.device, func(m fold.Model) (string, fold.Match) { return m.Name, m.Match })
		if got := i == 0; got != c.want {
			t.Errorf("a model for %s: %t, want %t", c.name, got, c.want)
		}
		if c.device.Model != "" && i != 1 {
			t.Errorf("the stated model is number %d", i)
		}
	}
}
