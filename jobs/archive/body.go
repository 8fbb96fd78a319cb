package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

const parquetFile = "application/vnd.apache.parquet"

// blockSize is how much of an object is held in memory; larger objects are put in blocks of that size. Azure takes
// 50,000 of them, far more than a day needs. learn.microsoft.com: "Scalability targets for Blob storage".
const blockSize = 4 << 20

// A body is an object while it is written: the blocks that were put, and the rest. Readers do not see blocks before
// they are committed.
type body struct {
	client      *blockblob.Client
	container   string
	name        string
	contentType string
	metadata    map[string]*string
	on          *blob.ModifiedAccessConditions // of an object in one request; may be nil
	block       int                            // bytes of a block
	writer      string                         // random part of its blocks' names
	blocks      []string
	rest        []byte
}

func (s *Store) newBody(name, contentType string) *body {
	return &body{client: s.container.NewBlockBlobClient(name), container: s.name, name: name, contentType: contentType,
		block: s.block, writer: rand.Text()}
}

// write appends compressed bytes.
func (b *body) write(ctx context.Context, p []byte) error {
	for len(p) > 0 {
		if len(b.rest) == b.block {
			if err := b.putBlock(ctx); err != nil {
				return err
			}
		}
		n := min(len(p), b.block-len(b.rest))
		b.rest, p = append(b.rest, p[:n]...), p[n:]
	}
	return nil
}

// A writer is an io.Writer of a body.
type writer func(p []byte) error

func (w writer) Write(p []byte) (int, error) {
	if err := w(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// putBlock puts the rest as another block. All IDs of an object's blocks must have the same length, including those of
// other writers.
func (b *body) putBlock(ctx context.Context) error {
	id := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s-%05d", b.writer, len(b.blocks)))
	if _, err := b.client.StageBlock(call{KindPutBlock, b.name}.within(ctx), id, content(b.rest), nil); err != nil {
		return b.wrap(KindPutBlock, err)
	}
	b.blocks = append(b.blocks, id)
	b.rest = nil // a transport may hold on to what it has sent
	return nil
}

// put creates or replaces the object, in one request if it is small.
func (b *body) put(ctx context.Context) error {
	if len(b.blocks) == 0 {
		_, err := b.client.Upload(call{KindPut, b.name}.within(ctx), content(b.rest), &blockblob.UploadOptions{
			HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &b.contentType}, Metadata: b.metadata,
			AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: b.on}})
		return b.wrap(KindPut, err)
	}
	if len(b.rest) > 0 {
		if err := b.putBlock(ctx); err != nil {
			return err
		}
	}
	_, err := b.client.CommitBlockList(call{KindCommit, b.name}.within(ctx), b.blocks, &blockblob.CommitBlockListOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &b.contentType}, Metadata: b.metadata})
	return b.wrap(KindCommit, err)
}

func (b *body) wrap(k Kind, err error) error {
	if err = within(k, err); err != nil {
		return fmt.Errorf("archive %s/%s: %w", b.container, b.name, err)
	}
	return nil
}

func within(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", k, named(err))
}

// content can be read from its beginning by each try.
func content(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }
