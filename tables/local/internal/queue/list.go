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

// maxList is the maximum number of queues in a page
// (learn.microsoft.com/rest/api/storageservices/list-queues1).
const maxList = 5000

// list lists the queues by name. The marker is the first name of a page.
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
	for _, name := range []string{"Prefix", "Marker", "MaxResults"} {
		if value := r.Query.Get(strings.ToLower(name)); value != "" {
			body = wire.AppendElement(body, name, value)
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

// page returns the records of up to most queues with a prefix, starting at a name,
// and the name of the next queue.
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
