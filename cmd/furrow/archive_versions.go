package main

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/roles"
	"furrow/jobs/archive"
	"furrow/jobs/archive/catalog"
	"furrow/tables"
	"furrow/tables/schema"
)

// versionLine is a version of a table, in JSON.
type versionLine struct {
	Version   int64     `json:"version" column:"version"`
	Time      time.Time `json:"time" column:"time"`
	Why       string    `json:"why" column:"why"`
	Files     int64     `json:"files" column:"files"`          // that it added
	FilesGone int64     `json:"filesGone" column:"files_gone"` // that it replaced or removed
	Rows      int64     `json:"rows" column:"rows"`            // in the files that it added
	// in the files that it replaced or removed: a row that stays counts in both
	RowsGone  int64 `json:"rowsGone" column:"rows_gone"`
	Published bool  `json:"published" column:"published"` // readers can see it
}

// archiveVersions lists what versions of a table changed.
func archiveVersions(c *cli.Context, has archive.Contents, scope archiveScope, f *roles.Fleet) error {
	if scope.tenant == "" {
		return usagef(c, "--tenant is required with --versions: each tenant has tables of its own")
	}
	line := func(v catalog.VersionSummary) versionLine {
		return versionLine{v.Number, v.At, v.Why, v.FilesAdded, v.FilesGone, v.RowsAdded, v.RowsGone, v.Published}
	}
	return answer(c, printed(has.Versions(c.Context, scope.tenant, c.String("table")), line), func() (string, error) {
		return "the table has no versions", knownTenant(c, f.Reader().Devices(), scope.tenant)
	})
}

// archiveFreshLogs publishes the tables of a tenant as new logs.
func archiveFreshLogs(c *cli.Context) error {
	has, scope, _, err := openArchive(c)
	if err != nil {
		return err
	}
	if scope.tenant == "" {
		return usagef(c, "--tenant is required with --log: each tenant has tables of its own")
	}
	_, s, err := openFleet(c)
	if err != nil {
		return err
	}
	for held, err := range has.Verify(c.Context, scope.tenant, false, tables.TicksOf(time.Now())) {
		if err != nil {
			return err
		}
		act := schema.Act{What: "archive rewrite", Tenant: scope.tenant, Detail: "log of " + held.Table}
		err := s.recorded(c.Context, act, func(ctx context.Context) (string, error) {
			return "rewritten", has.FreshLog(ctx, scope.tenant, held.Table)
		})
		if err != nil {
			return err
		}
		line := rewrittenLine{Tenant: scope.tenant, Table: held.Table}
		if err := printLine(c, line, fmt.Sprintf("%s %s: a new log", scope.tenant, held.Table)); err != nil {
			return err
		}
	}
	return nil
}
