package blob

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Limits of a page of a list (learn.microsoft.com/rest/api/storageservices/list-blobs).
const (
	maxItems = 5000
	maxPage  = 4 << 20 // bytes, plus one item
)

// A listing is the parameters of a list request.
type listing struct {
	prefix, delimiter, marker string
	from, before              string // startFrom and endBefore
	most                      int
	metadata, uncommitted     bool
}

// includes are the known values of include, in any case. Those without an effect ask
// for something that no blob or container of this server has.
var includes = []string{"metadata", "uncommittedblobs", "snapshots", "versions", "deleted", "copy", "tags",
	"immutabilitypolicy", "legalhold", "deletedwithversions", "permissions", "system"}

func parseListing(r *wire.Request) (l listing, err error) {
	q := r.Query
	l = listing{prefix: q.Get("prefix"), delimiter: q.Get("delimiter"),
		from: q.Get("startFrom"), before: q.Get("endBefore")}
	for _, name := range []string{"prefix", "delimiter", "startFrom", "endBefore"} {
		if text := q.Get(name); !utf8.ValidString(text) { // XML cannot repeat it, or what it cuts a name to
			return l, wire.BadQuery(name, text, "It is not UTF-8.")
		}
	}
	if l.marker, err = decodeMarker(q.Get("marker")); err != nil {
		return l, err
	}
	if l.most, err = r.IntQuery("maxresults", 1, 1<<31-1, maxItems); err != nil {
		return l, err
	}
	l.most = min(l.most, maxItems)
	for _, text := range q["include"] {
		for what := range strings.SplitSeq(strings.ToLower(text), ",") {
			if what != "" && !slices.Contains(includes, what) {
				return l, wire.BadQuery("include", what, "It is none of "+strings.Join(includes, ", ")+".")
			}
			l.metadata = l.metadata || what == "metadata"
			l.uncommitted = l.uncommitted || what == "uncommittedblobs"
		}
	}
	return l, nil
}

// bounds returns the range of names to list; an empty upper is no limit.
func (l *listing) bounds() (lower, upper string) {
	upper = string(store.After([]byte(l.prefix)))
	if l.before != "" && (upper == "" || l.before < upper) {
		upper = l.before
	}
	return max(l.prefix, l.from, l.marker), upper
}

// listBlobs lists a page of a container's blobs by name, flat or grouped by a
// delimiter.
func (s *Service) listBlobs(w http.ResponseWriter, r *wire.Request, g *auth.Grant, at target) error {
	l, err := parseListing(r)
	if err != nil {
		return err
	}
	c, err := s.containers.lookup(at.container)
	if err != nil {
		return err
	}
	p := newPage(r, &l, "Blobs", c.Name)
	if err := s.fill(p, c.ID); err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, p.document())
}

// fill adds blobs to the page until it is full or the range ends.
func (s *Service) fill(p *page, id store.ID) error {
	lower, upper := p.bounds()
	cur, err := s.cursor(id, lower, upper, p.uncommitted)
	if err != nil {
		return err
	}
	defer cur.close()
	for cur.find() {
		name := cur.name
		group := p.group(name)
		if p.full() {
			p.next = cmp.Or(group, name)
			return nil
		}
		if group != "" {
			p.addGroup(group)
			cur.seek(string(store.After([]byte(group))))
			continue
		}
		rec, err := cur.record()
		if err != nil {
			return fmt.Errorf("blob %s: %w", name, err)
		}
		p.addBlob(name, rec)
		cur.seek(name + "\x00") // the next name
	}
	return cur.err()
}

// group returns name up to and including the first delimiter after the prefix.
func (l *listing) group(name string) string {
	if l.delimiter == "" {
		return ""
	}
	head, _, ok := strings.Cut(name[len(l.prefix):], l.delimiter)
	if !ok {
		return ""
	}
	return l.prefix + head + l.delimiter
}
