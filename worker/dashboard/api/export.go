package api

import (
	"context"
	"errors"
	"net/http"
	"time"

	"furrow/worker/dashboard/formats"
	"furrow/worker/dashboard/model"
)

// exportTimeout bounds an answer with many rows, so that nobody keeps one open by reading it slowly.
const exportTimeout = 10 * time.Minute

// export returns a handler that writes rows while they are read.
func (a *API) export(open func(*http.Request, Params, formats.Format) (model.Export, error)) Handler {
	return func(w http.ResponseWriter, r *http.Request, p Params) error {
		format := p.Format
		if format == "" {
			format = formats.Accepted(r.Header.Get("Accept"))
		}
		end, err := a.questions.begin(PersonOf(r.Context()))
		if err != nil {
			return err
		}
		defer end()
		ctx, stop := context.WithTimeout(r.Context(), exportTimeout)
		defer stop()
		answer, err := open(r.WithContext(ctx), p, format)
		if err != nil {
			return err
		}
		if _, err := formats.Marshal(answer.Whole()); err != nil {
			return err
		}
		out := newSender(w, format, answer)
		if r.Method == http.MethodHead {
			out.begin()
			return nil
		}
		return a.send(r, out, formats.NewWriter(format, out, answer.Columns, answer.Whole), answer)
	}
}

func (a *API) readings(r *http.Request, p Params, f formats.Format) (answer model.Export, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return answer, err
	}
	q, err := p.Readings(id, f, time.Now())
	if err != nil {
		return answer, err
	}
	return a.model.Readings(r.Context(), q)
}

func (a *API) query(r *http.Request, p Params, f formats.Format) (answer model.Export, err error) {
	q, err := p.Fleet(f, time.Now())
	switch {
	case err != nil:
		return answer, err
	case q.Window == model.WindowNewest:
		return a.model.Newest(r.Context(), q)
	}
	return a.model.Windows(r.Context(), q)
}

// send writes the rows of an answer. An error before the first bytes are on their way becomes a problem. Later it
// breaks the answer, and closes the connection.
func (a *API) send(r *http.Request, out *sender, to formats.Writer, answer model.Export) (err error) {
	for row, failed := range answer.Rows {
		if err = failed; err != nil {
			break
		}
		if err = to.Row(row); err != nil {
			break
		}
	}
	if err == nil {
		if err = to.End(); err == nil {
			err = out.end()
		}
	}
	if err == nil || !out.begun {
		return err
	}
	if !errors.Is(err, errGone) {
		p := problemOf(err)
		a.log.Warn("answer broken off", "path", r.URL.Path, "error", err)
		_ = to.Break("This answer is incomplete. " + p.Detail) // the connection may be gone
		out.abort()
	}
	panic(http.ErrAbortHandler)
}
