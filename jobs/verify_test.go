package jobs_test

import (
	"testing"
	"time"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/verify"
)

// verified counts a fleet as furrow verify does, with code that the jobs do not share, and fails the test where nothing
// explains a difference.
func verified(t testing.TB, c verify.Config, about string) {
	t.Helper()
	c.Values = true
	if c.Model == nil {
		c.Model = func(schema.Member) *verify.Model { return &verify.Model{} }
	}
	for d, err := range c.Run(t.Context()) {
		if err != nil {
			t.Error(about, err)
			return
		}
		for _, x := range d.Differences {
			if !x.Explained() {
				t.Errorf("%s, tenant %s: %v", about, d.Tenant, x)
			}
		}
	}
}

// verify verifies a device of the chain.
func (c *chain) verify(t testing.TB, names schema.Names, m schema.Member) {
	t.Helper()
	now := tables.TicksOf(time.Now())
	verified(t, verify.Config{Client: c.client, Names: names, Tenant: m.Tenant,
		Pipelines: []verify.Pipeline{{Name: "live", Settings: func(schema.Member) string { return "" }, Latest: true,
			Windows: []schema.Window{schema.Window(time.Second), schema.Minute, schema.Hour, schema.Daily}}},
		From: now.Floor(tables.Day) - 60*tables.Day, To: now.Floor(tables.Day) + 2*tables.Day}, string(m.Device))
}
