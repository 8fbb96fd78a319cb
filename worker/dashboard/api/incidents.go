package api

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"time"
	"unicode/utf8"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"
)

func (a *API) incidents(r *http.Request, p incidents, f answers.Format) (model.Export, error) {
	p.Limit = limit(p.Limit, f)
	return a.model.Incidents.List(r.Context(), p.Query(p.Part, time.Now()))
}

func (a *API) incident(r *http.Request, _ None) (answer model.IncidentAnswer, err error) {
	id, err := IncidentID(r)
	if err != nil {
		return answer, err
	}
	return a.model.Incidents.Incident(r.Context(), id)
}

// MaxNote limits the text of a note, in characters.
const MaxNote = 1000

// note returns the handler of an act on an incident. It answers with what the incident is then.
func (a *API) note(what string) func(http.ResponseWriter, *http.Request, None) error {
	return func(w http.ResponseWriter, r *http.Request, p None) error {
		person := PersonOf(r.Context())
		if err := person.May(schema.Operator); err != nil {
			return err
		}
		id, err := IncidentID(r)
		if err != nil {
			return err
		}
		text, err := textOf(r)
		if err != nil {
			return err
		}
		i, err := a.model.Incidents.Now(r.Context(), id)
		if err != nil {
			return err
		}
		_, err = a.actsOn(i.ID.Device).NoteIncident(r.Context(), actor(person), i, what, text)
		a.model.Incidents.Forget(i)
		if err != nil && !errors.Is(err, access.ErrNoOutcome) {
			return err
		}
		return data(a.incident)(w, r, p)
	}
}

// textOf returns the text in the body of a request: the member or the field text. A body may be missing.
func textOf(r *http.Request) (string, error) {
	body := struct {
		Text string `json:"text"`
	}{r.PostFormValue("text")}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/json" {
		d := json.NewDecoder(r.Body)
		d.DisallowUnknownFields()
		if err := d.Decode(&body); err != nil && !errors.Is(err, io.EOF) {
			return "", badRequest(`The body is not the JSON {"text": "…"}: ` + err.Error() + ".")
		}
	}
	if utf8.RuneCountInString(body.Text) > MaxNote {
		return "", badRequest("The text is too long: write at most 1000 characters.")
	}
	return body.Text, nil
}
