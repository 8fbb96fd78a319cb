package queue

import (
	"bytes"
	"net/http"
	"slices"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// maxList is how many queues a page of the list has at most
// (learn.microsoft.com/rest/api/storageservices/list-queues1).
const maxList = 5000

// list answers with the queues' names, in order. A marker is the name that the
// page starts with.
func (s *Service) list(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at path) error {
	most, err := r.IntQuery("maxresults", 1, 1<<31-1, maxList)
	if err != nil {
		return err
	}
	queues, next, err := s.page(r.Query.Get("prefix"), r.Query.Get("marker"), min(most, maxList))
	if err != nil {
		return err
	}
	if err := s.store.Barrier(); err != nil {
		return err
	}
	body := append([]byte(wire.XMLHeader), `<EnumerationResults ServiceEndpoint="`...)
	body = append(wire.AppendXML(body, strings.ReplaceAll(r.Base(), `"`, "%22")), `/">`...)
	for _, echo := range []struct{ parameter, element string }{{"prefix", "Prefix"}, {"marker", "Marker"}, {"maxresults", "MaxResults"}} {
		if value := r.Query.Get(echo.parameter); value != "" {
			body = wire.AppendElement(body, echo.element, value)
		}
	}
	body = append(body, "<Queues>"...)
	withMetadata := slices.Contains(strings.Split(r.Query.Get("include"), ","), "metadata")
	for _, c := range queues {
		body = appendQueue(body, c, withMetadata)
	}
	body = append(body, "</Queues>"...)
	return wire.XML(w, http.StatusOK, append(wire.AppendElement(body, "NextMarker", next), "</EnumerationResults>"...))
}

func appendQueue(dst []byte, c record, withMetadata bool) []byte {
	dst = wire.AppendElement(append(dst, "<Queue>"...), "Name", c.Name)
	if withMetadata {
		dst = wire.AppendMetadata(dst, c.Metadata)
	}
	return append(dst, "</Queue>"...)
}

// page reads the records of up to most queues whose names begin with prefix,
// from a name on, and the name that follows.
func (s *Service) page(prefix, from string, most int) (queues []record, next string, err error) {
	lower, upper := recordKey(max(prefix, from)), store.After(recordKey(prefix))
	if bytes.Compare(lower, upper) >= 0 {
		return nil, "", nil
	}
	for c, err := range store.Records[record](s.store, lower, upper) {
		if err != nil {
			return nil, "", err
		}
		if len(queues) == most {
			return queues, c.Name, nil
		}
		queues = append(queues, *c)
	}
	return queues, "", nil
}
