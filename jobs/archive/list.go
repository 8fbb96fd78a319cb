package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Folders yields the folders that have a manifest, of one tenant or of all, in the order of tenants and days: first
// those of days, then those of hours.
func (s *Store) Folders(ctx context.Context, tenant schema.Tenant) iter.Seq2[Folder, error] {
	prefix := tenantPrefix
	if tenant != "" {
		prefix = tenantFolder(tenant)
	}
	return func(yield func(Folder, error) bool) {
		for _, root := range []string{"", hoursFolder} {
			for f, err := range s.folders(ctx, root+prefix) {
				if !yield(f, err) || err != nil {
					return
				}
			}
		}
	}
}

// folders yields the folders of the manifests whose names begin with a prefix.
func (s *Store) folders(ctx context.Context, prefix string) iter.Seq2[Folder, error] {
	return func(yield func(Folder, error) bool) {
		pages := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: to.Ptr(prefix)})
		for pages.More() {
			page, err := pages.NextPage(call{KindList, ""}.within(ctx))
			if err = named(err); errors.Is(err, ErrNoContainer) {
				return
			}
			if err != nil {
				yield(Folder{}, fmt.Errorf("%s %s: %w", KindList, s.name, err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				if f, is := parseManifest(*item.Name); is && !yield(f, nil) {
					return
				}
			}
		}
	}
}
