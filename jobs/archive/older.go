package archive

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"

	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// older knows what the container has in the forms of earlier releases:
//
//	tenant=TENANT/date=2026-11-20/PARTITION-0000.parquet    readings of a day, and beside them _PARTITION….json
//	hours/tenant=TENANT/date=2026-11-20/hour=13/…           readings of an hour
//	rollups/window=1h/tenant=TENANT/date=2026-11-20/…       rollups and, likewise, reports
//	readings/tenant=TENANT/date=2026-11-20/DEVICE.jsonl.gz  readings of a device and day
//
// Days are taken over into tables when they are made again, and then deleted. Nothing comes into these forms any more:
// where there was nothing once, nobody looks again.
type older struct {
	mu   sync.Mutex
	none bool
}

const (
	olderTenant  = "tenant="
	olderHours   = "hours/"
	olderObjects = "readings/"
	olderSuffix  = ".jsonl.gz"
)

// some reports whether there may be something.
func (o *older) some(ctx context.Context, s *Store) (bool, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.none {
		return false, nil
	}
	for _, prefix := range []string{olderTenant, olderObjects, olderHours, "rollups/", "reports/"} {
		for _, err := range s.below(ctx, prefix) {
			return true, err
		}
	}
	o.none = true
	return false, nil
}

func olderFolder(t schema.Tenant) string {
	return olderTenant + strings.ReplaceAll(t.Key(), "=", "%") + "/"
}

func (d TableDay) olderFolder() string { return olderFolder(d.Tenant) + "date=" + d.Day.String() + "/" }

// days returns the days that there are of a tenant and a partition of the fleet: also those that have only hours, or
// what somebody left who was killed while deleting. Objects of devices are of any partition.
func (o *older) days(ctx context.Context, s *Store, t schema.Tenant, m schema.Month) ([]schema.Day, error) {
	if is, err := o.some(ctx, s); err != nil || !is {
		return nil, err
	}
	roots, err := o.roots(ctx, s)
	if err != nil {
		return nil, err
	}
	all := map[schema.Day]bool{}
	for _, root := range append(roots, olderObjects) {
		for folder, err := range s.below(ctx, root+olderFolder(t)+"date=") {
			if err != nil {
				return nil, err
			}
			day, err := schema.ParseDay(strings.TrimSuffix(folder[strings.LastIndex(folder, "=")+1:], "/"))
			if err != nil || all[day] {
				continue // it is not ours, or known
			}
			names, err := s.names(ctx, folder)
			if err != nil {
				return nil, err
			}
			all[day] = root == olderObjects || slices.ContainsFunc(names, func(name string) bool { return ofMonth(name, m) })
		}
	}
	maps.DeleteFunc(all, func(_ schema.Day, is bool) bool { return !is })
	return slices.Sorted(maps.Keys(all)), nil
}

// ofMonth reports whether a blob belongs to a partition of the fleet.
func ofMonth(name string, m schema.Month) bool {
	base := name[strings.LastIndex(name, "/")+1:]
	described, is := strings.CutPrefix(base, "_"+m.String())
	return strings.HasPrefix(base, m.String()+"-") || is && (described == ".json" || described == ".ranges.json")
}

// roots are the folders that have those of tenants.
func (o *older) roots(ctx context.Context, s *Store) ([]string, error) {
	all := []string{"", olderHours}
	for _, kind := range []string{"rollups/", "reports/"} {
		for folder, err := range s.below(ctx, kind) {
			if err != nil {
				return nil, err
			}
			all = append(all, folder)
		}
	}
	return all, nil
}

// delete deletes a day: of a partition of the fleet, with the objects of all devices.
func (o *older) delete(ctx context.Context, s *Store, d TableDay) error {
	if is, err := o.some(ctx, s); err != nil || !is {
		return err
	}
	files, err := o.files(ctx, s, d)
	if err != nil {
		return err
	}
	objects, err := s.names(ctx, olderObjects+d.olderFolder())
	return errors.Join(err, s.deleteAll(ctx, append(files, objects...)))
}

// erase deletes the objects of devices: nobody reads them any more, so nobody takes them over.
func (o *older) erase(ctx context.Context, s *Store, t schema.Tenant, devices []schema.DeviceID) error {
	if is, err := o.some(ctx, s); err != nil || !is {
		return err
	}
	for folder, err := range s.below(ctx, olderObjects+olderFolder(t)+"date=") {
		for _, device := range devices {
			if err == nil {
				err = s.Delete(ctx, folder+olderDevice(device)+olderSuffix)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// files lists the files of a day and a partition of the fleet, with its hours, rollups and reports, and what describes
// them.
func (o *older) files(ctx context.Context, s *Store, d TableDay) (all []string, err error) {
	roots, err := o.roots(ctx, s)
	if err != nil {
		return nil, err
	}
	for _, root := range roots {
		names, err := s.names(ctx, root+d.olderFolder())
		if err != nil {
			return nil, err
		}
		all = append(all, slices.DeleteFunc(names, func(name string) bool { return !ofMonth(name, d.Month) })...)
	}
	return all, nil
}

// has reports whether there is something of a day.
func (o *older) has(ctx context.Context, s *Store, d TableDay) (bool, error) {
	days, err := o.days(ctx, s, d.Tenant, d.Month)
	return slices.Contains(days, d.Day), err
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

// names lists the blobs of a folder.
func (s *Store) names(ctx context.Context, folder string) (all []string, err error) {
	for one, err := range s.List(ctx, folder) {
		if errors.Is(err, ErrNoContainer) {
			break
		}
		if err != nil {
			return nil, err
		}
		all = append(all, one.Name)
	}
	return all, nil
}

// deleteAll deletes blobs, if they are there.
func (s *Store) deleteAll(ctx context.Context, names []string) error {
	for _, name := range names {
		if err := s.Delete(ctx, name); err != nil {
			return err
		}
	}
	return nil
}
