package main

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// queryReports prints reports of many devices together.
func queryReports(c *cli.Context) error {
	q, err := reportQuestion(c)
	if err != nil {
		return err
	}
	a, err := accountsOf(c)
	if err != nil {
		return err
	}
	all, err := a.ask(query.Question{}, ofFleet)
	if err != nil {
		return err
	}
	for _, one := range all {
		if err := reported(one.config.Reports, &q); err != nil {
			return err
		}
	}
	found := query.Limited(reportsOf(c, all, q), c.Int("limit"))
	err = answer(c, query.Mapped(found, answers.ReportOf), func() (string, error) {
		return firstOf(all, func(f asked) (string, error) {
			none := fmt.Sprintf("there are no reports by %s of %s %s", q.By, q.Window, q.Span)
			return none, knownTenant(c, f.Devices(), q.Tenant)
		})
	})
	return cmp.Or(err, a.complete())
}

// reported checks that there are reports of the question, and chooses its window if it has none.
func reported(r *config.Reports, q *query.ReportQuestion) error {
	if r == nil {
		return fmt.Errorf("no reports are configured: add reports: {windows: [1h, 1d], by: [%s]} to the configuration", q.By)
	}
	if !slices.Contains(r.By, q.By) {
		var all []string
		for _, by := range r.By {
			all = append(all, string(by))
		}
		return fmt.Errorf("there are no reports by %s%s; add it to reports: {by: [...]} in the configuration", q.By,
			didYouMean(string(q.By), all, ""))
	}
	if q.Window == 0 {
		q.Window = query.Choose(r.Windows, q.Span.Length())
	}
	if !slices.Contains(r.Windows, q.Window) {
		return fmt.Errorf("there are no reports of %s; there are reports of %s", q.Window, textOf(r.Windows))
	}
	return nil
}

// reportsOf yields the reports of a tenant, or of one tenant after the other, over all accounts.
func reportsOf(c *cli.Context, all []asked, q query.ReportQuestion) iter.Seq2[query.Report, error] {
	asked := q.Tenant
	var lists []iter.Seq2[schema.Tenant, error]
	for _, f := range all {
		lists = append(lists, f.Devices().Tenants(c.Context))
	}
	return func(yield func(query.Report, error) bool) {
		for tenant, err := range tenantsIn(asked, lists...) {
			if err != nil {
				yield(query.Report{}, err)
				return
			}
			q.Tenant = tenant
			var found []iter.Seq2[query.Report, error]
			for _, f := range all {
				found = append(found, f.Reports().List(c.Context, q))
			}
			for r, err := range query.MergeReports(found...) {
				if !yield(r, err) {
					return
				}
			}
		}
	}
}

// tenantsIn yields the tenant that is asked for or, if that is empty, those of some lists, each once.
func tenantsIn(asked schema.Tenant, lists ...iter.Seq2[schema.Tenant, error]) iter.Seq2[schema.Tenant, error] {
	return func(yield func(schema.Tenant, error) bool) {
		if asked != "" {
			yield(asked, nil)
			return
		}
		seen := map[schema.Tenant]bool{}
		for _, all := range lists {
			for tenant, err := range all {
				if !seen[tenant] && !yield(tenant, err) {
					return
				}
				seen[tenant] = true
			}
		}
	}
}

// reportQuestion reads the flags.
func reportQuestion(c *cli.Context) (q query.ReportQuestion, err error) {
	if c.NArg() > 0 || c.IsSet("model") {
		return q, usagef(c, "--by is of many devices: name no DEVICE and no --model")
	}
	var errs [6]error
	q.Tenant, errs[0] = parsed(c, "tenant", schema.ParseTenant)
	q.By, errs[1] = parsed(c, "by", schema.ParseBy)
	q.Group, errs[2] = reportGroup(c, q.By)
	q.Sensors, errs[3] = sensorsOf(c)
	q.Window, errs[4] = parsed(c, "window", schema.ParseWindow)
	q.Span, errs[5] = querySpan(c)
	return q, cmp.Or(errs[:]...)
}

// reportGroup returns the one group that --site or --label names, or an empty text.
func reportGroup(c *cli.Context, by schema.By) (string, error) {
	labels, err := labelsOf(c)
	if err != nil {
		return "", err
	}
	switch label := by.Label(); {
	case c.IsSet("site") && by != schema.BySite:
		return "", usagef(c, "--site with --by %s; a site is reported --by site", by)
	case len(labels) > 0 && (len(labels) > 1 || labels[label] == ""):
		return "", usagef(c, "--label with --by %s; give the label by which is reported, as in --by labels.class --label "+
			"class=Fryer", by)
	case len(labels) == 1:
		return labels[label], nil
	}
	return c.String("site"), nil
}
