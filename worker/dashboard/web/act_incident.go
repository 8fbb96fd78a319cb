package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"time"
	"unicode/utf8"

	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
	"furrow/worker/query"
)

// aboutIncident prepares an act on the incident in the path.
func (s *acting) aboutIncident(r *http.Request, verb string, names ...string) (prepared, query.Incident, error) {
	id, err := api.IncidentID(r)
	if err != nil {
		return prepared{}, query.Incident{}, err
	}
	i, err := s.c.Model.Incidents.Now(r.Context(), id)
	one := prepared{names: names, about: schema.Act{Device: i.ID.Device, Tenant: i.Home.Tenant},
		page: ActPage{Title: fmt.Sprintf("%s %s of %s", verb, i.ID.Rule, i.ID.Device), Button: verb,
			Back: "/incidents/" + url.PathEscape(id.String()), BackName: fmt.Sprintf("%s of %s", i.ID.Rule, i.ID.Device)}}
	return one, i, err
}

func (s *acting) acknowledge(r *http.Request, _ api.None) (prepared, error) {
	one, i, err := s.aboutIncident(r, "Acknowledge", admin.AckAct, admin.NoteAct)
	one.plan = func(_ context.Context, page *ActPage) error {
		if i.Closed != nil {
			page.Blocked = "This incident is closed: there is nothing to take care of."
		}
		page.Text = "Note (optional)"
		page.Will = []string{"Everybody sees that you take care of it.", "It stays open until its rule no longer holds."}
		return nil
	}
	one.do = s.noting(i, schema.Acknowledged, "The incident is acknowledged.")
	return one, err
}

func (s *acting) note(r *http.Request, _ api.None) (prepared, error) {
	one, i, err := s.aboutIncident(r, "Add a note to", admin.AckAct, admin.NoteAct)
	one.page.Button = "Add the note"
	one.plan = func(_ context.Context, page *ActPage) error {
		page.Text, page.TextNeeded = "Note", true
		page.Will = []string{"The note is shown beside the incident, with your name."}
		return nil
	}
	one.do = s.noting(i, schema.Noted, "The note is added.")
	return one, err
}

func (s *acting) noting(i query.Incident, what, said string) func(context.Context, url.Values) ([]string, error) {
	return func(ctx context.Context, form url.Values) ([]string, error) {
		text := form.Get("text")
		if utf8.RuneCountInString(text) > api.MaxNote {
			return nil, api.NewProblem(api.BadRequest, "Invalid request", "The note is too long: shorten it.")
		}
		_, err := s.actsOn(i.ID.Device).NoteIncident(ctx, actor(ctx), i, what, text)
		s.c.Model.Incidents.Forget(i)
		return []string{said}, err
	}
}

// muteTimes are how long a mute can last.
func muteTimes() []string { return []string{"1h", "8h", "1d", "7d"} }

func (s *acting) mute(r *http.Request, _ api.None) (prepared, error) {
	one, i, err := s.aboutIncident(r, "Mute", admin.MuteAct)
	one.about.Device = "" // a mute is in the log with what it matches
	for _, how := range []string{"both", "device", "rule", "site"} {
		if m, is := muteFor(i, how); is {
			one.details = append(one.details, m.Matches())
		}
	}
	one.plan = func(_ context.Context, page *ActPage) error {
		page.Will = []string{"Nobody is notified of these incidents. They open and close as ever, and are shown as muted.",
			"It ends by itself; furrow mute remove ends it before."}
		page.Choices = []ActChoice{
			{Value: "both", Chosen: true, Name: fmt.Sprintf("%s of %s", i.ID.Rule, i.ID.Device)},
			{Value: "device", Name: fmt.Sprintf("Every rule of %s", i.ID.Device)},
			{Value: "rule", Name: fmt.Sprintf("%s of every device of %s", i.ID.Rule, i.Home.Tenant)}}
		if i.Site != "" {
			page.Choices = append(page.Choices, ActChoice{Value: "site",
				Name: fmt.Sprintf("Every rule at %s of %s", i.Site, i.Home.Tenant)})
		}
		page.For, page.Text = muteTimes(), "Reason (optional)"
		return nil
	}
	one.do = func(ctx context.Context, form url.Values) ([]string, error) {
		m, err := muteOf(i, form)
		if err != nil {
			return nil, err
		}
		m, err = s.doMute(ctx, i, m)
		s.c.Model.Incidents.Forget(i)
		return []string{fmt.Sprintf("Muted until %s UTC: %s.", m.Until.Time().UTC().Format("2 Jan 15:04"), m.Matches())}, err
	}
	return one, err
}

// doMute mutes what a mute matches in each account that has some of it.
func (s *acting) doMute(ctx context.Context, i query.Incident, m schema.Mute) (muted schema.Mute, err error) {
	in := s.c.Model.Accounts.NumbersOf(m.Tenant)
	if m.Device != "" {
		in = []int{s.c.Model.Accounts.NumberOf(i.ID.Device)}
	}
	for _, number := range in {
		var failed error
		muted, failed = s.c.Acts[number].Mute(ctx, actor(ctx), m)
		err = errors.Join(err, failed)
	}
	return muted, err
}

// muteFor returns what a choice mutes, if the incident has it.
func muteFor(i query.Incident, how string) (m schema.Mute, is bool) {
	m.Tenant = i.Home.Tenant
	switch how {
	case "both":
		m.Rule, m.Device = i.ID.Rule, string(i.ID.Device)
	case "device":
		m.Device = string(i.ID.Device)
	case "rule":
		m.Rule = i.ID.Rule
	case "site":
		m.Site = i.Site
	}
	return m, m.Rule != "" || m.Device != "" || m.Site != ""
}

// muteOf returns the mute that a form asks for.
func muteOf(i query.Incident, form url.Values) (schema.Mute, error) {
	m, is := muteFor(i, form.Get(howField))
	length, err := schema.ParseDuration(form.Get("for"))
	if !is || err != nil || !slices.Contains(muteTimes(), form.Get("for")) {
		return m, api.NewProblem(api.BadRequest, "Invalid request", "Choose how long to mute, and what.")
	}
	now := time.Now()
	m.Text = form.Get("text")
	m.From, m.Until = tables.TicksOf(now), tables.TicksOf(now.Add(length))
	return m, nil
}
