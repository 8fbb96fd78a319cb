package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"furrow/jobs/archive/catalog"
	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

var _ catalog.Container = (*Store)(nil)

// Put replaces a version of a blob in one request, or makes one where the version is empty.
func (s *Store) Put(ctx context.Context, name string, file []byte, on tables.ETag) error {
	b := s.newBody(name, "application/octet-stream")
	b.rest, b.on = file, condition(on)
	return b.put(ctx)
}

// Get returns a blob and its version, which is empty if there is none.
func (s *Store) Get(ctx context.Context, name string) (content []byte, etag tables.ETag, err error) {
	got, err := s.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx), nil)
	if err = named(err); errors.Is(err, ErrNoObject) {
		return nil, "", nil
	}
	if err == nil {
		defer got.Body.Close()
		content, err = io.ReadAll(got.Body)
	}
	if err == nil && got.ETag == nil {
		err = errors.New("storage sent no ETag")
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s %s/%s: %w", KindGet, s.name, name, err)
	}
	return content, *got.ETag, nil
}

// Read opens an object, and tells its size.
func (s *Store) Read(ctx context.Context, name string) (content io.ReadCloser, size int64, err error) {
	got, err := s.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx), nil)
	if err = named(err); err == nil && got.ContentLength == nil {
		err = errors.Join(errors.New("storage sent no length"), got.Body.Close())
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s %s/%s: %w", KindGet, s.name, name, err)
	}
	return got.NewRetryReader(call{KindGet, name}.within(ctx), nil), *got.ContentLength, nil
}

// size returns how many bytes a blob has; -1: there is none.
func (s *Store) size(ctx context.Context, name string) (int64, error) {
	found, err := s.container.NewBlobClient(name).GetProperties(call{KindLook, name}.within(ctx), nil)
	if err = named(err); errors.Is(err, ErrNoObject) {
		return -1, nil
	}
	if err == nil && found.ContentLength == nil {
		err = errors.New("storage sent no length")
	}
	if err != nil {
		return 0, fmt.Errorf("%s %s/%s: %w", KindLook, s.name, name, err)
	}
	return *found.ContentLength, nil
}

// condition asks for a version; empty: that there is none.
func condition(on tables.ETag) *blob.ModifiedAccessConditions {
	if on == "" {
		return &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	}
	return &blob.ModifiedAccessConditions{IfMatch: &on}
}

// Delete deletes a blob, if there is one.
func (s *Store) Delete(ctx context.Context, name string) error {
	_, err := s.container.NewBlobClient(name).Delete(call{KindDelete, name}.within(ctx), nil)
	if err = named(err); err != nil && !errors.Is(err, ErrNoObject) {
		return fmt.Errorf("%s %s/%s: %w", KindDelete, s.name, name, err)
	}
	return nil
}

// List yields the blobs in a folder.
func (s *Store) List(ctx context.Context, folder string) iter.Seq2[catalog.Listed, error] {
	return func(yield func(catalog.Listed, error) bool) {
		for item, err := range s.blobs(ctx, folder, container.ListBlobsInclude{}) {
			if err != nil {
				yield(catalog.Listed{}, err)
				return
			}
			one := catalog.Listed{Name: *item.Name}
			if p := item.Properties; p != nil && p.LastModified != nil && p.ContentLength != nil {
				one.Written, one.Bytes = *p.LastModified, *p.ContentLength
			}
			if !yield(one, nil) {
				return
			}
		}
	}
}

// blobs yields the blobs whose names begin with a prefix, in the order of their names.
func (s *Store) blobs(
	ctx context.Context, prefix string, with container.ListBlobsInclude,
) iter.Seq2[*container.BlobItem, error] {
	return func(yield func(*container.BlobItem, error) bool) {
		pages := s.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: &prefix, Include: with})
		for pages.More() {
			page, err := pages.NextPage(call{KindList, ""}.within(ctx))
			if err = named(err); err != nil {
				yield(nil, fmt.Errorf("%s %s: %w", KindList, s.name, err))
				return
			}
			for _, item := range page.Segment.BlobItems {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}
