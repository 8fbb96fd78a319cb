package model

import "testing"

// TestTheFirstSensorIsOneThatSaysSomething has sensors by name, as pages list them.
func TestTheFirstSensorIsOneThatSaysSomething(t *testing.T) {
	for _, c := range []struct {
		of   sensed
		want string
	}{
		{sensed{{Name: "alarms", Kind: "number", Devices: 9}, {Name: "oil", Kind: "number", Unit: "°F", Devices: 9}}, "oil"},
		{sensed{{Name: "alarms", Kind: "number", Devices: 9}, {Name: "temperature", Kind: "number", Devices: 9}},
			"temperature"},
		{sensed{{Name: "alarms", Kind: "number", Devices: 9}, {Name: "oil", Kind: "number", Unit: "°F", Devices: 3}},
			"alarms"},
		{sensed{{Name: "mode", Kind: "state", Devices: 9}, {Name: "oil", Kind: "number", Devices: 3}}, "oil"},
		{nil, ""},
	} {
		if got := c.of.first(); got != c.want {
			t.Errorf("of %+v it is %q, want %q", c.of, got, c.want)
		}
	}
}
