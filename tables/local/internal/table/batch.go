package table

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// batch does an entity group transaction. Its answer is 202 even when it fails;
// the failure is inside, its message headed by the operation's index.
func (s *Service) batch(w http.ResponseWriter, r *wire.Request, g *auth.Grant) error {
	l, err := level(r)
	if err != nil {
		return err
	}
	body, err := r.ReadBody(maxBody)
	if err != nil {
		return err
	}
	parts, isQuery, err := parseBatch(r.Header.Get("Content-Type"), body)
	if err != nil {
		return err
	}
	if isQuery {
		return s.batchQuery(w, r, g, &parts[0])
	}
	ops, failed, err := parseOperations(r, parts)
	if err == nil {
		failed, err = authorize(ops, g)
	}
	var rows []entity.Stored
	if err == nil {
		rows, failed, err = s.apply(r, ops)
	}
	var answers []reply
	if err != nil {
		e := *wire.AsError(err)
		if e.Status >= 500 {
			return err
		}
		e.Message = strconv.Itoa(failed) + ":" + e.Message
		answers = []reply{errorReply(r, &e)}
	} else {
		for i, op := range ops {
			answers = append(answers, opReply(r, op, rows[i], parts[i].header.Get("Content-Id"), l))
		}
	}
	return writeBatch(w, r, answers, true)
}

// parseOperations reads the parts as writes on one partition of one table.
func parseOperations(r *wire.Request, parts []part) (ops []*operation, failed int, err error) {
	rows := map[string]bool{}
	for i, p := range parts {
		path, err := parsePath(r.Below(p.url.EscapedPath()))
		if err != nil {
			return nil, i, err
		}
		method := p.method
		if tunnelled := p.header.Get("X-HTTP-Method"); tunnelled != "" && method == http.MethodPost {
			method = strings.ToUpper(tunnelled)
		}
		op, err := parseOperation(method, path, p.header, func() ([]byte, error) { return p.body, nil })
		if err != nil {
			return nil, i, err
		}
		switch {
		case i > 0 && !strings.EqualFold(op.table, ops[0].table):
			return nil, i, entity.Invalid("All operations of a transaction must be on one table.")
		case i > 0 && op.partition != ops[0].partition:
			return nil, i, &wire.Error{Status: 400, Code: "CommandsInBatchActOnDifferentPartitions",
				Message: "All commands in a batch must operate on same entity group."}
		case rows[op.row]:
			return nil, i, &wire.Error{Status: 400, Code: "InvalidDuplicateRow",
				Message: "The batch request contains multiple changes with same row key. An entity can appear only once in a batch request."}
		}
		rows[op.row] = true
		ops = append(ops, op)
	}
	return ops, 0, nil
}

func authorize(ops []*operation, g *auth.Grant) (failed int, err error) {
	for i, op := range ops {
		if err := op.authorize(g); err != nil {
			return i, err
		}
	}
	return 0, nil
}

// batchQuery answers a transaction that is one query.
func (s *Service) batchQuery(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p *part) error {
	path, err := parsePath(r.Below(p.url.EscapedPath()))
	if err != nil {
		return err
	}
	if !g.Owner && !strings.EqualFold(g.Name, path.table) {
		return g.OwnerOnly()
	}
	inner := *r
	inner.Request = r.Request.Clone(r.Context())
	inner.Request.Method, inner.Header = p.method, p.header
	inner.Query = p.url.Query()
	rec := &reply{header: http.Header{}, status: http.StatusOK}
	if err := s.read(rec, &inner, g, path); err != nil {
		e := wire.AsError(err)
		if e.Status >= 500 {
			return err
		}
		*rec = errorReply(r, e)
	}
	return writeBatch(w, r, []reply{*rec}, false)
}

// A reply is the answer to one operation.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (p *reply) Header() http.Header         { return p.header }
func (p *reply) WriteHeader(status int)      { p.status = status }
func (p *reply) Write(b []byte) (int, error) { p.body = append(p.body, b...); return len(b), nil }

func errorReply(r *wire.Request, e *wire.Error) reply {
	rec := reply{status: e.Status, header: http.Header{}, body: wire.TableErrorBody(r, e)}
	common(rec.header)
	wire.Set(rec.header, "Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
	return rec
}

func opReply(r *wire.Request, op *operation, row entity.Stored, contentID string, l entity.Level) reply {
	rec := reply{status: http.StatusNoContent, header: http.Header{}}
	common(rec.header)
	if contentID != "" && wire.Printable(contentID) {
		wire.Set(rec.header, "Content-ID", contentID)
	}
	if op.kind == remove {
		return rec
	}
	wire.Set(rec.header, "ETag", entity.ETag(row.Timestamp()))
	if op.kind != insert {
		return rec
	}
	location := r.Base() + "/" + entity.EntityPath(op.table, op.partition, op.row)
	wire.Set(rec.header, "Location", location)
	wire.Set(rec.header, "DataServiceId", location)
	if !op.returnContent {
		wire.Set(rec.header, "Preference-Applied", "return-no-content")
		return rec
	}
	rec.status = http.StatusCreated
	wire.Set(rec.header, "Preference-Applied", "return-content")
	wire.Set(rec.header, "Content-Type", "application/json;odata="+l.String()+";streaming=true;charset=utf-8")
	render := entity.Renderer{Level: l, Base: r.Base(), Table: op.table}
	rec.body = render.Append(nil, op.partition, op.row, row, true)
	return rec
}

// writeBatch answers with one part for each reply, in a change set or without.
func writeBatch(w http.ResponseWriter, r *wire.Request, replies []reply, changeSet bool) error {
	outer, inner := "batchresponse_"+r.ID, "changesetresponse_"+r.ID
	boundary := outer
	var b bytes.Buffer
	if changeSet {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: multipart/mixed; boundary=%s\r\n\r\n", outer, inner)
		boundary = inner
	}
	for _, p := range replies {
		fmt.Fprintf(&b, "--%s\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 %d %s\r\n",
			boundary, p.status, http.StatusText(p.status))
		for _, name := range slices.Sorted(maps.Keys(p.header)) {
			fmt.Fprintf(&b, "%s: %s\r\n", name, p.header[name][0])
		}
		fmt.Fprintf(&b, "\r\n%s\r\n", p.body)
	}
	if changeSet {
		fmt.Fprintf(&b, "--%s--\r\n", inner)
	}
	fmt.Fprintf(&b, "--%s--\r\n", outer)
	wire.Set(w.Header(), "Content-Type", "multipart/mixed; boundary="+outer)
	common(w.Header())
	w.WriteHeader(http.StatusAccepted)
	w.Write(b.Bytes()) // a client that is gone hears nothing
	return nil
}
