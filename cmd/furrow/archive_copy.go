package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/setup"
	"furrow/jobs/archive"
	"furrow/tables/schema"
)

func archiveCopyCommand() *cli.Command {
	return &cli.Command{
		Name:  "copy",
		Usage: "Keep a copy of a tenant's tables in a container of their own, for the customer",
		Description: `A token for that container reads the tables of this tenant and of no other. Repeat the command, or let it run
with --every: it copies what is new, and deletes what the tables no longer have. Readers of the copy see one version
after the other. What furrow device remove --data erases leaves the copy with the next run. With --every, a failure
after the first run is printed, and the next run goes on.` + examples(
			"archive copy --tenant contoso --token 30d", "archive copy --tenant contoso --every 1h"),
		Flags: append(fleetFlags(),
			&cli.StringFlag{Name: "tenant", Usage: "Tables of `TENANT`"},
			&cli.StringFlag{Name: "container", DefaultText: "named after the tenant's hash", Usage: "`NAME` of the container"},
			durationFlag("every", 0, time.Minute, "Repeat after `DURATION`, until SIGINT or SIGTERM"),
			durationFlag("token", 0, time.Minute, "Print the container's URL with a token that only reads, for `DURATION`; "+
				"it takes the account's key"),
			jsonFlag()),
		Action: stoppable(archiveCopy),
	}
}

// archiveCopyLine is what one run of archive copy has done, in JSON.
type archiveCopyLine struct {
	Tenant    schema.Tenant `json:"tenant"`
	Container string        `json:"container"`
	Objects   int64         `json:"objects"` // at the source
	Written   int64         `json:"written"` // that were missing or differed
	Deleted   int64         `json:"deleted"` // that the tables have no longer
	URL       string        `json:"url,omitempty"`
}

// containerName is Azure's rule for containers, without that for their length.
var containerName = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`)

func archiveCopy(c *cli.Context) error {
	if !c.IsSet("tenant") {
		return usagef(c, "--tenant is required: a copy has the tables of one tenant")
	}
	name := c.String("container")
	if c.IsSet("container") && (len(name) < 3 || len(name) > 63 || !containerName.MatchString(name)) {
		return usagef(c, "--container %q: a name has 3 to 63 small letters, digits and single hyphens between them",
			name)
	}
	has, scope, f, err := openArchive(c)
	if err != nil {
		return err
	}
	line := archiveCopyLine{Tenant: scope.tenant, Container: name}
	if line.Container == "" {
		sum := sha256.Sum256([]byte(scope.tenant.Key()))
		line.Container = f.Names.Archive() + "-" + hex.EncodeToString(sum[:8])
	}
	to, err := f.Archive.Sibling(line.Container)
	if err != nil {
		return err
	}
	all, errTables := has.Catalog.Tables(c.Context, scope.tenant)
	copies, err := has.Catalog.Copies(c.Context, scope.tenant)
	if err = errors.Join(errTables, err); err != nil {
		return err
	}
	if len(all) == 0 && !slices.Contains(copies, line.Container) { // a former tenant leaves its copies
		if err := knownTenant(c, f.Reader().Devices(), scope.tenant); err != nil {
			return err
		}
	}
	if lasts := durationOf(c, "token"); lasts > 0 {
		if line.URL, err = to.ReaderURL(lasts); err != nil {
			return err
		}
	}
	w := newLongWork(c)
	w.begin("copying the tables of " + string(scope.tenant))
	once := func() error {
		n, err := has.Mirror(c.Context, scope.tenant, to, func(n archive.Copied) {
			w.reached(w.speed(n.Objects, "object") + ", " + grouped(n.Written) + " written")
		})
		line.Objects, line.Written, line.Deleted = n.Objects, n.Written, n.Deleted
		return w.ended(err, "what is copied stays: run the same command again to continue")
	}
	every := durationOf(c, "every")
	tell := func(err error) error {
		if err != nil {
			_, err = fmt.Fprintf(c.App.ErrWriter, "furrow: %v; the next run is in %s\n", err, schema.FormatDuration(every))
			return err
		}
		defer func() { line.URL = "" }()
		return printLine(c, line, line.text())
	}
	if every > 0 {
		return repeated(c.Context, once, tell, func() bool { return setup.Pause(c.Context, every) })
	}
	if err := once(); err != nil {
		return err
	}
	return tell(nil)
}

// repeated runs a function again after each pause, until ctx ends, and tells its outcome. The error of the first run is
// returned: what was asked for may be wrong. After a later one, the next run may succeed.
func repeated(ctx context.Context, once func() error, tell func(error) error, pause func() bool) error {
	for first := true; ; first = false {
		err := once()
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && first {
			return err
		}
		if err := tell(err); err != nil || !pause() {
			return err
		}
	}
}

func (l archiveCopyLine) text() string {
	text := fmt.Sprintf("%s in container %s: %s, %s written, %s deleted", l.Tenant, l.Container, many(l.Objects, "object"),
		grouped(l.Written), grouped(l.Deleted))
	if l.URL != "" {
		text += "\n" + l.URL
	}
	return text
}
