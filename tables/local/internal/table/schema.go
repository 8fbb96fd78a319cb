package table

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/odata"
	"furrow/tables/local/internal/store"
	"furrow/tables/local/internal/wire"
)

// meta is a table's record.
type meta struct {
	ID       store.ID
	Name     string // as created; names are compared without case
	Policies []auth.Policy
}

func tableKey(name string) []byte {
	return append([]byte{store.PrefixTable}, strings.ToLower(name)...)
}

// load reads the records of all tables.
func (s *Service) load() error {
	for m, err := range store.Records[meta](s.store, tableKey(""), []byte{store.PrefixTable + 1}) {
		if err != nil {
			return err
		}
		s.tables[strings.ToLower(m.Name)] = m
	}
	return nil
}

// find returns a table's record. The caller holds schema.
func (s *Service) find(name string) (*meta, error) {
	if m, ok := s.tables[strings.ToLower(name)]; ok {
		return m, nil
	}
	if err := checkTableName(name); err != nil {
		return nil, err
	}
	return nil, errTableNotFound
}

// lookup is find for callers that do not hold schema.
func (s *Service) lookup(name string) (*meta, error) {
	s.schema.RLock()
	defer s.schema.RUnlock()
	return s.find(name)
}

func checkTableName(name string) error {
	switch {
	case tableName.MatchString(name) && !strings.EqualFold(name, "tables"):
		return nil
	case len(name) < 3 || len(name) > 63:
		return wire.ErrNameLength
	}
	return wire.ErrName
}

func (s *Service) create(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ target) error {
	l, err := level(r)
	if err != nil {
		return err
	}
	body, err := r.ReadBody(maxBody)
	if err != nil {
		return err
	}
	name, err := parseTableName(body)
	if err != nil {
		return err
	}
	if err := s.Add(name); err != nil {
		return err
	}
	wire.Set(w.Header(), "Location", r.Base()+"/Tables('"+name+"')")
	prefers := preferenceOf(r.Header)
	prefers.apply(w.Header())
	if prefers == returnNoContent {
		return wire.Empty(w, http.StatusNoContent)
	}
	return answer(w, http.StatusCreated, l, appendTable(nil, r, l, name, true))
}

func parseTableName(body []byte) (string, error) {
	b, err := entity.Parse(body)
	if err != nil {
		return "", err
	}
	for _, p := range b.Properties {
		if p.Name == "TableName" && p.Value.Type == entity.String {
			return string(p.Value.Raw), checkTableName(string(p.Value.Raw))
		}
	}
	return "", entity.Invalid("The body must have a TableName.")
}

// Add creates a table.
func (s *Service) Add(name string) error {
	s.schema.Lock()
	defer s.schema.Unlock()
	if _, exists := s.tables[strings.ToLower(name)]; exists {
		return &wire.Error{Status: 409, Code: "TableAlreadyExists", Message: "The table specified already exists."}
	}
	if err := s.store.Room.Check(true); err != nil { // what exists takes no room
		return err
	}
	b := s.store.Batch()
	id, err := s.store.NewID(b, store.PrefixTable)
	if err != nil {
		return err
	}
	return s.put(b, &meta{ID: id, Name: name})
}

// put stores m together with the writes in b and waits for the disk. Changes of
// tables and policies are rare, and block everything else until they are durable.
// The caller holds schema.
func (s *Service) put(b *store.Batch, m *meta) error {
	record, err := json.Marshal(m)
	if err != nil {
		return err
	}
	b.Set(tableKey(m.Name), record)
	if err := s.store.Apply(b)(); err != nil {
		return err
	}
	s.tables[strings.ToLower(m.Name)] = m
	return nil
}

func (s *Service) drop(w http.ResponseWriter, _ *wire.Request, _ *auth.Grant, at target) error {
	s.schema.Lock()
	defer s.schema.Unlock()
	m, ok := s.tables[strings.ToLower(at.name)]
	if !ok {
		return errNotFound
	}
	b := s.store.Batch()
	b.Delete(tableKey(at.name))
	rows := m.ID.Key(store.PrefixEntity)
	b.DeleteRange(rows, store.After(rows))
	if err := s.store.Apply(b)(); err != nil {
		return err
	}
	delete(s.tables, strings.ToLower(at.name))
	return wire.Empty(w, http.StatusNoContent)
}

func (s *Service) getTable(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	l, err := level(r)
	if err != nil {
		return err
	}
	s.schema.RLock()
	m, ok := s.tables[strings.ToLower(at.name)]
	s.schema.RUnlock()
	if !ok {
		return errNotFound
	}
	return answer(w, http.StatusOK, l, appendTable(nil, r, l, m.Name, true))
}

// queryTables lists tables, with a $filter on TableName.
func (s *Service) queryTables(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, _ target) error {
	l, err := level(r)
	if err != nil {
		return err
	}
	filter, err := odata.Parse(r.Query.Get("$filter"))
	if err != nil {
		return err
	}
	top, err := topOf(r)
	if err != nil {
		return err
	}
	names, next, err := s.names(filter, top, r.Query.Get("NextTableName"))
	if err != nil {
		return err
	}
	if next != "" {
		wire.Set(w.Header(), "x-ms-continuation-NextTableName", encodeToken(next))
	}
	body := []byte{'{'}
	if l != entity.NoMetadata {
		body = fmt.Appendf(body, `"odata.metadata":%s,`, strconv.Quote(r.Base()+"/$metadata#Tables"))
	}
	body = append(body, `"value":[`...)
	for i, name := range names {
		if i > 0 {
			body = append(body, ',')
		}
		body = appendTable(body, r, l, name, false)
	}
	return answer(w, http.StatusOK, l, append(body, "]}"...))
}

// names returns up to top tables, starting at the token, that pass the filter, and
// the token of the next one.
func (s *Service) names(filter odata.Expr, top int, token string) (names []string, next string, err error) {
	from, err := decodeToken("NextTableName", token)
	if err != nil {
		return nil, "", err
	}
	for m, err := range store.Records[meta](s.store, tableKey(from), []byte{store.PrefixTable + 1}) {
		if err != nil {
			return nil, "", err
		}
		name := entity.Property{Name: "TableName", Value: entity.Value{Type: entity.String, Raw: []byte(m.Name)}}
		e := entity.Entity{Properties: []entity.Property{name}}
		if filter != nil && !filter.Match(&odata.Row{Entity: e.Append(nil)}) {
			continue
		}
		if len(names) == top {
			return names, m.Name, nil
		}
		names = append(names, m.Name)
	}
	return names, "", nil
}

// appendTable appends a table as an entity of Tables.
func appendTable(dst []byte, r *wire.Request, l entity.Level, name string, alone bool) []byte {
	dst = append(dst, '{')
	if alone && l != entity.NoMetadata {
		dst = append(wire.AppendString(append(dst, `"odata.metadata":`...), r.Base()+"/$metadata#Tables/@Element"), ',')
	}
	if l == entity.FullMetadata {
		link := "Tables('" + name + "')"
		dst = append(wire.AppendString(append(dst, `"odata.type":`...), r.Account+".Tables"), ',')
		dst = append(wire.AppendString(append(dst, `"odata.id":`...), r.Base()+"/"+link), ',')
		dst = append(wire.AppendString(append(dst, `"odata.editLink":`...), link), ',')
	}
	return append(wire.AppendString(append(dst, `"TableName":`...), name), '}')
}

// policies returns a table's stored access policies, for the verifier.
func (s *Service) policies(table string) []auth.Policy {
	m, err := s.lookup(table)
	if err != nil {
		return nil
	}
	return m.Policies
}

func (s *Service) getACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	m, err := s.lookup(at.table)
	if err != nil {
		return err
	}
	return wire.XML(w, http.StatusOK, auth.FormatPolicies(m.Policies))
}

// setACL replaces the stored access policies. The change is in force when it is
// answered; on Azure it takes up to 30 s.
func (s *Service) setACL(w http.ResponseWriter, r *wire.Request, _ *auth.Grant, at target) error {
	policies, err := auth.ReadPolicies(r, "raud")
	if err != nil {
		return err
	}
	s.schema.Lock()
	defer s.schema.Unlock()
	m, err := s.find(at.table)
	if err != nil {
		return err
	}
	// A record is replaced, never changed: readers use it without the lock.
	if err := s.put(s.store.Batch(), &meta{ID: m.ID, Name: m.Name, Policies: policies}); err != nil {
		return err
	}
	return wire.Empty(w, http.StatusNoContent)
}
