package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
)

// Copied counts what a pass over two archives has done.
type Copied struct {
	Objects int64 // at the source
	Written int64 // that were missing or differed
	Deleted int64 // that the source has no longer
}

// metaSource is the metadata of a copied object with the version that it is a copy of.
const metaSource = "source"

// An object is one of a listing.
type object struct {
	name   string
	bytes  int64
	etag   azcore.ETag
	source string // of a copy
}

// CopyFrom makes the archive equal to another one, object by object. It may be stopped and repeated: an object whose
// version was copied is not sent again. One that is gone or replaced since it was listed counts as written, as another
// pass is needed. An archive that has nothing is not created here. progress is told before each object how many there
// were.
func (s *Store) CopyFrom(ctx context.Context, from *Store, progress func(Copied)) (n Copied, err error) {
	source, stop := iter.Pull2(from.objects(ctx, ""))
	defer stop()
	there, end := iter.Pull2(s.objects(ctx, ""))
	defer end()
	one, err, more := source()
	old, errOld, others := there()
	for more || others {
		if err := errors.Join(err, errOld); err != nil {
			return n, err
		}
		order := strings.Compare(one.name, old.name)
		switch {
		case !others:
			order = -1
		case !more:
			order = 1
		}
		if order > 0 {
			if err := s.Delete(ctx, old.name); err != nil {
				return n, err
			}
			n.Deleted++
			old, errOld, others = there()
			continue
		}
		progress(n)
		if n.Objects++; n.Objects == 1 {
			if err := s.Create(ctx); err != nil {
				return n, err
			}
		}
		if order < 0 || old.bytes != one.bytes || old.source != string(one.etag) {
			if err := s.copy(ctx, from, one); err != nil && !isMeanwhile(err) {
				return n, fmt.Errorf("archive %s/%s: %w", from.name, one.name, err)
			}
			n.Written++
		}
		if one, err, more = source(); order == 0 {
			old, errOld, others = there()
		}
	}
	return n, nil
}

// HasObjects reports whether the archive has anything.
func (s *Store) HasObjects(ctx context.Context) (bool, error) {
	for _, err := range s.objects(ctx, "") {
		return err == nil, err
	}
	return false, nil
}

// objects yields the objects whose names begin with a prefix, in the order of their names.
func (s *Store) objects(ctx context.Context, prefix string) iter.Seq2[object, error] {
	return func(yield func(object, error) bool) {
		for item, err := range s.blobs(ctx, prefix, container.ListBlobsInclude{Metadata: true}) {
			if errors.Is(err, ErrNoContainer) {
				return
			}
			if err != nil {
				yield(object{}, err)
				return
			}
			o := object{name: *item.Name, bytes: *item.Properties.ContentLength, etag: *item.Properties.ETag}
			for name, value := range item.Metadata {
				if strings.EqualFold(name, metaSource) && value != nil {
					o.source = *value
				}
			}
			if !yield(o, nil) {
				return
			}
		}
	}
}

// isMeanwhile reports whether an object could not be copied because it is gone or replaced: a file was cleaned, or a
// checkpoint was made.
func isMeanwhile(err error) bool {
	return errors.Is(err, ErrNoObject) || errors.Is(err, tables.ErrConflict)
}

// copy copies one version of an object.
func (s *Store) copy(ctx context.Context, from *Store, o object) error {
	got, err := from.container.NewBlobClient(o.name).DownloadStream(call{KindGet, o.name}.within(ctx),
		&blob.DownloadStreamOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: condition(o.etag)}})
	if err != nil {
		return within(KindGet, err)
	}
	r := got.NewRetryReader(call{KindGet, o.name}.within(ctx), nil)
	defer r.Close()
	b := s.newBody(o.name, "")
	if got.ContentType != nil {
		b.contentType = *got.ContentType
	}
	size, err := io.Copy(writer(func(p []byte) error { return b.write(ctx, p) }), r)
	if err != nil {
		return err
	}
	if size != o.bytes {
		return fmt.Errorf("it has %d bytes, and should have %d", size, o.bytes)
	}
	b.metadata = map[string]*string{metaSource: to.Ptr(string(o.etag))}
	for name, value := range got.Metadata {
		if name = strings.ToLower(name); name != metaSource {
			b.metadata[name] = value
		}
	}
	return b.put(ctx)
}
