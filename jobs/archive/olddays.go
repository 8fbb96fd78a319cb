package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"furrow/jobs/retain"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// OldDays yields what the archive has of days before the one of a tenant, in both formats, with rollups, reports and
// hours. A day's manifest is deleted after its files.
func (s *Store) OldDays(ctx context.Context, before func(schema.Tenant) schema.Day) iter.Seq2[retain.Outdated, error] {
	return func(yield func(retain.Outdated, error) bool) {
		roots := []string{"", objectsFolder, hoursFolder}
		for _, kind := range []string{rollupsKind, reportsKind} {
			for folder, err := range s.below(ctx, kind+"/") {
				if err != nil {
					yield(retain.Outdated{}, err)
					return
				}
				roots = append(roots, folder)
			}
		}
		for _, root := range roots {
			for folder, err := range s.below(ctx, root+tenantPrefix) {
				tenant, errKey := tenantOf(strings.TrimPrefix(folder, root))
				if err == nil && errKey != nil {
					continue // it is not ours
				}
				for day, err := range s.oldDays(ctx, folder, before(tenant), err) {
					old := retain.Outdated{Tenant: tenant, Table: "archive"}
					var names []string
					if err == nil {
						names, err = s.names(ctx, day)
					}
					old.Rows = len(names)
					old.Delete = func(ctx context.Context) error { return s.deleteAll(ctx, names) }
					if !yield(old, err) || err != nil {
						return
					}
				}
			}
		}
	}
}

// objectsFolder has the objects of format jsonl.
const objectsFolder = "readings/"

// tenantOf returns the tenant of a folder.
func tenantOf(folder string) (schema.Tenant, error) {
	key := strings.TrimSuffix(strings.TrimPrefix(folder, tenantPrefix), "/")
	return schema.ParseTenantKey(strings.ReplaceAll(key, "%", "="))
}

// oldDays yields the folders of a tenant's days before one, or an error.
func (s *Store) oldDays(ctx context.Context, tenant string, before schema.Day, err error) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		if err != nil {
			yield("", err)
			return
		}
		if before <= 0 {
			return
		}
		for folder, err := range s.below(ctx, tenant+"date=") {
			day, errDay := schema.ParseDay(strings.TrimSuffix(strings.TrimPrefix(folder, tenant+"date="), "/"))
			if err == nil && errDay != nil {
				continue
			}
			if err == nil && day >= before || !yield(folder, err) || err != nil {
				return
			}
		}
	}
}

// below yields the folders whose names begin with a prefix, in order.
func (s *Store) below(ctx context.Context, prefix string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		pages := s.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{Prefix: to.Ptr(prefix)})
		for pages.More() {
			page, err := pages.NextPage(call{KindList, ""}.within(ctx))
			if err = named(err); errors.Is(err, ErrNoContainer) {
				return
			}
			if err != nil {
				yield("", fmt.Errorf("%s %s: %w", KindList, s.name, err))
				return
			}
			for _, folder := range page.Segment.BlobPrefixes {
				if !yield(*folder.Name, nil) {
					return
				}
			}
		}
	}
}

// names lists the objects of a folder. Those of a manifest come after the files.
func (s *Store) names(ctx context.Context, folder string) (all []string, err error) {
	pages := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr(folder)})
	for pages.More() {
		page, err := pages.NextPage(call{KindList, ""}.within(ctx))
		if err = named(err); err != nil {
			return nil, fmt.Errorf("%s %s: %w", KindList, s.name, err)
		}
		for _, item := range page.Segment.BlobItems {
			all = append(all, *item.Name)
		}
	}
	return all, nil
}

// deleteAll deletes objects. Those that are gone are as good.
func (s *Store) deleteAll(ctx context.Context, names []string) error {
	for _, name := range names {
		_, err := s.container.NewBlobClient(name).Delete(call{KindDelete, name}.within(ctx), nil)
		if err = named(err); err != nil && !errors.Is(err, errNoObject) {
			return fmt.Errorf("%s %s/%s: %w", KindDelete, s.name, name, err)
		}
	}
	return nil
}
