package api

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// exportTimeout bounds an answer with many rows, so that nobody keeps one open by reading it slowly.
const exportTimeout = 10 * time.Minute

// export returns a handler that reads rows, writes them, and sends all of them or an error.
func (a *API) export(open func(*http.Request, Params, answers.Format) (model.Export, error)) Handler {
	return func(w http.ResponseWriter, r *http.Request, p Params) error {
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
func (a *API) devices(w http.ResponseWriter, r *http.Request, p Params) error {
	if formatOf(r, p) != answers.JSON {
		return a.export(func(r *http.Request, p Params, f answers.Format) (model.Export, error) {
			p.ListQuery.Limit = p.limit(f)
			return a.model.Lists.Listed(r.Context(), p.ListQuery)
		})(w, r, p)
	}
	if p.Limit > model.MaxListed {
		return badRequest(fmt.Sprintf("In JSON, limit must be a whole number from 1 to %d; other formats take more.",
			model.MaxListed))
	}
	w.Header().Add("Vary", "Accept")
	return data(func(r *http.Request, p Params) (model.DeviceList, error) {
		return a.model.Lists.Devices(r.Context(), p.ListQuery)
	})(w, r, p)
}

func (a *API) readings(r *http.Request, p Params, f answers.Format) (answer model.Export, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return answer, err
	}
	q, err := p.Readings(id, f, time.Now())
	if err != nil {
		return answer, err
	}
	return a.model.DeviceRows.Readings(r.Context(), q)
}

func (a *API) gaps(r *http.Request, p Params, _ answers.Format) (answer model.Export, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return answer, err
	}
	series := p.Series(id, time.Now())
	return a.model.DeviceRows.Gaps(r.Context(), model.GapsQuery{Device: id, From: series.From, To: series.To})
}

func (a *API) query(r *http.Request, p Params, f answers.Format) (answer model.Export, err error) {
	q, err := p.Fleet(f, time.Now())
	switch {
	case err != nil:
		return answer, err
	case q.Window == model.WindowNewest:
		return a.model.FleetRows.Newest(r.Context(), q)
	}
	return a.model.FleetRows.Windows(r.Context(), q)
}

func (a *API) fleetReadings(r *http.Request, p Params, f answers.Format) (answer model.Export, err error) {
	q, err := p.Fleet(f, time.Now())
	if err != nil {
		return answer, err
	}
	return a.model.FleetRows.Readings(r.Context(), q)
}

func (a *API) reports(r *http.Request, p Params, f answers.Format) (model.Export, error) {
	return a.model.Reports.List(r.Context(), p.Reports(f, time.Now()))
}

func formatOf(r *http.Request, p Params) answers.Format {
	if p.Format != "" {
		return p.Format
	}
	return answers.Accepted(r.Header.Get("Accept"))
}
