package archive

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

var _ jobs.Objects = (*Store)(nil)

// Write makes an object of readings, in one step: it is there whole, or as it was before. It reads them once, and holds
// no more than 4 MiB of what they are compressed to. Where there are none, nothing is written, and what is there stays.
//
// An object of a higher fence stays, too, and the error is jobs.ErrOvertaken; any other is replaced, on the version
// that was looked at.
func (s *Store) Write(ctx context.Context, name string, fence tables.Ticks,
	readings iter.Seq2[schema.Reading, error]) error {
	b := s.newBody(name)
	err := b.fill(ctx, readings)
	if err == nil && b.readings > 0 {
		err = b.settle(ctx, fence)
	}
	if err != nil && !errors.Is(err, jobs.ErrOvertaken) {
		return fmt.Errorf("archive %s/%s: %w", s.name, name, err)
	}
	return err
}

// fill compresses readings into the body. The header of gzip has no time.
func (b *body) fill(ctx context.Context, readings iter.Seq2[schema.Reading, error]) error {
	zip := gzip.NewWriter(writer(func(p []byte) error { return b.write(ctx, p) }))
	var line []byte
	for r, err := range readings {
		if err != nil {
			return err
		}
		if line, err = appendLine(line[:0], &r); err != nil {
			return err
		}
		if _, err := zip.Write(line); err != nil {
			return err
		}
		b.readings++
	}
	return zip.Close()
}

// tries is how often an object is looked at and written again before the job fails and is tried again as a whole.
const tries = 6

// settle puts the body in its place. Whatever is answered but success is unknown: what is there is looked at, and
// decided upon.
func (b *body) settle(ctx context.Context, fence tables.Ticks) error {
	absent := &blob.ModifiedAccessConditions{IfNoneMatch: to.Ptr(azcore.ETagAny)}
	on := absent
	var last error
	for try := range tries {
		if last = b.put(ctx, fence, on); last == nil || refused(last) {
			return last
		}
		found, err := b.look(ctx)
		switch {
		case err != nil:
			last = err // no wiser: the next try will tell
		case found == nil:
			on = absent
		case found.fence > fence:
			return jobs.ErrOvertaken
		case found.writer == b.writer:
			return nil // the answer was lost
		case errors.Is(last, errBlocksGone):
			return last // and the readings cannot be read again
		default:
			on = &blob.ModifiedAccessConditions{IfMatch: &found.etag}
		}
		if err := pause(ctx, try); err != nil {
			return err
		}
	}
	return fmt.Errorf("after %d tries: %w", tries, last)
}

// Metadata of an object. Azure keeps their names without regard to case.
const (
	metaFence    = "fence"    // how its writer ranks, in ticks
	metaWriter   = "writer"   // random: read back, it tells "it was us"
	metaReadings = "readings" // how many there are
)

// A version is what is known of an object that is there.
type version struct {
	etag   azcore.ETag
	fence  tables.Ticks
	writer string
}

// look is the version that is there, or nil. One without a fence, which somebody else must have put there, ranks below
// all.
func (b *body) look(ctx context.Context) (*version, error) {
	found, err := b.client.GetProperties(call{KindLook, b.name}.within(ctx), nil)
	if err = named(err); errors.Is(err, errNoObject) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", KindLook, err)
	}
	if found.ETag == nil {
		return nil, fmt.Errorf("%s: storage sent no ETag", KindLook)
	}
	v := &version{etag: *found.ETag}
	for name, value := range found.Metadata {
		switch strings.ToLower(name) {
		case metaWriter:
			v.writer = *value
		case metaFence:
			n, err := strconv.ParseInt(*value, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("the fence in its metadata is %.32q and no number: delete the object or its metadata",
					*value)
			}
			v.fence = tables.Ticks(n)
		}
	}
	return v, nil
}

// pause waits a little longer before each further try, and not as long as others who have met here.
func pause(ctx context.Context, try int) error {
	longest := time.Duration(20<<try) * time.Millisecond
	timer := time.NewTimer(longest/2 + rand.N(longest/2))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}
