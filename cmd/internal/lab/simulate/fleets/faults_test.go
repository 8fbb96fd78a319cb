package fleets

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"furrow/cmd/internal/lab/simulate"
)

// value returns a value of a document as a number, if it is there.
func value(s simulate.Sending, path ...string) (float64, bool) {
	var v any = s.Reading.Values
	for _, name := range path {
		inner, _ := v.(map[string]any)
		v = inner[name]
	}
	switch v := v.(type) {
	case float64:
		return v, true
	case string:
		f, err := strconv.ParseFloat(v, 64)
		return f, err == nil
	}
	return 0, false
}

// faultsOf returns the faults of one name by device, each as its first and last time.
func faultsOf(f *Fleet, name string) (n int, during func(s simulate.Sending, m simulate.Member) bool) {
	all := slices.DeleteFunc(f.Faults(until), func(f Fault) bool { return f.Fault != name })
	return len(all), func(s simulate.Sending, m simulate.Member) bool {
		return slices.ContainsFunc(all, func(f Fault) bool {
			return f.Device == m.ID && !s.Due.Before(f.From) && !s.Due.After(f.To)
		})
	}
}

// TestEveryKindOfFaultIsThereByDefault, whenever a simulation begins.
func TestEveryKindOfFaultIsThereByDefault(t *testing.T) {
	for kind, want := range map[string][]string{
		"temperatures": {silence, stuckSensor},
		"kitchens":     {silence, stuckSensor, tooHot},
		"oil":          {badQuality, silence, stuckSensor, tooHot},
		"bottles":      {doseMissed, leftOpen, silence},
		"ground":       {silence, stuckSensor, warming},
	} {
		for seed := range uint64(8) {
			f, _ := sent(t, Config{Kind: kind, Seed: seed}, kinds()[kind].history)
			var got []string
			for _, fault := range f.Faults(until) {
				if got = append(got, fault.Fault); fault.From.After(fault.To) || fault.To.After(until) {
					t.Errorf("%+v", fault)
				}
			}
			if got = slices.Compact(got); !slices.Equal(got, want) {
				t.Errorf("%s, seed %d: %q", kind, seed, got)
			}
		}
	}
}

// TestDocumentsShowTheFaultsThatAreListedAndNoOthers: who looks at the documents finds them.
func TestDocumentsShowTheFaultsThatAreListedAndNoOthers(t *testing.T) {
	type looks struct {
		kind, fault string
		wrong       func(s, last simulate.Sending) (wrong, judged bool)
	}
	above := func(limit float64, path ...string) func(s, _ simulate.Sending) (bool, bool) {
		return func(s, _ simulate.Sending) (bool, bool) {
			v, is := value(s, path...)
			if tag, is := s.Reading.Values["tagName"]; is && tag != "temperature" {
				return false, false
			}
			return v > limit, is
		}
	}
	for _, l := range []looks{
		{"oil", tooHot, above(120, "value")},
		{"kitchens", tooHot, above(390, "data", "oilProbeTemp")},
		{"oil", badQuality, func(s, _ simulate.Sending) (bool, bool) {
			return s.Reading.Values["quality"] == false, s.Reading.Values["tagName"] == "vibration"
		}},
		{"kitchens", silence, func(s, last simulate.Sending) (bool, bool) {
			return s.Due.Sub(last.Due) > time.Minute, false
		}},
	} {
		f, all := sent(t, Config{Kind: l.kind, Seed: 5}, 6*time.Hour)
		n, during := faultsOf(f, l.fault)
		seen := 0
		for _, m := range f.Members() {
			for i, s := range all[m.ID] {
				wrong, judged := l.wrong(s, all[m.ID][max(i-1, 0)])
				if judged && wrong != during(s, m) {
					t.Fatalf("%s: %s of %s at %v: it is %v in %v", l.kind, l.fault, m.ID, s.Due, wrong, s.Reading.Values)
				}
				if wrong {
					seen++
				}
			}
		}
		if n == 0 || seen == 0 {
			t.Errorf("%s: %d faults %q, %d documents show them", l.kind, n, l.fault, seen)
		}
	}
}

// TestSilentDeviceSendsNothingAndStuckSensorRepeatsItself in all of the time that is listed.
func TestSilentDeviceSendsNothingAndStuckSensorRepeatsItself(t *testing.T) {
	path := map[string][]string{"Temprature": {"Temprature"}, "data_boardTemp": {"data", "boardTemp"},
		"temperature_50cm": {"temperature_50cm"}, "rpm": {"value"}}
	for _, kind := range Names() {
		f, all := sent(t, Config{Kind: kind, Seed: 9}, kinds()[kind].history)
		for _, fault := range f.Faults(until) {
			var values []float64
			n := 0
			for _, s := range all[fault.Device] {
				if s.Due.Before(fault.From) || s.Due.After(fault.To) {
					continue
				}
				n++
				if v, is := value(s, path[fault.Sensor]...); is && (fault.Sensor != "rpm" || s.Reading.Values["tagName"] == "rpm") {
					values = append(values, v)
				}
			}
			if fault.Fault == silence && n > 0 || fault.Fault == stuckSensor && len(slices.Compact(values)) != 1 {
				t.Errorf("%s: %d documents, values %v in %+v", kind, n, values, fault)
			}
		}
	}
}

// TestBottlesTellWhichDosesWereTaken: a dose that is not missed is taken within the hour after its time, and the pills
// get fewer by it.
func TestBottlesTellWhichDosesWereTaken(t *testing.T) {
	f, all := sent(t, Config{Kind: "bottles", Seed: 2}, 7*day)
	_, missed := faultsOf(f, doseMissed)
	_, silent := faultsOf(f, silence)
	taken, late := 0, 0
	for _, m := range f.Members() {
		for half := range 10 {
			dose := until.Truncate(day).Add(8*time.Hour - time.Duration(half+1)*12*time.Hour)
			at := simulate.Sending{Due: dose}
			var actions []simulate.Sending
			quiet := silent(at, m)
			for _, s := range all[m.ID] {
				near := !s.Due.Before(dose) && s.Due.Before(dose.Add(2*time.Hour))
				if near && s.Reading.Values["action"] != nil {
					actions = append(actions, s)
				}
			}
			for minute := range 120 {
				quiet = quiet || silent(simulate.Sending{Due: dose.Add(time.Duration(minute) * time.Minute)}, m)
			}
			switch {
			case quiet:
			case missed(at, m) && len(actions) > 0, !missed(at, m) && len(actions) != 2:
				t.Fatalf("%s, dose of %v: missed %v, and %d actions", m.ID, dose, missed(at, m), len(actions))
			case !missed(at, m):
				before, _ := actions[0].Reading.Values["number_of_pills"].(int)
				after, _ := actions[1].Reading.Values["number_of_pills"].(int)
				if taken++; before-after != 2 || after < 0 || actions[1].Reading.Values["pills_taken"] != 2 {
					t.Errorf("%v pills before, %v after", before, after)
				}
				if actions[1].Due.Sub(actions[0].Due) > 5*time.Minute {
					late++
				}
			}
		}
	}
	if taken < 100 || late == 0 {
		t.Errorf("%d doses were taken, %d bottles left open", taken, late)
	}
}

// TestFryerObeys has another temperature from when it is told on, and then is not too hot.
func TestFryerObeys(t *testing.T) {
	f, err := New(Config{Kind: "kitchens", Until: until})
	if err != nil {
		t.Fatal(err)
	}
	for _, body := range []string{"{}", `{"setpoint":"low"}`, `{"setpoint":400}`, "7"} {
		if _, err := f.Obey(f.Members()[0], []byte(body)); err == nil {
			t.Errorf("it obeys %s", body)
		}
	}
	hot, cool := 0, 0
	for _, m := range f.Members() {
		if _, err := f.Obey(m, []byte(`{"setpoint":325}`)); err != nil {
			t.Fatal(err)
		}
		from := time.Now()
		for s := range f.Sendings(m, from.Add(-time.Hour)) {
			if s.Due.After(from.Add(4 * time.Hour)) {
				break
			}
			switch v, _ := value(s, "data", "oilProbeTemp"); {
			case s.Due.Before(from) && v > 390:
				hot++
			case s.Due.Before(from):
			case v < 318 || v > 332 || s.Reading.Values["data"].(map[string]any)["inAlarm"] != "0":
				t.Fatalf("at %v %s has %v", s.Due, m.ID, s.Reading.Values)
			default:
				cool++
			}
		}
	}
	if hot == 0 || cool == 0 {
		t.Errorf("%d readings too hot before, %d cool after", hot, cool)
	}
}

// TestRigObeys runs slower from when it is told on, and then is not too hot.
func TestRigObeys(t *testing.T) {
	f, err := New(Config{Kind: "oil", Until: until})
	if err != nil {
		t.Fatal(err)
	}
	m := f.Members()[0]
	for _, body := range []string{"{}", `{"rpm":"fast"}`, `{"rpm":-1}`, "7"} {
		if _, err := f.Obey(m, []byte(body)); err == nil {
			t.Errorf("it obeys %s", body)
		}
	}
	if _, err := f.Obey(m, []byte(`{"rpm":900}`)); err != nil {
		t.Fatal(err)
	}
	from := time.Now()
	slow := 0
	for s := range f.Sendings(m, from.Add(-time.Hour)) {
		if s.Due.After(from.Add(10 * time.Hour)) {
			break
		}
		v, _ := value(s, "value")
		switch name := s.Reading.Values["tagName"]; {
		case s.Due.Before(from):
		case name == "rpm" && v > 1000, name == "temperature" && v > 120:
			t.Fatalf("at %v %s is %v", s.Due, name, v)
		case name == "rpm":
			slow++
		}
	}
	if slow == 0 {
		t.Error("it sends no speed")
	}
}
