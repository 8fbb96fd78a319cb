package model

import (
	"fmt"
	"testing"

	"furrow/jobs/fold"
	"furrow/jobs/latest"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/query"
)

// hears gives a device a newest value of each of these sensors, and a text as its state.
func hears(x *index, id string, at int, state string, sensors ...string) {
	n := query.Newest{Device: schema.DeviceID(id), Part: 1}
	value := func(v fold.SensorValue) {
		n.Values = append(n.Values, latest.Value{At: tables.Ticks(639307654800000000 + 1e7*at), SensorValue: v})
	}
	for _, sensor := range sensors { // which are in front of "state"
		value(fold.SensorValue{Sensor: sensor, Is: fold.Number, Number: float64(at)})
	}
	value(fold.SensorValue{Sensor: "state", Is: fold.State, State: state})
	x.newest(0, schema.LatestPartition{Tenant: "contoso"}, []query.Newest{n})
}

// TestNamesThatNoValueHasAnyMoreTakeNoRoom has a device that sends another text each time, such as its clock, and one
// that names its sensors otherwise each time.
func TestNamesThatNoValueHasAnyMoreTakeNoRoom(t *testing.T) {
	x := newIndex(&account{})
	hears(x, "steady", 0, "open", "rpm")
	for i := range 2*maxTexts + maxTexts/2 {
		hears(x, "clock", i, fmt.Sprint("it is ", i))
	}
	for i := range 2*maxSensors + maxSensors/2 {
		hears(x, "names", i, "shut", fmt.Sprint("s", i))
	}
	for id, want := range map[string]string{"steady": "open", "clock": fmt.Sprint("it is ", 2*maxTexts+maxTexts/2-1),
		"names": "shut"} {
		x.look(id, func(d *device) {
			if got := x.shown(d.value(x.sensor("state"))); got != want {
				t.Errorf("%s says %q, want %q", id, got, want)
			}
		})
	}
	for id, want := range map[string]string{"steady": "[rpm state]", "clock": "[state]",
		"names": fmt.Sprintf("[s%d state]", 2*maxSensors+maxSensors/2-1)} {
		if got := fmt.Sprint(x.sensorsOf(id)); got != want {
			t.Errorf("%s has the sensors %s, want %s", id, got, want)
		}
	}
}

// TestDeviceOfManySensorsTakesNoRoomOfOthers has a device with more sensors than the index takes of one. A question
// about another of its sensors is not refused.
func TestDeviceOfManySensorsTakesNoRoomOfOthers(t *testing.T) {
	s := New(Config{Accounts: []Account{{}}})
	s.Accounts.all[0].poller.complete.Store(true)
	x := s.Accounts.index
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprintf("r%03d", i))
	}
	for i := range maxSensors / maxValues {
		x.newest(0, schema.LatestPartition{Tenant: "contoso"}, []query.Newest{{Device: "plc", Part: 1}})
		for j := range many {
			many[j] = fmt.Sprintf("r%d_%03d", i, j)
		}
		hears(x, "plc", i, "on", many...)
	}
	hears(x, "pump", 0, "open", "oil")
	if got := fmt.Sprint(x.sensorsOf("pump")); got != "[oil state]" {
		t.Errorf("pump has the sensors %s", got)
	}
	if got := len(x.sensorsOf("plc")); got != maxValues {
		t.Errorf("plc has %d sensors, want %d", got, maxValues)
	}
	for _, sensor := range []string{many[0], many[999]} {
		if err := s.Sensors.checkSensor("contoso", sensor); err != nil {
			t.Errorf("%s: %v", sensor, err)
		}
	}
	x.look("plc", func(d *device) {
		if want := unix(tables.Ticks(639307654800000000 + 1e7*(maxSensors/maxValues-1))); d.newest != want {
			t.Errorf("plc was last heard at %d, want %d", d.newest, want)
		}
	})
}
