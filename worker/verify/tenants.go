package verify

import (
	"context"
	"strings"

	"furrow/tables"
	"furrow/tables/schema"
)

// tenants verifies that no output is of a tenant without devices. Keys of outputs begin with the tenant, so that a
// table takes a request for each tenant.
func (c *Config) tenants(ctx context.Context, known map[schema.Tenant]bool, yield func(Device, error) bool) {
	if c.part() || c.Tenant != "" || c.After.Key != "" {
		return
	}
	for output, table := range c.outputs() {
		for after := (tables.Keys{}); ; {
			e, found, err := c.Client.Table(table).First(ctx, tables.Query{Range: tables.Range{Partitions: after}})
			if err != nil {
				yield(Device{}, err)
				return
			}
			if !found {
				break
			}
			key, _, _ := strings.Cut(e.PartitionKey, schema.Separator)
			after = tables.Keys{From: tables.KeysWithPrefix(key + schema.Separator).Before}
			t, err := schema.ParseTenantKey(key)
			if known[t] && err == nil {
				continue
			}
			d, err := c.ofNoTenant(ctx, t, output, e)
			if !yield(d, err) || err != nil {
				return
			}
		}
	}
}

// outputs returns the tables of outputs that are searched for devices, by the name of the output.
func (c *Config) outputs() map[string]string {
	all := map[string]string{}
	for _, p := range c.Pipelines {
		for _, o := range p.Outputs {
			for _, table := range o.tables() {
				all[table] = c.Names.Output(table)
			}
		}
	}
	return all
}

// ofNoTenant says that a row is of a tenant without devices.
func (c *Config) ofNoTenant(ctx context.Context, t schema.Tenant, output string, e tables.Entity) (Device, error) {
	at := schema.LatestPartition{Tenant: t}
	d, of := homeOf(at), deviceOf(e.RowKey)
	if output == schema.BucketsTable {
		row, err := schema.ParseBucketRow(e.RowKey)
		if err != nil {
			return d, err
		}
		of = row.Device
	}
	reason, err := c.left(ctx, t, of)
	d.Differences = append(d.Differences, Difference{Tenant: t, Device: of, Day: schema.DayOf(c.From).String(),
		Output: output, At: c.From.Time(), Is: "there, in partition " + e.PartitionKey,
		Want: "absent: no device belongs to the tenant", Reason: reason})
	return d, err
}
