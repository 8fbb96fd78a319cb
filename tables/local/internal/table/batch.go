package table

import (
	"net/http"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/auth"
	"furrow/tables/local/internal/entity"
	"furrow/tables/local/internal/wire"
)

// batch executes an entity group transaction. It answers 202 even if the transaction
// fails: the error is in the body, and its message starts with the operation's index.
func (s *Service) batch(w http.ResponseWriter, r *wire.Request, g *auth.Grant, _ target) error {
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
	if err == nil && slices.ContainsFunc(ops, func(op *operation) bool { return op.kind != remove }) {
		err = s.store.Room.Check(g.Owner)
	}
	var rows []entity.Stored
	if err == nil {
		rows, failed, err = s.apply(r, g, ops)
	}
	if err != nil {
		e := *wire.AsError(err)
		if e.Status >= 500 {
			return err
		}
		e.Message = strconv.Itoa(failed) + ":" + e.Message
		a := newBatchAnswer(r, 1, true)
		a.reply(errorReply(parts[failed].request(r), &e))
		return a.send(w)
	}
	a, render := newBatchAnswer(r, len(ops), true), &entity.Renderer{Base: r.Base()}
	for i, op := range ops {
		a.operation(render, op, rows[i], parts[i].contentID)
	}
	return a.send(w)
}

// request returns the part as a request of its own, in place of r. The Accept header
// of the whole transaction is ignored, because older clients ask for Atom there.
func (p *part) request(r *wire.Request) *wire.Request {
	inner, alone := *r, *r.Request
	alone.Method, alone.Header = p.method, p.header.http()
	inner.Request, inner.Query = &alone, p.query
	return &inner
}

// parseOperations parses the parts as writes to one partition of one table.
func parseOperations(r *wire.Request, parts []part) (ops []*operation, failed int, err error) {
	var parser entity.Parser
	rows := make(map[string]bool, len(parts))
	if len(parts) > maxOperations {
		return nil, maxOperations - 1, entity.Invalid(
			"The batch request operation exceeds the maximum 100 changes per change set.")
	}
	for i := range parts {
		p := &parts[i]
		path, err := parsePath(r.Below(p.path))
		if err != nil {
			return nil, i, err
		}
		op, err := parseOperation(p.method, path, p.header,
			func() (*entity.Body, error) { return parser.Parse(p.body) })
		if err != nil {
			return nil, i, err
		}
		if op.level, err = levelOf(p.header.Get("Accept")); err != nil {
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
				Message: "The batch request contains multiple changes with same row key. " +
					"An entity can appear only once in a batch request."}
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

// batchQuery executes a transaction that consists of one query.
func (s *Service) batchQuery(w http.ResponseWriter, r *wire.Request, g *auth.Grant, p *part) error {
	path, err := parsePath(r.Below(p.path))
	if err != nil {
		return err
	}
	if !g.For(path.table) {
		return g.OwnerOnly()
	}
	inner := p.request(r)
	key, err := path.Key(inner)
	do := map[string]func(http.ResponseWriter, *wire.Request, *auth.Grant, target) error{
		onEntity: s.get, onEntities: s.query}[key.On]
	if err != nil || do == nil {
		return errPath
	}
	answer := &wire.Reply{Status: http.StatusOK, Head: http.Header{}}
	if err = g.Allow("r"); err == nil {
		err = g.Recheck(s.policies(path.table), r.Clock()) // the body may have taken long to arrive
	}
	if err == nil {
		err = do(answer, inner, g, path)
	}
	if err != nil {
		e := wire.AsError(err)
		if e.Status >= 500 {
			return err
		}
		*answer = errorReply(inner, e)
	}
	a := newBatchAnswer(r, 1, false)
	a.reply(*answer)
	return a.send(w)
}
