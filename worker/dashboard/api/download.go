package api

import (
	"context"
	"net/http"
	"path"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

// Downloads returns the routes of files that people save. A saved file has no header that says that there is more, so
// each has all parts of its answer and all of the fleet, or the download fails.
func (a *API) Downloads() []Route {
	return []Route{
		Take("/devices.csv", download(a, func(r *http.Request, p devices, after string) (model.Export, error) {
			return a.model.Lists.Listed(r.Context(), p.Query(after, model.MaxRows))
		})),
		Take("/incidents.csv", download(a, func(r *http.Request, p incidents, after string) (model.Export, error) {
			p.Part.After = after
			return a.incidents(r, p, answers.CSV)
		})),
		Take("/reports.csv", download(a, func(r *http.Request, p reports, after string) (model.Export, error) {
			p.After = after
			return a.reports(r, p, answers.CSV)
		})),
	}
}

// download returns a handler that sends all parts of an answer as one file of CSV. When it fails after it has sent the
// beginning, it closes the connection, and the browser sees that the file is not complete.
func download[Q any](
	a *API, open func(r *http.Request, p Q, after string) (model.Export, error),
) func(http.ResponseWriter, *http.Request, Q) error {
	return func(w http.ResponseWriter, r *http.Request, p Q) error {
		end, err := a.Question(PersonOf(r.Context()))
		if err != nil {
			return err
		}
		defer end()
		ctx, stop := context.WithTimeout(r.Context(), exportTimeout)
		defer stop()
		f := &file{w: w, control: http.NewResponseController(w), name: path.Base(r.URL.Path)}
		if err = a.sendAll(f, r.WithContext(ctx), func(r *http.Request, after string) (model.Export, error) {
			return open(r, p, after)
		}); err != nil && f.begun {
			panic(http.ErrAbortHandler)
		}
		return err
	}
}

// sendAll sends one part after the other.
func (a *API) sendAll(
	f *file, r *http.Request, open func(r *http.Request, after string) (model.Export, error),
) error {
	part, err := open(r, "")
	if err != nil || r.Method == http.MethodHead {
		return err
	}
	to := answers.NewWriter(answers.CSV, f, part.Row, nil)
	for {
		for row, err := range part.Rows {
			if err == nil {
				err = to.Row(row)
			}
			if err != nil {
				return err
			}
		}
		if model.ReadOf(r.Context()).Partial() || len(a.model.Accounts.Missing()) > 0 {
			return NewProblem(StorageUnavailable, "The file would not be complete",
				"A part of the storage cannot be read, and the file would lack it. Try again later.").
				RetryIn(storageRetry)
		}
		next := part.Answer.Reach().Next
		if next == "" {
			return to.End()
		}
		if part, err = open(r, next); err != nil {
			return err
		}
	}
}

// A file is sent while it is written, in parts that each have a deadline.
type file struct {
	w       http.ResponseWriter
	control *http.ResponseController
	name    string
	begun   bool
}

func (f *file) Write(p []byte) (int, error) {
	if !f.begun {
		f.begun = true
		h := f.w.Header()
		h.Set("Content-Type", answers.CSV.MediaType())
		h.Set("Content-Disposition", `attachment; filename="`+f.name+`"`)
		h.Set("Cache-Control", "no-store")
	}
	_ = f.control.SetWriteDeadline(time.Now().Add(sendTimeout)) // a test's recorder has no deadline
	return f.w.Write(p)
}
