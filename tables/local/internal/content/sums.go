package content

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"furrow/tables/local/internal/store"
)

// piece is how many bytes of a file have a checksum of their own. A read begins and ends with whole pieces, so that of
// a flipped byte nothing is sent.
const piece = 64 << 10

// A checksum of a piece is its CRC-32C, in four bytes.
const sumSize = crc32.Size

// appendSums adds the checksums of the pieces that b consists of. The last one may be shorter.
func appendSums(sums, b []byte) []byte {
	for len(b) > 0 {
		n := min(len(b), piece)
		sums = binary.LittleEndian.AppendUint32(sums, crc32.Checksum(b[:n], crc32.MakeTable(crc32.Castagnoli)))
		b = b[n:]
	}
	return sums
}

// sums returns the checksums of a file, which are the value of its marker. It returns nil for a file that was stored
// before files had checksums.
func (r Ref) sums(at *store.Snapshot, owner store.ID) ([]byte, error) {
	sums, _, err := at.Get(r.key(owner))
	if want := int((r.Size + piece - 1) / piece * sumSize); err == nil && len(sums) != 0 && len(sums) != want {
		err = fmt.Errorf("the checksums of the content %s have %d bytes instead of %d", r.ID, len(sums), want)
	}
	return sums, err
}

// checkPieces compares b, which begins with a piece at off, with the checksums of the file, if there are any.
func checkPieces(sums, b []byte, off int64) error {
	if len(sums) == 0 {
		return nil
	}
	first := int(off/piece) * sumSize
	for i, got := range appendSums(nil, b) {
		if got != sums[first+i] {
			from := off + int64(i/sumSize*piece)
			return fmt.Errorf("the bytes from %d to %d are not those that were written: restore it from a backup", from,
				min(from+piece, off+int64(len(b)))-1)
		}
	}
	return nil
}
