package sas

import (
	"reflect"
	"testing"

	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// TestAKnownRecordIsTheStoredOne, with everything that a record can have.
func TestAKnownRecordIsTheStoredOne(t *testing.T) {
	at := schema.Spans{{From: 5, To: 7}}
	d := schema.Device{ID: "pump-7", Month: schema.Month{Year: 2026, Month: 11, Shard: 3}, Tenant: "contoso", Site: "hall",
		Position: &schema.Position{Lat: 57.1, Lon: -2}, Labels: map[string]string{"floor": "1"}, Model: "x",
		Readings: "readings", Enrollment: "plant1", Status: schema.Active, Former: []schema.Tenant{"fabrikam"}, Change: 8,
		Kept: schema.Kept{Members: []schema.KeptMember{{Tenant: "fabrikam", Spans: at, Next: "contoso", Watermark: 3,
			Imports: schema.Imports{{ID: 1, From: 2, To: 3, Until: 4}}}}, Placements: []schema.Placement{{Site: "yard"}}},
		Tokens: []schema.Token{{Policy: "c2-7", From: 1, To: 2, Expiry: 3, Fingerprint: "ab", Commands: "c3"}}, Noted: 9,
		NotedIn: "note", ETag: `W/"datetime'2026'"`}
	for f, v := range reflect.ValueOf(d).Fields() {
		if v.IsZero() {
			t.Errorf("the test leaves out %s", f.Name)
		}
	}
	known := must.Have(newRecords())(t)
	known.add(d)
	if got, is := known.get(d.ID); !is || !reflect.DeepEqual(got, d) {
		t.Errorf("%t\n%+v\n%+v", is, got, d)
	}
	known.remove(d.ID)
	if _, is := known.get(d.ID); is {
		t.Error("it is known after it was removed")
	}
}
