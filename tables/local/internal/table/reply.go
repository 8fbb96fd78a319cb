package table

import (
	"maps"
	"net/http"
	"slices"
	"strconv"

	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// A reply is the answer to one operation of a transaction.
type reply struct {
	status int
	header http.Header
	body   []byte
}

func (p *reply) Header() http.Header         { return p.header }
func (p *reply) WriteHeader(status int)      { p.status = status }
func (p *reply) Write(b []byte) (int, error) { p.body = append(p.body, b...); return len(b), nil }

func newReply(status int) reply {
	p := reply{status: status, header: make(http.Header, 8)}
	wire.Table.SetHeaders(p.header)
	return p
}

func errorReply(r *wire.Request, e *wire.Error) reply {
	p := newReply(e.Status)
	wire.Set(p.header, "Content-Type", "application/json;odata=minimalmetadata;streaming=true;charset=utf-8")
	p.body = wire.TableErrorBody(r, e)
	return p
}

func opReply(r *wire.Request, op *operation, row entity.Stored, contentID string) reply {
	p := newReply(http.StatusNoContent)
	if contentID != "" && wire.Printable(contentID) {
		wire.Set(p.header, "Content-ID", contentID)
	}
	if op.kind == remove {
		return p
	}
	wire.Set(p.header, "ETag", entity.ETag(row.Timestamp()))
	if op.kind != insert {
		return p
	}
	location := r.Base() + "/" + entity.EntityPath(op.table, op.partition, op.row)
	wire.Set(p.header, "Location", location)
	wire.Set(p.header, "DataServiceId", location)
	if !op.returnContent {
		wire.Set(p.header, "Preference-Applied", "return-no-content")
		return p
	}
	p.status = http.StatusCreated
	wire.Set(p.header, "Preference-Applied", "return-content")
	wire.Set(p.header, "Content-Type", "application/json;odata="+op.level.String()+";streaming=true;charset=utf-8")
	render := entity.Renderer{Level: op.level, Base: r.Base(), Table: op.table}
	p.body = render.Append(nil, op.partition, op.row, row, true)
	return p
}

// append writes the reply as a part of a multipart body.
func (p *reply) append(b []byte, boundary string) []byte {
	b = append(append(append(b, "--"...), boundary...),
		"\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n\r\nHTTP/1.1 "...)
	b = strconv.AppendInt(b, int64(p.status), 10)
	b = append(append(append(b, ' '), http.StatusText(p.status)...), "\r\n"...)
	for _, name := range slices.Sorted(maps.Keys(p.header)) {
		b = append(append(append(append(b, name...), ": "...), p.header[name][0]...), "\r\n"...)
	}
	return append(append(append(b, "\r\n"...), p.body...), "\r\n"...)
}

// writeBatch answers with a part for each reply, in a change set or directly.
func writeBatch(w http.ResponseWriter, r *wire.Request, replies []reply, changeSet bool) error {
	outer, inner := "batchresponse_"+r.ID, "changesetresponse_"+r.ID
	b := make([]byte, 0, 512+len(replies)*640)
	boundary := outer
	if changeSet {
		b = append(b, "--"+outer+"\r\nContent-Type: multipart/mixed; boundary="+inner+"\r\n\r\n"...)
		boundary = inner
	}
	for i := range replies {
		b = replies[i].append(b, boundary)
	}
	if changeSet {
		b = append(b, "--"+inner+"--\r\n"...)
	}
	b = append(b, "--"+outer+"--\r\n"...)
	wire.Set(w.Header(), "Content-Type", "multipart/mixed; boundary="+outer)
	w.WriteHeader(http.StatusAccepted)
	w.Write(b) // fails only if the client is gone
	return nil
}
