package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/query"
)

// archiveVersions lists what versions of a table changed.
func archiveVersions(c *cli.Context, has archive.Contents, scope archiveScope, f *roles.Fleet) error {
	if scope.tenant == "" {
		return usagef(c, "--tenant is required with --versions: each tenant has tables of its own")
	}
	if c.IsSet("from") || c.IsSet("to") {
		return usagef(c, "--versions excludes --from and --to: versions are of whole tables")
	}
	table := c.String("table")
	line := func(v catalog.VersionSummary) answers.ArchiveVersion { return answers.ArchiveVersionOf(table, v) }
	versions := has.Catalog.Table(scope.tenant, table).Versions(c.Context, 0)
	return answer(c, query.Mapped(versions, line), func() (string, error) {
		return "the table has no versions", knownTable(c, has, f, scope.tenant)
	})
}

// archiveFreshLogs publishes the tables of a tenant as new logs.
func archiveFreshLogs(c *cli.Context) error {
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	if scope.tenant == "" {
		return usagef(c, "--tenant is required with --log: each tenant has tables of its own")
	}
	if c.IsSet("from") || c.IsSet("to") {
		return usagef(c, "--log excludes --from and --to: a new log is that of a whole table")
	}
	_, s, err := openFleet(c)
	if err != nil {
		return err
	}
	all, err := has.Catalog.Tables(c.Context, scope.tenant)
	if err != nil {
		return err
	}
	if len(all) == 0 {
		fmt.Fprintf(c.App.ErrWriter, "furrow: the archive has no table of tenant %s\n", scope.tenant)
		return knownTenant(c, f.Reader().Devices(), scope.tenant)
	}
	for _, t := range all {
		act := schema.Act{What: "archive rewrite", Tenant: scope.tenant, Detail: "log of " + t.Name}
		err := s.recorded(c.Context, act, func(ctx context.Context) (string, error) {
			return "rewritten", t.Log(has.Store).FreshLog(ctx)
		})
		if errors.Is(err, catalog.ErrAbsent) { // it was listed, and never made
			continue
		}
		if err != nil {
			return err
		}
		line := rewrittenLine{Tenant: scope.tenant, Table: t.Name}
		if err := printLine(c, line, fmt.Sprintf("%s %s: a new log", scope.tenant, t.Name)); err != nil {
			return err
		}
	}
	return nil
}
