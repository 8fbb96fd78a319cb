package admin

import (
	"context"
	"strings"
	"time"

	"furrow/sas"
	"furrow/tables"
	"furrow/tables/schema"
)

// A cohort is the devices of a readings table whose tokens refer to the same policy.
type cohort struct {
	table  string
	number int
}

func cohortOf(d schema.Device) cohort {
	return cohort{strings.ToLower(d.Readings), sas.Cohort(d.ID)} // table names are case-insensitive
}

// Others counts the other devices of the cohorts of the given devices: those with a token that a revocation would end
// or, with ended, those whose token has ended. With a tenant it counts only the tenant's. It reads all devices of the
// fleet, a thousand per request, and calls newer as EachDevice does.
func (f Fleet) Others(
	ctx context.Context, devices []schema.Device, ended bool, tenant schema.Tenant, newer func(error),
) (n int, err error) {
	cohorts, given := map[cohort]schema.Policies{}, map[schema.DeviceID]bool{}
	for _, device := range devices {
		policies, _, err := f.reader().Devices().Policies(ctx, device.Readings)
		if err != nil {
			return 0, err
		}
		cohorts[cohortOf(device)], given[device.ID] = policies, true
	}
	now := tables.TicksOf(time.Now())
	err = f.EachDevice(ctx, func(device schema.Device) error {
		policies, same := cohorts[cohortOf(device)]
		if last := len(device.Tokens) - 1; same && last >= 0 && !given[device.ID] && device.Status != schema.Revoked &&
			(tenant == "" || device.Tenant == tenant) && device.Tokens[last].Expiry > now &&
			device.Tokens[last].Policy != "" && policies.Ended(device.Tokens[last]) == ended {
			n++
		}
		return nil
	}, newer)
	return n, err
}
