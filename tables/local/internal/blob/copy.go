package blob

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/google/uuid"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/content"
	"furrow/tables/local/internal/wire"
)

// copySource is the header that makes Put Blob a copy.
const copySource = "x-ms-copy-source"

// copied is what a blob tells of the copy that it was made by.
type copied struct {
	ID     string
	Source string // without its SAS
	At     int64  // ticks
}

func (c *copied) set(h http.Header, size string) {
	for name, value := range map[string]string{"id": c.ID, "source": c.Source, "status": "success",
		"progress": size + "/" + size, "completion-time": wire.HTTPTime(modified(c.At))} {
		wire.Set(h, "x-ms-copy-"+name, value)
	}
}

var (
	errSource = &wire.Error{Status: http.StatusPreconditionFailed, Code: "SourceConditionNotMet",
		Message: "The source condition specified using HTTP conditional header(s) is not met."}
	errSourceURL = wire.BadHeader(copySource, "")
)

// copyBlob makes a blob of another one of this account: its content and headers, and its metadata unless the request
// has some. Azure may do so later; here it is done when it is answered
// (learn.microsoft.com/rest/api/storageservices/copy-blob).
func (s *Service) copyBlob(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	if _, err := s.containers.lookup(at.container); err != nil {
		return err
	}
	from, source, err := s.source(r, g)
	if err != nil {
		return err
	}
	draft, rec, err := s.duplicate(r, g, from)
	if err != nil {
		return err
	}
	defer draft.Discard()
	rec.Copy = &copied{ID: uuid.NewString(), Source: source}
	if metadata != nil {
		rec.Metadata = metadata
	}
	err = s.change(r, g, at, func(c *change) error {
		if c.old != nil && g.Allow("w") != nil {
			return errOverwrite
		}
		if err := errors.Join(cond.forPut(c.old), c.mustBe(rec.kind())); err != nil {
			return err
		}
		return c.become(r, rec, draft)
	})
	if err != nil {
		return err
	}
	setVersion(w.Header(), rec.Changed)
	wire.Set(w.Header(), "x-ms-copy-id", rec.Copy.ID)
	wire.Set(w.Header(), "x-ms-copy-status", "success")
	return wire.Empty(w, http.StatusAccepted)
}

// become replaces a blob by one that consists of a draft.
func (c *change) become(r *wire.Request, rec *record, draft *content.Draft) error {
	var blocks []block
	if draft.Size > 0 && !rec.Append {
		blocks = []block{{Ref: draft.Ref}}
	}
	if err := c.replace(blocks); err != nil {
		return err
	}
	rec.Size, rec.Appended = draft.Size, 0
	if rec.Append {
		c.deleteAppended() // those of a blob that an older program has replaced
	}
	if rec.Append && draft.Size > 0 {
		rec.Appended = 1
		c.Set(appendedKey(c.container.ID, c.name, 0), appendBlocks(nil, []block{{Ref: draft.Ref}}))
	}
	draft.Keep(c.Batch, c.container.ID)
	return c.put(r, rec)
}

// source returns the blob that a copy is of, if the request may read it: by the SAS of its URL, or by the account key.
func (s *Service) source(r *wire.Request, g *auth.Grant) (at target, plain string, err error) {
	text := r.Header.Get(copySource)
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || len(text) > wire.MaxURL {
		return at, "", errSourceURL
	}
	inner, err := r.Within(http.MethodGet, u.Host, u.RequestURI(), http.Header{})
	if err != nil || u.Host != r.Host && !strings.HasPrefix(u.Host, s.auth.Account+".") {
		return at, "", wire.NotImplemented("copies from other accounts (Copy Blob)")
	}
	if at, err = parseTarget(inner); err != nil {
		return at, "", err
	}
	if inner.Query.Has("sig") {
		g, err = s.auth.Authorize(inner, at.Resource())
	} else {
		err = g.OwnerOnly()
	}
	if err != nil {
		return at, "", err
	}
	if err := checkServed(inner, at); err != nil {
		return at, "", err
	}
	u.RawQuery = ""
	if g.Types != "" {
		return at, u.String(), g.AllowAccount("o:r")
	}
	return at, u.String(), g.Allow("r")
}

// duplicate returns a copy of the content of a blob, and its record.
func (s *Service) duplicate(r *wire.Request, g *auth.Grant, from target) (draft *content.Draft, rec *record,
	err error) {
	cond, err := parseConditions(sourceConditions(r.Header))
	if err != nil {
		return nil, nil, err
	}
	v, err := s.open(from, func(rec *record) (span, error) {
		if cond.forWrite(rec.Changed) != nil {
			return span{}, errSource
		}
		return span{0, rec.Size}, nil
	})
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, v.close()) }()
	if err := r.Hold(min(v.span.n, 2*content.Inline)); err != nil {
		return nil, nil, err
	}
	out, in := io.Pipe()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, err := v.WriteTo(in)
		in.CloseWithError(err)
	}()
	draft, err = s.write(out, v.span.n, g)
	out.Close() // fails never
	<-done
	return draft, v.rec, err
}

// sourceConditions returns the conditions on the source of a copy as those of a read.
func sourceConditions(h http.Header) http.Header {
	own := http.Header{}
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"} {
		if text := h.Get("x-ms-source-" + name); text != "" {
			own.Set(name, text)
		}
	}
	return own
}
