package archive

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io"
	"strconv"

	"furrow/tables"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
)

// blockSize is how much of an object is held in memory; larger objects are put in blocks of that size. Azure takes
// 50,000 of them, far more than a day needs. learn.microsoft.com: "Scalability targets for Blob storage".
const blockSize = 4 << 20

// A body is an object while it is written: the blocks that were put, and the rest. Readers do not see blocks before
// they are committed.
type body struct {
	client      *blockblob.Client
	name        string
	contentType string
	metadata    map[string]*string
	block       int    // bytes of a block
	writer      string // random part of its blocks' names
	readings    int64
	blocks      []string
	rest        []byte
}

func (s *Store) newBody(name, contentType string) *body {
	b := &body{client: s.container.NewBlockBlobClient(name), name: name, contentType: contentType, block: s.block,
		writer: rand.Text()}
	b.metadata = map[string]*string{metaWriter: &b.writer}
	return b
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
		return fmt.Errorf("%s %d: %w", KindPutBlock, len(b.blocks), named(err))
	}
	b.blocks = append(b.blocks, id)
	b.rest = nil // a transport may hold on to what it has sent
	return nil
}

// put creates the object, in one request if it is small.
func (b *body) put(ctx context.Context, on *blob.ModifiedAccessConditions) error {
	if len(b.blocks) == 0 {
		_, err := b.client.Upload(call{KindPut, b.name}.within(ctx), content(b.rest), uploadOptions(b.contentType, b.metadata,
			on))
		return within(KindPut, err)
	}
	if len(b.rest) > 0 {
		if err := b.putBlock(ctx); err != nil {
			return err
		}
	}
	_, err := b.client.CommitBlockList(call{KindCommit, b.name}.within(ctx), b.blocks, &blockblob.CommitBlockListOptions{
		HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &b.contentType}, Metadata: b.metadata,
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: on},
	})
	return within(KindCommit, err)
}

func uploadOptions(contentType string, metadata map[string]*string,
	on *blob.ModifiedAccessConditions) *blockblob.UploadOptions {
	return &blockblob.UploadOptions{HTTPHeaders: &blob.HTTPHeaders{BlobContentType: &contentType}, Metadata: metadata,
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: on}}
}

func within(k Kind, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", k, named(err))
}

// content can be read from its beginning by each try.
func content(b []byte) io.ReadSeekCloser { return streaming.NopCloser(bytes.NewReader(b)) }

// gzipFile declares a gzip file, not a text that was compressed for transfer, which clients would unpack.
const gzipFile = "application/gzip"

func (b *body) fenced(fence tables.Ticks) map[string]*string {
	return map[string]*string{
		metaFence:    to.Ptr(strconv.FormatInt(int64(fence), 10)),
		metaWriter:   &b.writer,
		metaReadings: to.Ptr(strconv.FormatInt(b.readings, 10)),
	}
}
