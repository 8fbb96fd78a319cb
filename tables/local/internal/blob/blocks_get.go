package blob

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/wire"
)

// getBlockList lists a blob's blocks: the committed ones in order, the uncommitted
// ones by ID.
func (s *Service) getBlockList(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	if err := refuseConditions(r.Header); err != nil {
		return err
	}
	kind := r.Query.Get("blocklisttype")
	switch kind {
	case "":
		kind = "committed"
	case "committed", "uncommitted", "all":
	default:
		return wire.BadQuery("blocklisttype", kind, "It must be committed, uncommitted or all.")
	}
	rec, committed, uncommitted, err := s.allBlocks(at)
	if err != nil {
		return err
	}
	h := w.Header()
	if rec != nil {
		setVersion(h, rec.Changed)
		wire.Set(h, "x-ms-blob-content-length", strconv.FormatInt(rec.Size, 10))
	} else {
		wire.Set(h, "x-ms-blob-content-length", "0")
	}
	body := []byte(wire.XMLHeader + "<BlockList>")
	if kind != "uncommitted" {
		body = appendBlockList(body, "CommittedBlocks", committed)
	}
	if kind != "committed" {
		body = appendBlockList(body, "UncommittedBlocks", uncommitted)
	}
	return wire.XML(w, http.StatusOK, append(body, "</BlockList>"...))
}

func appendBlockList(dst []byte, name string, blocks []block) []byte {
	dst = fmt.Appendf(dst, "<%s>", name)
	for _, b := range blocks {
		if b.id != "" {
			dst = base64.StdEncoding.AppendEncode(append(dst, "<Block><Name>"...), []byte(b.id))
			dst = strconv.AppendInt(append(dst, "</Name><Size>"...), b.Size, 10)
			dst = append(dst, "</Size></Block>"...)
		}
	}
	return fmt.Appendf(dst, "</%s>", name)
}

// allBlocks returns a blob's blocks of both kinds at one moment. The record is nil if
// none was committed. It is an error if there are neither.
func (s *Service) allBlocks(at target) (rec *record, committed, uncommitted []block, err error) {
	s.containers.RLock()
	defer s.containers.RUnlock()
	in, err := s.containers.find(at.container)
	if err != nil {
		return nil, nil, nil, err
	}
	key := blobKey(in.ID, at.blob)
	defer s.locks.Lock(key)()
	if uncommitted, err = s.staged(in.ID, at.blob); err != nil {
		return nil, nil, nil, err
	}
	value, found, err := s.store.Get(key)
	if err != nil {
		return nil, nil, nil, err
	}
	if !found {
		if len(uncommitted) == 0 {
			err = errBlobNotFound
		}
		return nil, nil, uncommitted, err
	}
	if rec, err = parseRecord(value); err != nil {
		return nil, nil, nil, err
	}
	if rec.Append {
		return nil, nil, nil, errBlobType
	}
	if value, _, err = s.store.Get(blocksKey(in.ID, at.blob)); err != nil {
		return nil, nil, nil, err
	}
	committed, err = parseBlocks(value)
	return rec, committed, uncommitted, err
}
