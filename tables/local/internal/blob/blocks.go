package blob

import (
	"encoding/binary"
	"errors"
	"iter"

	"furrow/tables/local/internal/content"
)

// A block is a part of a blob. Its ID is decoded, and empty for the content that Put
// Blob wrote.
type block struct {
	id string
	content.Ref
}

// blocksFormat is the first byte of the record of a blob's blocks.
const blocksFormat = 1

func appendBlocks(dst []byte, blocks []block) []byte {
	dst = append(dst, blocksFormat)
	for _, b := range blocks {
		dst = binary.AppendUvarint(dst, uint64(len(b.id)))
		dst = b.Append(append(dst, b.id...))
	}
	return dst
}

var errBlocks = errors.New("the record of a blob's blocks is damaged")

// readBlocks decodes what appendBlocks wrote. An empty blob may have no such record.
func readBlocks(record []byte) iter.Seq2[block, error] {
	return func(yield func(block, error) bool) {
		if len(record) == 0 {
			return
		}
		if record[0] != blocksFormat {
			yield(block{}, errBlocks)
			return
		}
		for rest := record[1:]; len(rest) > 0; {
			n, size := binary.Uvarint(rest)
			if size <= 0 || n > uint64(len(rest)-size) {
				yield(block{}, errBlocks)
				return
			}
			rest = rest[size:]
			b := block{id: string(rest[:n])}
			var err error
			b.Ref, rest, err = content.CutRef(rest[n:])
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

func parseBlocks(record []byte) ([]block, error) {
	var blocks []block
	for b, err := range readBlocks(record) {
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, b)
	}
	return blocks, nil
}
