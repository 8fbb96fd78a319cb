package modeltest

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

// Opens writes what a rule leaves when its incident opens for a device, at a time without fractions of a second.
func (f *Fixture) Opens(
	t testing.TB, rule schema.Rule, d schema.DeviceID, at time.Time, severity string,
) schema.Transition {
	t.Helper()
	device := f.device(t, d)
	when := tables.TicksOf(at.Truncate(time.Second))
	one := schema.Transition{Home: schema.LatestPartition{Tenant: device.Tenant, Month: device.Month},
		ID:     schema.IncidentID{Rule: rule, Device: d, First: when},
		Number: 1, What: schema.Opened, At: when, Since: when, Found: when, Severity: severity, Value: "195",
		Text: string(rule) + " of " + string(d) + ": 195", Site: device.Site, Labels: device.Labels, Notify: true}
	f.Write(t, f.Names.Output("incidents"), one.Entity())
	f.Write(t, f.Names.Output("incidents"), one.IndexEntity())
	return one
}

// Closes writes what a rule leaves when its incident closes.
func (f *Fixture) Closes(t testing.TB, one schema.Transition, at time.Time) {
	t.Helper()
	pk, rk := one.IndexRow()
	one.Number, one.What, one.At, one.Text = one.Number+1, schema.Closed, tables.TicksOf(at), "closed after a while"
	f.Write(t, f.Names.Output("incidents"), one.Entity())
	must.Have(f.Client.Table(f.Names.Output("incidents")).Do(t.Context(), tables.Delete(pk, rk, tables.AnyETag)))(t)
}

func (f *Fixture) device(t testing.TB, id schema.DeviceID) schema.Device {
	t.Helper()
	for _, d := range f.Devices {
		if d.ID == id {
			return d
		}
	}
	t.Fatalf("there is no device %s", id)
	return schema.Device{}
}
