package blob

import (
	"crypto/md5"
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// maxPut is the maximum size for Put Blob, in bytes (learn.microsoft.com/rest/api/storageservices/put-blob).
const maxPut = 5000 << 20

// Types of blobs.
const (
	blockBlob  = "BlockBlob"
	appendBlob = "AppendBlob"
)

// checkType refuses page blobs, and an append blob with content.
func checkType(r *wire.Request) error {
	switch kind := r.Header.Get("x-ms-blob-type"); kind {
	case blockBlob:
		return nil
	case appendBlob:
		if r.ContentLength > 0 {
			return wire.BadHeader("Content-Length", r.Header.Get("Content-Length"))
		}
		return nil
	case "":
		return wire.MissingHeader("x-ms-blob-type")
	case "PageBlob":
		return wire.NotImplemented("page blobs (Put Blob)")
	default:
		return wire.BadHeader("x-ms-blob-type", kind)
	}
}

// putBlob creates or replaces a blob.
func (s *Service) putBlob(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if err := checkType(r); err != nil {
		return err
	}
	if err := checkLength(r, maxPut); err != nil {
		return err
	}
	rec, cond, err := parsePut(r)
	if err != nil {
		return err
	}
	if sum := rec.Headers.MD5; sum != nil && len(sum) != md5.Size {
		return errMD5
	}
	if err := rec.Headers.orPlain(r.Header); err != nil {
		return err
	}
	rec.Headers.orDefault()
	sums, err := newSums(r)
	if err != nil {
		return err
	}
	if rec.Append = r.Header.Get("x-ms-blob-type") == appendBlob; !rec.Append {
		sums.md5, sums.wantContents = md5.New(), rec.Headers.MD5
	}
	if _, err := s.containers.lookup(at.container); err != nil {
		return err // before the body is read
	}
	draft, err := s.receive(r, g, sums)
	if err != nil {
		return err
	}
	defer draft.Discard()
	if rec.Size = draft.Size; !rec.Append {
		rec.Headers.MD5 = sums.md5.Sum(nil)
	}
	err = s.change(r, g, at, func(c *change) error {
		if c.old != nil && g.Allow("w") != nil {
			return errOverwrite
		}
		if err := cond.forPut(c.old); err != nil {
			return err
		}
		var blocks []block
		if draft.Size > 0 {
			blocks = []block{{Ref: draft.Ref}}
		}
		if err := c.replace(blocks); err != nil {
			return err
		}
		if rec.Append {
			c.deleteAppended() // those of a blob that an older program has replaced
		}
		draft.Keep(c.Batch, c.container.ID)
		return c.put(r, rec)
	})
	if err != nil {
		return err
	}
	sums.set(w.Header())
	return written(w, http.StatusCreated, rec)
}

// parsePut parses the headers that Put Blob and Put Block List share.
func parsePut(r *wire.Request) (rec *record, cond conditions, err error) {
	rec = &record{}
	if rec.Headers, err = parseHeaders(r.Header); err != nil {
		return nil, cond, err
	}
	if rec.Metadata, err = r.ParseMetadata(); err != nil {
		return nil, cond, err
	}
	cond, err = parseWriteConditions(r.Header)
	return rec, cond, err
}

// written answers to a write with the version that it made.
func written(w http.ResponseWriter, status int, rec *record) error {
	setVersion(w.Header(), rec.Changed)
	wire.Set(w.Header(), "x-ms-request-server-encrypted", "true")
	return wire.Empty(w, status)
}
