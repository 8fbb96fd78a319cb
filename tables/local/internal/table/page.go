package table

import (
	"bytes"
	"encoding/base64"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// Limits of a page (learn.microsoft.com/rest/api/storageservices/query-timeout-and-pagination).
const (
	maxRows = 1000
	maxPage = 4 << 20
	maxScan = 5 * time.Second // then the page ends, even if it is empty
)

// A page is one page of the rows of a query.
type page struct {
	filter odata.Expr
	top    int
	render *entity.Renderer
	start  time.Time

	body    []byte
	row     odata.Row // that was read last
	rows    int
	scanned int // rows read, including those filtered out
	more    bool
	next    auth.Key // first key of the next page, if there is one
}

// followed is how many rows are found at most by a query that may follow a partition, so that its end is worth looking
// for. One for a chart finds more, and rows come after them.
const followed = 16

// look fills the page, from memory if the rows of the range are among the newest ones that are known.
func (s *Service) look(p *page, lower, upper []byte) error {
	partition, from, one := partitionOf(lower, upper)
	if !one {
		return s.fill(p, lower, upper)
	}
	if rows, known := s.ends.since(partition, from); known {
		return p.fillFrom(rows, partition, upper)
	}
	if err := s.fill(p, lower, upper); err != nil || p.more {
		return err
	}
	known, worth := s.ends.has(partition)
	if p.scanned > 0 {
		worth = worth && !known && p.scanned <= followed
		from = afterRow([]byte(p.row.Row), true)
	}
	if worth {
		s.learnEnd(partition, from)
	}
	return nil
}

// headSize is how many bytes of an entity's key are before the partition key.
const headSize = 9

// partitionOf returns the prefix of the keys of the only partition that a range concerns, and the row key with which
// the range begins.
func partitionOf(lower, upper []byte) (partition, row []byte, one bool) {
	if len(lower) < headSize {
		return nil, nil, false
	}
	n := headSize + bytes.IndexByte(lower[headSize:], 0) + 1
	if n == headSize {
		return nil, nil, false
	}
	one = bytes.HasPrefix(upper, lower[:n]) || bytes.Equal(upper, store.After(lower[:n]))
	return lower[:n], lower[n:], one
}

// fill adds rows to the page until it is full or the range ends.
func (s *Service) fill(p *page, lower, upper []byte) error {
	it, err := s.store.Iter(lower, upper)
	if err != nil {
		return err
	}
	defer it.Close()
	for it.First(); it.Valid(); it.Next() {
		partition, row := splitKey(it.Key())
		if p.ends(partition, row) {
			return nil
		}
		value, err := it.ValueAndErr()
		if err != nil {
			return err
		}
		if err := p.add(value); err != nil {
			return err
		}
	}
	return it.Error()
}

// fillFrom is fill for rows of a partition that are known.
func (p *page) fillFrom(rows []keyedRow, partition, upper []byte) error {
	name := partition[headSize : len(partition)-1]
	end, bounded := bytes.CutPrefix(upper, partition)
	for _, r := range rows {
		if bounded && string(r.key) >= string(end) || p.ends(name, r.key) {
			return nil
		}
		if err := p.add(r.value); err != nil {
			return err
		}
	}
	return nil
}

// ends reports whether the page ends before a row. If not, the row is the next one to add.
func (p *page) ends(partition, row []byte) bool {
	if p.full() || late(p.scanned, p.start) {
		p.more, p.next = true, auth.Key{Partition: string(partition), Row: string(row)}
		return true
	}
	p.scanned++
	if p.row.Partition != string(partition) {
		p.row.Partition = string(partition)
	}
	p.row.Row = string(row)
	return false
}

func (p *page) full() bool { return p.rows >= p.top || len(p.body) >= maxPage-entity.MaxSize }

// late reports whether the time for a page is over. It checks every 1,024 rows.
func late(scanned int, start time.Time) bool {
	return scanned%1024 == 1023 && time.Since(start) > maxScan
}

// add adds the row whose keys p has, if the filter matches it.
func (p *page) add(value entity.Stored) error {
	p.row.Entity = value
	if err := value.Check(); err != nil {
		return err
	}
	if p.filter != nil && !p.filter.Match(&p.row) {
		return nil
	}
	if p.rows > 0 {
		p.body = append(p.body, ',')
	}
	p.body = p.render.Append(p.body, p.row.Partition, p.row.Row, p.row.Entity, false)
	p.rows++
	return nil
}

// splitKey splits the key of an entity into partition and row.
func splitKey(key []byte) (partition, row []byte) {
	partition, row, _ = bytes.Cut(key[headSize:], []byte{0})
	return partition, row
}

// encodeToken encodes a key for a continuation header as the service does: a version,
// a length, and base64. Clients return it unchanged.
func encodeToken(key string) string {
	text := base64.URLEncoding.EncodeToString([]byte(key))
	return "1!" + strconv.Itoa(len(text)) + "!" + text
}

// decodeToken decodes a token. An empty one is the start.
func decodeToken(parameter, token string) (string, error) {
	if token == "" {
		return "", nil
	}
	parts := strings.SplitN(token, "!", 3)
	if len(parts) == 3 && parts[0] == "1" && parts[1] == strconv.Itoa(len(parts[2])) {
		if key, err := base64.URLEncoding.DecodeString(parts[2]); err == nil && utf8.Valid(key) {
			return string(key), nil
		}
	}
	return "", wire.BadQuery(parameter, token, "Not a continuation token of this service.")
}
