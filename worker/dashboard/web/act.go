package web

import (
	"context"
	"crypto/rand"
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
	page    ActPage
	names   []string   // of acts in the log that are like it
	about   schema.Act // their device and tenant
	details []string   // theirs, where they are about no device
	plan    func(context.Context, *ActPage) error
	do      func(context.Context, url.Values) (did []string, err error)
}

// act returns the routes of an act of operators, which has a page of its own: GET says what will happen, and POST does
// it. A form is sent to the address of its page.
func act[Q any](s *acting, pattern string, prepare func(*http.Request, Q) (prepared, error)) []api.Route {
	parse := api.Parsing[Q]()
	route := func(method string, handle func(http.ResponseWriter, *http.Request, prepared) error) api.Route {
		return api.Route{Pattern: method + " " + pattern, Params: api.NamesOf[Q](),
			Handle: func(w http.ResponseWriter, r *http.Request) error {
				if err := api.PersonOf(r.Context()).May(schema.Operator); err != nil {
					return err
				}
				q, err := parse(r.URL.RawQuery)
				if err != nil {
					return err
				}
				one, err := prepare(r, q)
				if err != nil {
					return err
				}
				return handle(w, r, one)
			}}
	}
	return []api.Route{route("GET", s.confirm), route("POST", s.perform)}
}

// acting has the pages with which people act.
type acting struct {
	*Site
	sent *sent
}

func (s *acting) routes() []api.Route {
	return slices.Concat(
		act(s, "/devices/{id}/revoke", s.revoke),
		act(s, "/devices/{id}/restore", s.restore),
		act(s, "/devices/{id}/release", s.release),
		act(s, "/devices/{id}/command", s.sendCommand),
		act(s, "/devices/{id}/commands/{command}/cancel", s.cancelCommand),
		act(s, "/devices/{id}/desired", s.setDesired),
		act(s, "/devices/{id}/rewind", s.rewind),
		act(s, "/incidents/{incident}/ack", s.acknowledge),
		act(s, "/incidents/{incident}/note", s.note),
		act(s, "/incidents/{incident}/mute", s.mute),
		act(s, "/pipelines/{pipeline}/redrive", s.redrive))
}

// confirm shows what an act will do.
func (s *acting) confirm(w http.ResponseWriter, r *http.Request, one prepared) error {
	one.page.Once = rand.Text()
	if err := one.plan(r.Context(), &one.page); err != nil {
		return err
	}
	s.showAct(w, r, http.StatusOK, one)
	return nil
}

const (
	// actTime limits an act. It goes on when the browser does not wait for it.
	actTime = 10 * time.Minute
	// actPatience is how long an answer waits for an act: less than a connection may take to be written to.
	actPatience = 45 * time.Second
)

// perform does an act, once for each form.
func (s *acting) perform(w http.ResponseWriter, r *http.Request, one prepared) error {
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
			continue
		}
		if slices.Contains(one.names, a.What) && a.Device == one.about.Device &&
			(a.Device != "" || slices.Contains(one.details, a.Detail)) {
			a.Outcome = api.OutcomeFor(api.PersonOf(ctx), a)
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
