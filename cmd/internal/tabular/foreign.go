package tabular

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// foreign are the first bytes of files that are not read, with what they are and how to make one that is.
func foreign() [][2]string {
	const pandas = "write it again as Parquet, for example with pandas: .to_parquet(\"readings.parquet\")"
	return [][2]string{
		{"PARE", "an encrypted Parquet file: decrypt it, and write it again without encryption"},
		{"ARROW1", "a Feather or Arrow file: " + pandas},
		{"ORC", "an ORC file: write it again as Parquet"},
		{"Obj\x01", "an Avro file: write it again as Parquet or as lines of JSON"},
		{"\x89HDF", "an HDF5 or NetCDF file: " + pandas},
		{"CDF\x01", "a NetCDF file: " + pandas}, {"CDF\x02", "a NetCDF file: " + pandas},
		{"SQLite format 3", "a SQLite database: export a table as CSV, with sqlite3 -header -csv FILE 'select …'"},
		{"\xd0\xcf\x11\xe0", "an old Excel file: save it as CSV UTF-8"},
		{"\xfd7zXZ\x00", "compressed with xz: decompress it first, with xz -d"},
		{"\x28\x00\x00\x00LZ4", "compressed with lz4: decompress it first"}, {"\x04\x22\x4d\x18",
			"compressed with lz4: decompress it first, with lz4 -d"},
		{"7z\xbc\xaf\x27\x1c", "a 7z archive: unpack it first"}, {"Rar!", "a RAR archive: unpack it first"},
		{"\x80\x02", "a Python pickle: " + pandas}, {"\x80\x03", "a Python pickle: " + pandas},
		{"\x80\x04", "a Python pickle: " + pandas}, {"\x80\x05", "a Python pickle: " + pandas},
		{"%PDF", "a PDF: export the readings as CSV"}, {"<!DOCTYPE", "a web page: export the readings as CSV"},
		{"<html", "a web page: export the readings as CSV"}, {"<?xml", "XML: export the readings as CSV or JSON"},
	}
}

// plain decompresses a file, and refuses those that are something else than text.
func plain(in *bufio.Reader) (*bufio.Reader, error) {
	start, err := in.Peek(300)
	if err != nil && len(start) == 0 && !errors.Is(err, io.EOF) {
		return nil, err // a folder, for example
	}
	var r io.Reader
	switch {
	case bytes.HasPrefix(start, []byte{0x1f, 0x8b}):
		r, err = gzip.NewReader(in)
	case bytes.HasPrefix(start, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		var z *zstd.Decoder
		if z, err = zstd.NewReader(in, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20)); err == nil {
			r = z
		}
	case bytes.HasPrefix(start, []byte("BZh")):
		r, err = bzip2.NewReader(in), nil
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		what := "a zip archive: unpack it first, with unzip"
		if bytes.Contains(start, []byte("[Content_Types].xml")) || bytes.Contains(start, []byte("xl/")) {
			what = "an Excel file: save it as CSV UTF-8"
		}
		return nil, errors.New("the file is " + what)
	case len(start) > 262 && string(start[257:262]) == "ustar":
		return nil, errors.New("the file is a tar archive: unpack it first")
	default:
		for _, f := range foreign() {
			if bytes.HasPrefix(start, []byte(f[0])) {
				return nil, errors.New("the file is " + f[1])
			}
		}
		return in, nil
	}
	if err != nil {
		return nil, err
	}
	inner := bufio.NewReaderSize(r, 64<<10)
	if magic, _ := inner.Peek(4); string(magic) == parquetMagic || bytes.HasPrefix(magic, []byte("PK")) {
		return nil, errors.New("the file is a compressed file that is compressed itself: decompress it first")
	}
	return inner, nil
}
