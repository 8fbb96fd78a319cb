package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"furrow/jobs/archive/columnar"
	"furrow/jobs/fold"
	"furrow/tables"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
)

// past is the version of a file that is being replaced. It has readings that storage no longer has. It is downloaded
// when the first of them is needed.
type past struct {
	file   *dayFile
	on     azcore.ETag
	copied *os.File
	reader *columnar.Reader
	ahead  *columnar.Reading // nil at the end
	taken  map[schema.DeviceID]bool
}

// readings yields those of a device. Devices come in order.
func (p *past) readings(ctx context.Context, device schema.DeviceID) iter.Seq2[fold.Sample, error] {
	return func(yield func(fold.Sample, error) bool) {
		if err := p.open(ctx); err != nil {
			yield(fold.Sample{}, err)
			return
		}
		p.taken[device] = true
		for p.ahead != nil && p.ahead.Device <= string(device) {
			one := *p.ahead
			if err := p.next(); err != nil {
				yield(fold.Sample{}, err)
				return
			}
			if one.Device < string(device) {
				continue
			}
			key, err := schema.ParseRowKey(one.Key)
			if err != nil {
				err = fmt.Errorf("the version that is replaced: %w", err)
			}
			if !yield(fold.Sample{Key: key, Values: one.Values}, err) || err != nil {
				return
			}
		}
	}
}

// open downloads the version. It returns errTaken if another one is there now.
func (p *past) open(ctx context.Context) (err error) {
	if p.reader != nil {
		return nil
	}
	p.taken = map[schema.DeviceID]bool{}
	if p.copied, err = os.CreateTemp("", "furrow-*.parquet"); err != nil {
		return err
	}
	name := p.file.name
	got, err := p.file.store.container.NewBlobClient(name).DownloadStream(call{KindGet, name}.within(ctx),
		&blob.DownloadStreamOptions{AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: condition(p.on)}})
	if err = named(err); errors.Is(err, tables.ErrConflict) || errors.Is(err, errNoObject) {
		return errTaken
	}
	if err != nil {
		return fmt.Errorf("%s: %w", KindGet, err)
	}
	body := got.NewRetryReader(call{KindGet, name}.within(ctx), nil)
	defer body.Close()
	size, err := io.Copy(p.copied, body)
	if err != nil {
		return fmt.Errorf("%s: %w", KindGet, err)
	}
	if p.reader, err = columnar.Open(p.copied, size); err != nil {
		return fmt.Errorf("the version that is replaced: %w", err)
	}
	return p.next()
}

func (p *past) next() error {
	one, err := p.reader.Next()
	if errors.Is(err, io.EOF) {
		p.ahead = nil
		return nil
	}
	if err != nil {
		return fmt.Errorf("the version that is replaced: %w", err)
	}
	p.ahead = &one
	return nil
}

func (p *past) close() {
	if p.copied != nil {
		_ = p.copied.Close() // it was only read
		_ = os.Remove(p.copied.Name())
	}
}
