package blob

import (
	"bytes"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"hash"
	"hash/crc64"
	"io"
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
)

var errNoLength = &wire.Error{Status: http.StatusLengthRequired, Code: "MissingContentLengthHeader",
	Message: "The Content-Length header was not specified."}

var errBothSums = &wire.Error{Status: http.StatusBadRequest, Code: "BothCrc64AndMd5HeaderPresent",
	Message: "Both x-ms-content-crc64 header and Content-MD5 header are present."}

// crcPolynomial is the polynomial of Azure Storage, reversed for hash/crc64.
const crcPolynomial = 0x9A6C9329AC4BC9B5

// sums computes the checksums of a body while it is read.
type sums struct {
	body         io.Reader
	md5          hash.Hash // nil: not computed
	crc          hash.Hash64
	failed       error  // of reading
	wantMD5      []byte // from the client
	wantCRC      []byte
	wantContents []byte // x-ms-blob-content-md5 of a blob that is the body
}

// newSums parses the checksums that the client sends.
func newSums(r *wire.Request) (*sums, error) {
	s := &sums{body: r.Body, crc: crc64.New(crc64.MakeTable(crcPolynomial))}
	var err error
	if s.wantMD5, err = parseMD5(r.Header.Get("Content-MD5")); err != nil {
		return nil, err
	}
	if text := r.Header.Get("x-ms-content-crc64"); text != "" {
		if s.wantCRC, err = base64.StdEncoding.DecodeString(text); err != nil || len(s.wantCRC) != crc64.Size {
			return nil, wire.BadHeader("x-ms-content-crc64", text)
		}
	}
	if s.wantMD5 != nil && s.wantCRC != nil {
		return nil, errBothSums
	}
	if s.wantMD5 != nil {
		s.md5 = md5.New()
	}
	return s, nil
}

func (s *sums) Read(p []byte) (int, error) {
	n, err := s.body.Read(p)
	for _, h := range []hash.Hash{s.md5, s.crc} {
		if h != nil {
			h.Write(p[:n])
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	return n, err
}

func (s *sums) crc64() []byte {
	return binary.LittleEndian.AppendUint64(nil, s.crc.Sum64())
}

// check returns an error if the checksums differ from the client's.
func (s *sums) check() error {
	if s.wantCRC != nil && !bytes.Equal(s.wantCRC, s.crc64()) {
		return mismatch("Crc64Mismatch", "CRC64", s.wantCRC, s.crc64())
	}
	for _, want := range [][]byte{s.wantMD5, s.wantContents} {
		if want != nil && !bytes.Equal(want, s.md5.Sum(nil)) {
			return mismatch("Md5Mismatch", "MD5", want, s.md5.Sum(nil))
		}
	}
	return nil
}

func mismatch(code, what string, want, got []byte) *wire.Error {
	name := code[:len(code)-len("Mismatch")]
	return (&wire.Error{Status: http.StatusBadRequest, Code: code,
		Message: "The " + what + " value specified in the request did not match with the " + what +
			" value calculated by the server."}).
		With("UserSpecified"+name, base64.StdEncoding.EncodeToString(want)).
		With("ServerCalculated"+name, base64.StdEncoding.EncodeToString(got))
}

// set sets the checksums on the answer, so that the client can compare them.
func (s *sums) set(h http.Header) {
	if s.md5 != nil {
		wire.Set(h, "Content-MD5", base64.StdEncoding.EncodeToString(s.md5.Sum(nil)))
	}
	wire.Set(h, "x-ms-content-crc64", base64.StdEncoding.EncodeToString(s.crc64()))
}

// A growing is a reader of what takes room on the disk while it is read: each read fails once there is none.
type growing struct {
	io.Reader
	room func() error
}

func (g growing) Read(p []byte) (int, error) {
	if err := g.room(); err != nil {
		return 0, err
	}
	return g.Reader.Read(p)
}

// write writes a content for a client, as long as there is room. It may be of several GB.
func (s *Service) write(from io.Reader, size int64, g *auth.Grant) (*content.Draft, error) {
	return s.content.Write(growing{from, func() error { return s.store.Room.Check(g.Owner) }}, size)
}

// receive reads and checks a body. The caller discards the draft.
func (s *Service) receive(r *wire.Request, g *auth.Grant, sums *sums) (*content.Draft, error) {
	if err := r.Hold(min(r.ContentLength, 2*content.Inline)); err != nil {
		return nil, err
	}
	draft, err := s.write(sums, r.ContentLength, g)
	if sums.failed != nil || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, wire.BodyError(sums.failed)
	}
	if err != nil {
		return nil, err
	}
	if err := sums.check(); err != nil {
		draft.Discard()
		return nil, err
	}
	return draft, nil
}

// receiveBlock reads a block of at most so many bytes into a draft.
func (s *Service) receiveBlock(r *wire.Request, g *auth.Grant, at target, most int64) (*content.Draft, *sums, error) {
	if err := checkLength(r, most); err != nil {
		return nil, nil, err
	}
	if r.ContentLength == 0 {
		return nil, nil, wire.BadHeader("Content-Length", "0")
	}
	sums, err := newSums(r)
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.containers.lookup(at.container); err != nil {
		return nil, nil, err // before the body is read
	}
	draft, err := s.receive(r, g, sums)
	return draft, sums, err
}

// checkLength refuses a body of unknown length or of more than most bytes.
func checkLength(r *wire.Request, most int64) error {
	if r.ContentLength < 0 || r.Header.Get("Content-Length") == "" { // net/http treats absent as zero
		return errNoLength
	}
	if r.ContentLength > most {
		return wire.TooLarge(most)
	}
	return nil
}
