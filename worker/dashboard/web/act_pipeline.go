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
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// rewindSpan is how far back the page of a rewind goes unless somebody chooses another time.
const rewindSpan = 24 * time.Hour

// rewindTo is the time that a rewind goes back to.
type rewindTo struct {
	To *time.Time `query:"to"`
}

func (s *acting) rewind(r *http.Request, p rewindTo) (prepared, error) {
	one, device, err := s.aboutDevice(r, "Rewind", admin.RewindAct)
	if err == nil {
		err = whole(api.PersonOf(r.Context()))
	}
	one.plan = func(ctx context.Context, page *ActPage) error {
		now := time.Now().UTC().Truncate(time.Second)
		at := now.Add(-rewindSpan)
		if page.To = &at; p.To == nil {
			page.Button = "Show what would happen"
			return nil
		}
		at, page.Planned = p.To.UTC(), true
		return s.planRewind(ctx, page, device, now)
	}
	one.do = func(ctx context.Context, form url.Values) ([]string, error) {
		to, err := time.Parse(time.RFC3339, form.Get("to"))
		if err != nil {
			return nil, api.NewProblem(api.BadRequest, "Invalid request", "Choose the time to go back to.")
		}
		return s.doRewind(ctx, device, to)
	}
	return one, err
}

func (s *acting) planRewind(ctx context.Context, page *ActPage, device schema.Device, now time.Time) error {
	if page.To.After(now) {
		page.Blocked = "This time is in the future: choose an earlier one."
		return nil
	}
	pipelines, err := s.actsOn(device.ID).Pipelines()
	if err != nil {
		return err
	}
	for _, p := range pipelines {
		n, err := s.actsOn(device.ID).WouldRewind(ctx, p, rewindOf(device, *page.To))
		if err != nil {
			return err
		}
		if n > 0 {
			page.Will = append(page.Will, fmt.Sprintf("The pipeline %s folds the readings of %s from %s UTC on again, and "+
				"replaces what they were folded to.", p.Name, device.ID, page.To.Format("2 Jan 2006 15:04:05")))
		}
	}
	if len(page.Will) == 0 {
		page.Blocked = fmt.Sprintf("No pipeline has folded readings of %s since then: there is nothing to fold again.",
			device.ID)
		return nil
	}
	page.Will = append(page.Will, "New readings are folded meanwhile. A worker must run.")
	return nil
}

func rewindOf(device schema.Device, to time.Time) admin.Rewind {
	return admin.Rewind{Devices: query.DeviceSelector{Device: device.ID}, Tenant: device.Tenant, To: tables.TicksOf(to)}
}

func (s *acting) doRewind(ctx context.Context, device schema.Device, to time.Time) (did []string, err error) {
	pipelines, err := s.actsOn(device.ID).Pipelines()
	for _, p := range pipelines {
		n, errRewind := s.actsOn(device.ID).Rewind(ctx, actor(ctx), p, rewindOf(device, to))
		if n > 0 {
			did = append(did, fmt.Sprintf("The pipeline %s folds the readings of %s from %s UTC on again.", p.Name, device.ID,
				to.UTC().Format("2 Jan 2006 15:04:05")))
		}
		if err = errors.Join(err, errRewind); errRewind != nil && !errors.Is(errRewind, access.ErrNoOutcome) {
			return did, err
		}
	}
	if len(did) == 0 && err == nil {
		did = []string{"There is nothing to fold again: nothing has changed."}
	}
	return did, err
}

// ofStorage names an account of the fleet.
type ofStorage struct {
	Storage string `query:"storage"`
}

func (s *acting) redrive(r *http.Request, params ofStorage) (one prepared, err error) {
	if api.PersonOf(r.Context()).Tenant != "" {
		return one, model.ErrWholeFleet
	}
	in, known := s.c.Model.Accounts.NumberNamed(params.Storage)
	if !known {
		return one, api.NewProblem(api.NotFound, "Storage not found", "The dashboard shows no such storage account.")
	}
	acts := s.c.Acts[in]
	pipelines, err := acts.Pipelines()
	if err != nil {
		return one, err
	}
	i := slices.IndexFunc(pipelines, func(p admin.Pipeline) bool { return string(p.Name) == r.PathValue("pipeline") })
	if i < 0 {
		return one, api.NewProblem(api.NotFound, "Pipeline not found", "The configuration has no such pipeline.")
	}
	p := pipelines[i]
	one = prepared{names: []string{admin.RedriveAct}, details: []string{"pipeline " + string(p.Name)},
		page: ActPage{Title: "Redrive poison messages of " + string(p.Name), Button: "Redrive",
			Back: "/pipelines#" + url.PathEscape(string(p.Name)), BackName: string(p.Name)}}
	one.plan = func(ctx context.Context, page *ActPage) error { return planRedrive(ctx, page, p) }
	one.do = func(ctx context.Context, _ url.Values) ([]string, error) {
		n, err := acts.Redrive(ctx, actor(ctx), p, "")
		if n == 0 && err == nil {
			return []string{"There was no poison message any more: nothing has changed."}, nil
		}
		return []string{fmt.Sprintf("Messages that are back in the queue of %s: %d.", p.Name, n)}, err
	}
	return one, nil
}

// maxCauses is how many causes of poison messages are shown.
const maxCauses = 5

func planRedrive(ctx context.Context, page *ActPage, p admin.Pipeline) error {
	n, err := query.OrNone(p.Queue.PoisonDepth(ctx))
	if err != nil {
		return err
	}
	if n == 0 {
		page.Blocked = fmt.Sprintf("%s has no poison messages.", p.Name)
		return nil
	}
	first, err := p.Queue.Poisoned(ctx)
	if err != nil {
		return err
	}
	page.Will = []string{fmt.Sprintf("About %s back into the queue of %s, and workers try them as if they had never "+
		"failed.", goes(n), p.Name), "What fails again becomes poison again."}
	causes := map[string]bool{}
	for _, m := range first {
		if causes[m.Cause] || len(causes) == maxCauses {
			continue
		}
		causes[m.Cause] = true
		page.Will = append(page.Will, "Cause: "+m.Cause)
	}
	return nil
}

func goes(n int) string {
	if n == 1 {
		return "1 poison message goes"
	}
	return plural(n, "poison message") + " go"
}
