package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
)

// An ActPage says what an act will do. After it is confirmed, the page says what was done.
type ActPage struct {
	foot
	Now      time.Time
	Title    string
	Back     string // address of the page of what it is about
	BackName string
	Will     []string // what will happen
	Warning  string
	Blocked  string // why it cannot be done; empty: it can
	Choices  []ActChoice
	Text     string     // label of a field for a text; empty: the act has none
	For      []string   // durations to choose from
	To       *time.Time // time to go back to; nil: the act has none
	Planned  bool       // the time is chosen
	Button   string
	Once     string // differs in each form, so that one that is sent twice acts once

	TextNeeded bool
	MaxText    int    // characters; zero: those of a note
	Was        string // what the field has at first

	Done    bool
	Did     []string
	Problem string // why it failed; empty: it did not

	Recent []schema.Act // like it, about the same, in the last day
}

// An ActChoice is one of several ways to act.
type ActChoice struct {
	Value, Name, Detail string
	Chosen, Disabled    bool
}

// OnceField names the field that tells apart forms that were opened separately.
const OnceField = "once"

// A prepared act knows what it is about.
type prepared struct {
	page  ActPage
	names []string   // of acts in the log that are like it
	about schema.Act // their device and tenant, or their detail
	plan  func(context.Context, *ActPage) error
	do    func(context.Context, url.Values) (did []string, err error)
}

// An act has a page of its own: GET says what will happen, and POST does it.
type act struct {
	pattern string
	params  []string
	role    schema.Role // that it needs
	prepare func(*http.Request) (prepared, error)
}

// acts returns an act of operators, with the parameters that its page takes.
func acts[Q any](pattern string, prepare func(*http.Request, Q) (prepared, error)) act {
	return act{pattern, api.NamesOf[Q](), schema.Operator, func(r *http.Request) (prepared, error) {
		q, err := api.Parse[Q](r.URL.RawQuery)
		if err != nil {
			return prepared{}, err
		}
		return prepare(r, q)
	}}
}

// acting has the pages with which people act.
type acting struct {
	*Site
	sent *sent
}

func (s *acting) routes() (all []api.Route) {
	for _, a := range s.acts() {
		all = append(all, api.Route{Pattern: "GET " + a.pattern, Params: a.params, Handle: s.confirm(a)},
			// A form is sent to the address of its page.
			api.Route{Pattern: "POST " + a.pattern, Params: a.params, Handle: s.perform(a)})
	}
	return all
}

func (s *acting) acts() []act {
	return []act{
		acts("/devices/{id}/revoke", s.revoke),
		acts("/devices/{id}/restore", s.restore),
		acts("/devices/{id}/release", s.release),
		acts("/devices/{id}/command", s.sendCommand),
		acts("/devices/{id}/commands/{command}/cancel", s.cancelCommand),
		acts("/devices/{id}/desired", s.setDesired),
		acts("/devices/{id}/rewind", s.rewind),
		acts("/incidents/{incident}/ack", s.acknowledge),
		acts("/incidents/{incident}/note", s.note),
		acts("/incidents/{incident}/mute", s.mute),
		acts("/pipelines/{pipeline}/redrive", s.redrive),
	}
}

// confirm shows what an act will do.
func (s *acting) confirm(a act) api.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		one, err := s.prepared(a, r)
		if err != nil {
			return err
		}
		one.page.Once = newOnce()
		if err := one.plan(r.Context(), &one.page); err != nil {
			return err
		}
		s.showAct(w, r, http.StatusOK, one)
		return nil
	}
}

func (s *acting) prepared(a act, r *http.Request) (prepared, error) {
	if err := api.PersonOf(r.Context()).May(a.role); err != nil {
		return prepared{}, err
	}
	return a.prepare(r)
}

const (
	// actTime limits an act. It goes on when the browser does not wait for it.
	actTime = 10 * time.Minute
	// actPatience is how long an answer waits for an act: less than a connection may take to be written to.
	actPatience = 45 * time.Second
)

// perform does an act, once for each form.
func (s *acting) perform(a act) api.Handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		one, err := s.prepared(a, r)
		if err != nil {
			return err
		}
		once := r.PostForm.Get(OnceField)
		if once == "" {
			return api.NewProblem(api.BadRequest, "Invalid request", "Open the page of this act, and confirm it there.")
		}
		done, first := s.sent.begin(api.PersonOf(r.Context()).Name+r.URL.Path+once, func() ([]string, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), actTime)
			defer cancel()
			return one.do(ctx, r.PostForm)
		})
		select {
		case <-done.ended:
		case <-r.Context().Done():
		case <-time.After(actPatience):
			one.page.Did = []string{"It is still under way. The activity page will have its outcome."}
			one.page.Done = true
			s.showAct(w, r, http.StatusAccepted, one)
			return nil
		}
		return s.showDone(w, r, one, done, first)
	}
}

// showDone answers with what an act did.
func (s *acting) showDone(
	w http.ResponseWriter, r *http.Request, one prepared, done *performed, first bool,
) error {
	if r.Context().Err() != nil {
		return r.Context().Err()
	}
	status, page := http.StatusOK, &one.page
	page.Done, page.Did = true, slices.Clone(done.did)
	if !first {
		page.Did = append(page.Did, "The form was sent twice; this was done once.")
	}
	switch {
	case errors.Is(done.err, access.ErrNoOutcome):
		page.Did = append(page.Did, "The activity log could not be written afterwards, so it does not have this outcome.")
	case done.err != nil && api.ProblemOf(done.err).Status < http.StatusInternalServerError:
		return done.err
	case done.err != nil:
		status, page.Problem = http.StatusServiceUnavailable, done.err.Error()
		s.c.Log.Warn("act failed", "path", r.URL.Path, "error", done.err)
	}
	s.showAct(w, r, status, one)
	return nil
}

func (s *acting) showAct(w http.ResponseWriter, r *http.Request, status int, one prepared) {
	one.page.Now = time.Now().UTC()
	one.page.Recent = s.recent(r.Context(), one)
	s.show(w, r, status, &one.page)
}

const (
	recentSpan = 24 * time.Hour
	maxRecent  = 5
)

// recent returns the last acts that are like one, so that people see what others have just done.
func (s *acting) recent(ctx context.Context, one prepared) (acts []schema.Act) {
	now := time.Now()
	for a, err := range s.c.Activity.Acts(ctx, one.about.Tenant, now.Add(-recentSpan), now.Add(time.Minute)) {
		if err != nil {
			s.c.Log.Warn("activity cannot be read", "error", err)
			return acts
		}
		if slices.Contains(one.names, a.What) && a.Device == one.about.Device &&
			(a.Device != "" || a.Detail == one.about.Detail) {
			acts = append(acts, a)
		}
		if len(acts) == maxRecent {
			break
		}
	}
	return acts
}

// actor returns who acts from a page.
func actor(ctx context.Context) admin.Actor {
	return admin.Actor{Name: api.PersonOf(ctx).Name, From: "dashboard"}
}

// whole refuses acts on what tenants share.
func whole(p api.Person) error {
	if p.Tenant == "" {
		return nil
	}
	return api.NewProblem(api.Forbidden, "Not allowed", fmt.Sprintf("This needs access to all tenants; yours is to %s.",
		p.Tenant))
}
