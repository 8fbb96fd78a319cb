package main

import (
	"cmp"
	"fmt"
	"iter"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// queryOutliers prints the devices that stand out, tenant after tenant. Devices in several accounts have their
// neighbours in each.
func queryOutliers(c *cli.Context) error {
	q, err := outlierQuestion(c)
	if err != nil {
		return err
	}
	a, err := accountsOf(c)
	if err != nil {
		return err
	}
	all, err := a.ask(q.Question, ofFleet)
	if err != nil {
		return err
	}
	compared := 0
	return printEach(a, all, func(f asked) iter.Seq2[query.Outlier, error] {
		found, n, err := f.outliers(c, q)
		compared += n
		return query.Records(found, err)
	}, answers.OutlierOf, func(asked) (string, error) {
		return fmt.Sprintf("no device stands out: %s compared", many(int64(compared), "device")), nil
	})
}

// outliers returns those of an account, and how many devices were compared.
func (f asked) outliers(c *cli.Context, q query.OutlierQuestion) (all []query.Outlier, compared int, err error) {
	stated, err := f.stores.enrollments().StatedIntervals(c.Context)
	if err != nil {
		return nil, 0, err
	}
	if q.Now, err = f.folded(c.Context, q.Now); err != nil {
		return nil, 0, err
	}
	q.Question, q.Pipeline = f.question, f.config.Pipelines[0].Name
	q.Every = func(m schema.Member) time.Duration { return cmp.Or(f.config.Model(m).Every, stated[m.Enrollment]) }
	for _, p := range f.config.Pipelines {
		q.Windows = append(q.Windows, p.Rollups()...)
	}
	asked := schema.Tenant(c.String("tenant"))
	if err := knownTenant(c, f.Devices(), asked); err != nil {
		return nil, 0, err
	}
	var skipped query.Skipped
	for tenant, err := range tenantsIn(asked, f.Devices().Tenants(c.Context)) {
		if err != nil {
			return nil, 0, err
		}
		q.Scope = query.ScopeOfTenant(tenant)
		found, n, err := f.Outliers(c.Context, q, &skipped)
		if err != nil {
			return nil, 0, err
		}
		all, compared = append(all, found...), compared+n
	}
	return all, compared, unreadable(c, skipped)
}

// outlierQuestion reads the flags.
func outlierQuestion(c *cli.Context) (q query.OutlierQuestion, err error) {
	if c.NArg() > 0 {
		return q, usagef(c, "--outliers compares many devices: name no DEVICE")
	}
	var errs [4]error
	_, errs[0] = parsed(c, "tenant", schema.ParseTenant)
	q.By, errs[1] = parsed(c, "by", schema.ParseBy)
	q.Filter, errs[2] = queryFilter(c)
	q.Sensors, errs[3] = sensorsOf(c)
	q.Now = time.Now()
	return q, cmp.Or(errs[:]...)
}
