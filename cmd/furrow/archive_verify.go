package main

import (
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/jobs/archive"
	"furrow/tables"
	"furrow/tables/schema"
)

func isArchive(p config.Processor) bool { return p.Name == archive.Processor.Name }

func verifiedText(l archive.HeldTable) string {
	text := fmt.Sprintf("%s %s: %s, %s", l.Tenant, l.Table, many(int64(l.Files), "file"), many(l.Rows, "row"))
	for _, wrong := range l.Wrong {
		text += "\n  " + wrong
	}
	return text
}

func archiveVerify(c *cli.Context) error {
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	if !c.Bool("readings") && anySet(c, "from", "to") {
		return usagef(c, "--from and --to select days for --readings: without it, whole tables are compared")
	}
	if c.Bool("readings") && has.Source == nil {
		return fmt.Errorf("--readings: no pipeline has the processor %s; see furrow config show", archive.Processor.Name)
	}
	rows, wrong, w := int64(0), 0, newLongWork(c)
	const again = "run the same command again"
	w.begin("verifying tables")
	// Where devices have readings, there should be tables.
	for tenant, err := range tenantsIn(scope.tenant, has.Tenants(c.Context), f.Reader().Devices().Tenants(c.Context)) {
		if err != nil {
			return w.ended(err, again)
		}
		for line, err := range has.Verify(c.Context, tenant, c.Bool("files"), tables.TicksOf(time.Now())) {
			if err != nil {
				return w.ended(err, again)
			}
			w.reached(fmt.Sprintf("%s of %s, %s", line.Table, tenant, w.speed(rows+line.Rows, "row")))
			if line.Table == archive.ReadingsTable && c.Bool("readings") {
				more, err := scope.verifyReadings(c, has, tenant)
				if line.Wrong = append(line.Wrong, more...); err != nil {
					return w.ended(err, again)
				}
			}
			rows, wrong = rows+line.Rows, wrong+len(line.Wrong)
			if err := printLine(c, line, verifiedText(line)); err != nil {
				return err
			}
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%s; furrow archive rewrite makes days again", many(int64(wrong), "problem"))
	}
	if rows == 0 {
		if err := knownTenant(c, f.Reader().Devices(), scope.tenant); err != nil {
			return err
		}
	}
	fmt.Fprintf(c.App.ErrWriter, "furrow: %s in tables that are as they should be\n", many(rows, "row"))
	return nil
}

// verifyReadings reads the selected days of a tenant, and returns what is wrong.
func (s archiveScope) verifyReadings(c *cli.Context, has *archive.Tables, tenant schema.Tenant) (wrong []string,
	err error) {
	for d, err := range has.Readings(tenant).Days(c.Context) {
		if err != nil {
			return wrong, err
		}
		if d.Date < s.from || d.Date > s.last() {
			continue
		}
		parts, err := has.Parts(c.Context, tenant, d)
		if err != nil {
			return wrong, err
		}
		for _, day := range parts {
			problems, err := has.VerifyDay(c.Context, day)
			if wrong = append(wrong, problems...); err != nil {
				return wrong, err
			}
		}
	}
	return wrong, nil
}
