package archive

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"furrow/jobs/archive/delta"
	"furrow/jobs/commit"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
)

// Mirror makes the tables of a tenant in another container equal to what is published of them. A reader of the mirror
// sees one version after the other, as readers of the archive do: files come before the versions that name them, and go
// after all others. It may be stopped and repeated. progress is told before each object how many there were.
func (c Contents) Mirror(
	ctx context.Context, t schema.Tenant, to *Store, progress func(Copied),
) (n Copied, err error) {
	if err := to.Create(ctx); err != nil {
		return n, err
	}
	names, err := c.checkMirror(ctx, t, to)
	if err != nil {
		return n, err
	}
	every, err := c.TablesWith(ctx, t, names)
	if err != nil {
		return n, err
	}
	if err := c.Catalog.NoteCopy(ctx, t, to.name); err != nil {
		return n, err
	}
	for _, table := range every {
		before := n.Objects
		err := commit.RetryIf(ctx, commit.Tries, isMeanwhile, func() error {
			n.Objects = before
			return to.mirror(ctx, c.Store, table.Folder(), &n, progress)
		})
		if err != nil {
			return n, fmt.Errorf("copy of table %s of tenant %s: %w", table.Name, t, err)
		}
	}
	return n, nil
}

// checkMirror returns the names of the folders that a mirror has for the tenant, and an error for a container with
// tables of others: its readers would read them, too.
func (c Contents) checkMirror(ctx context.Context, t schema.Tenant, to *Store) (names []string, err error) {
	if to.name == c.Store.name {
		return nil, fmt.Errorf("%s is the archive itself: name another container", to.name)
	}
	own := delta.Folder(string(t)) + "/"
	for o, err := range to.objects(ctx, "") {
		if err != nil {
			return nil, err
		}
		if name, _, is := strings.Cut(strings.TrimPrefix(o.name, own), "/"); is && !slices.Contains(names, name) {
			names = append(names, name)
		}
		if folder, _, is := strings.Cut(o.name, delta.LogFolder); is && !strings.HasPrefix(folder, own) {
			return nil, fmt.Errorf("container %s has another table, %s, which readers of the tables of tenant %s "+
				"could read, too: name another container", to.name, folder, t)
		}
	}
	return names, nil
}

// mirror makes one table equal.
func (s *Store) mirror(ctx context.Context, from *Store, folder string, n *Copied, progress func(Copied)) error {
	log, err := collect(from.objects(ctx, folder+delta.LogFolder)) // files that it names are listed afterwards
	if err != nil {
		return err
	}
	files, err := collect(from.objects(ctx, folder))
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(o object) bool { return strings.HasPrefix(o.name, folder+delta.LogFolder) })
	there, err := collect(s.objects(ctx, folder))
	if err != nil {
		return err
	}
	has := map[string]object{}
	for _, o := range there {
		has[o.name] = o
	}
	for _, o := range slices.Concat(files, log) { // of the log, _last_checkpoint comes last by its name
		old, is := has[o.name]
		delete(has, o.name)
		progress(*n)
		if n.Objects++; is && old.bytes == o.bytes && old.source == string(o.etag) {
			continue
		}
		if err := s.copy(ctx, from, o); err != nil {
			return err
		}
		n.Written++
	}
	for _, o := range there {
		if _, left := has[o.name]; !left {
			continue
		}
		if err := s.Delete(ctx, o.name); err != nil {
			return err
		}
		n.Deleted++
	}
	return nil
}

// ReaderURL returns the address of the container with a token that only reads, for some time.
func (s *Store) ReaderURL(lasts time.Duration) (string, error) {
	url, err := s.container.GetSASURL(sas.ContainerPermissions{Read: true, List: true}, time.Now().Add(lasts), nil)
	if err != nil {
		return "", fmt.Errorf("a token for %s takes the account's key: %w", s.name, err)
	}
	return url, nil
}

func collect(seq iter.Seq2[object, error]) (all []object, err error) {
	for o, err := range seq {
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}
