package api

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// exportTimeout bounds an answer with many rows, so that nobody keeps one open by reading it slowly.
const exportTimeout = 10 * time.Minute

// A formed request says which format its answer has.
type formed interface{ form() answers.Format }

// export returns a handler that reads rows, writes them, and sends all of them or an error.
func export[Q formed](
	a *API, open func(*http.Request, Q, answers.Format) (model.Export, error),
) func(http.ResponseWriter, *http.Request, Q) error {
	return func(w http.ResponseWriter, r *http.Request, p Q) error {
		format := formatOf(r, p)
		end, err := a.Question(PersonOf(r.Context()))
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
		out := newSender(w, format, answer)
		if r.Method == http.MethodHead {
			return nil
		}
		to := answers.NewWriter(format, out, answer.Row, func() any { return answer.Answer })
		for row, err := range answer.Rows {
			if err == nil {
				err = to.Row(row)
			}
			if err != nil {
				return err
			}
		}
		answer.Answer.Reach().SetOperations(model.ReadOf(ctx).Operations())
		if err := to.End(); err != nil {
			return err
		}
		out.send()
		return nil
	}
}

// devices answers with a page of a list in JSON, and with the whole list in other answers.
func (a *API) devices(w http.ResponseWriter, r *http.Request, p devices) error {
	if formatOf(r, p) != answers.JSON {
		return export(a, func(r *http.Request, p devices, f answers.Format) (model.Export, error) {
			return a.model.Lists.Listed(r.Context(), p.Query(p.After, limit(p.Limit, f)))
		})(w, r, p)
	}
	if p.Limit > model.MaxListed {
		return badRequest(fmt.Sprintf("In JSON, limit must be a whole number from 1 to %d; other formats take more.",
			model.MaxListed))
	}
	w.Header().Add("Vary", "Accept")
	return data(func(r *http.Request, p devices) (model.DeviceList, error) {
		return a.model.Lists.Devices(r.Context(), p.Query(p.After, p.Limit))
	})(w, r, p)
}

func (a *API) readings(r *http.Request, p readings, f answers.Format) (answer model.Export, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return answer, err
	}
	q, err := p.query(id, f, time.Now())
	if err != nil {
		return answer, err
	}
	return a.model.DeviceRows.Readings(r.Context(), q)
}

func (a *API) gaps(r *http.Request, p gaps, _ answers.Format) (answer model.Export, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return answer, err
	}
	from, to := p.times(time.Now())
	return a.model.DeviceRows.Gaps(r.Context(), id, from, to)
}

func (a *API) query(r *http.Request, p fleetWindows, f answers.Format) (answer model.Export, err error) {
	q := p.query(f)
	switch q.Window = p.Window; {
	case p.Window == model.WindowNewest && p.given():
		return answer, badRequest("window=newest cannot be combined with from, to or span: leave them out.")
	case p.Window == model.WindowNewest:
		return a.model.FleetRows.Newest(r.Context(), q)
	}
	return a.model.FleetRows.Windows(r.Context(), q)
}

func (a *API) fleetReadings(r *http.Request, p fleetReadings, f answers.Format) (model.Export, error) {
	return a.model.FleetRows.Readings(r.Context(), p.query(f))
}

func (a *API) reports(r *http.Request, p reports, f answers.Format) (model.Export, error) {
	q := p.ReportsQuery
	q.From, q.To = p.times(time.Now()) // by default the last day
	q.Limit = limit(q.Limit, f)
	return a.model.Reports.List(r.Context(), q)
}

func formatOf(r *http.Request, p formed) answers.Format {
	return cmp.Or(p.form(), answers.Accepted(listOf(r, "Accept")))
}
