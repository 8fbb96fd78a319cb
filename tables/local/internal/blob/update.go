package blob

import (
	"net/http"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// setMetadata replaces a blob's metadata.
func (s *Service) setMetadata(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	metadata, err := r.ParseMetadata()
	if err != nil {
		return err
	}
	return s.update(w, r, g, at, func(rec *record) { rec.Metadata = metadata })
}

// setProperties replaces a blob's headers. It removes those missing in the request.
func (s *Service) setProperties(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	h, err := parseHeaders(r.Header)
	if err != nil {
		return err
	}
	return s.update(w, r, g, at, func(rec *record) { rec.Headers = h })
}

// update changes a blob's record and not its blocks.
func (s *Service) update(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target, to func(*record)) error {
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	var rec record
	err = s.change(r, g, at, func(c *change) error {
		if err := cond.forChange(c.old); err != nil {
			return err
		}
		rec = *c.old
		to(&rec)
		return c.put(r, &rec)
	})
	if err != nil {
		return err
	}
	return written(w, http.StatusOK, &rec)
}

// deleteBlob deletes a blob and its uncommitted blocks.
func (s *Service) deleteBlob(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if err := checkSnapshots(r.Header.Get("x-ms-delete-snapshots")); err != nil {
		return err
	}
	cond, err := parseWriteConditions(r.Header)
	if err != nil {
		return err
	}
	err = s.change(r, g, at, func(c *change) error {
		if err := cond.forChange(c.old); err != nil {
			return err
		}
		c.Delete(blobKey(c.container.ID, c.name))
		return c.replace(nil)
	})
	if err != nil {
		return err
	}
	wire.Set(w.Header(), "x-ms-delete-type-permanent", "true")
	return wire.Empty(w, http.StatusAccepted)
}

// checkSnapshots accepts "include", because there are no snapshots.
func checkSnapshots(which string) error {
	switch which {
	case "", "include":
		return nil
	case "only":
		return wire.NotImplemented("snapshots (x-ms-delete-snapshots: only)")
	}
	return wire.BadHeader("x-ms-delete-snapshots", which)
}
