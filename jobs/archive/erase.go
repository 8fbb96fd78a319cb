package archive

import (
	"context"
	"errors"
	"fmt"

	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Erase deletes all objects of a device, and returns their number.
func (s *Store) Erase(ctx context.Context, tenant schema.Tenant, device schema.DeviceID) (deleted int, err error) {
	days := s.container.NewListBlobsHierarchyPager("/", &container.ListBlobsHierarchyOptions{
		Prefix: to.Ptr(objectsFolder + tenantFolder(tenant))})
	for days.More() {
		page, err := days.NextPage(call{KindList, ""}.within(ctx))
		if err = named(err); errors.Is(err, ErrNoContainer) {
			return deleted, nil
		}
		if err != nil {
			return deleted, fmt.Errorf("%s %s: %w", KindList, s.name, err)
		}
		for _, day := range page.Segment.BlobPrefixes {
			name := *day.Name + encodeDevice(device) + suffix
			_, err := s.container.NewBlobClient(name).Delete(call{KindDelete, name}.within(ctx), nil)
			if err = named(err); errors.Is(err, errNoObject) {
				continue
			}
			if err != nil {
				return deleted, fmt.Errorf("%s %s/%s: %w", KindDelete, s.name, name, err)
			}
			deleted++
		}
	}
	return deleted, nil
}
