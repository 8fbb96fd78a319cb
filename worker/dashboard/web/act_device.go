package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// aboutDevice prepares an act on the device in the path.
func (s *acting) aboutDevice(r *http.Request, verb string, names ...string) (prepared, schema.Device, error) {
	id, err := api.DeviceID(r)
	if err != nil {
		return prepared{}, schema.Device{}, err
	}
	if err = s.c.Model.Owners.Check(r.Context(), id); err != nil {
		return prepared{}, schema.Device{}, err
	}
	device, err := s.actsOn(schema.DeviceID(id)).Device(r.Context(), schema.DeviceID(id))
	if errors.Is(err, tables.ErrNotFound) {
		err = api.NewProblem(api.NotFound, "Device not found", "The device has no record: create it with furrow device add.")
	}
	if person := api.PersonOf(r.Context()); err == nil && person.Tenant != "" && device.Tenant != person.Tenant {
		err = fmt.Errorf("device %s: %w", id, model.ErrUnknown) // it has just moved
	}
	one := prepared{names: names, about: schema.Act{Device: device.ID, Tenant: device.Tenant},
		page: ActPage{Title: verb + " " + id, Button: verb, Back: "/devices/" + url.PathEscape(id), BackName: id}}
	return one, device, err
}

// Ways to revoke a device.
const (
	howField    = "how"
	howNow      = "now"
	howAtExpiry = "expiry"
)

func (s *acting) revoke(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.aboutDevice(r, "Revoke", admin.RevokeAct, admin.RestoreAct)
	one.plan = func(ctx context.Context, page *ActPage) error { return s.planRevoke(ctx, page, device) }
	one.do = func(ctx context.Context, form url.Values) ([]string, error) {
		return s.doRevoke(ctx, device, form.Get(howField))
	}
	return one, err
}

// countTime limits counting the devices that a revocation affects. In a large fleet it reads many records.
const countTime = 10 * time.Second

func (s *acting) planRevoke(ctx context.Context, page *ActPage, device schema.Device) error {
	over, err := s.actsOn(device.ID).Revoked(ctx, device, false)
	if err != nil {
		return err
	}
	if over {
		page.Blocked = fmt.Sprintf("%s is revoked already: it gets no tokens, and none is left.", device.ID)
		return nil
	}
	page.Will = []string{fmt.Sprintf("%s gets no new tokens, until somebody restores it.", device.ID),
		"Readings that storage has accepted are kept, and still processed."}
	now := ActChoice{Value: howNow, Name: "End its tokens now", Chosen: true,
		Detail: "The tokens of its cohort end with them, and " + s.others(ctx, device, false) + "." + s.delay(device.ID)}
	later := ActChoice{Value: howAtExpiry, Name: "Let its tokens expire", Detail: "No other device is affected."}
	alone, err := s.actsOn(device.ID).AtExpiry(ctx, device)
	if err != nil {
		return err
	}
	if until := admin.LastExpiry(device); !until.IsZero() {
		later.Detail = "It can write until " + until.UTC().Format("2 Jan 15:04:05") + " UTC. " + later.Detail
	}
	if alone {
		later.Chosen = true
		page.Will = append(page.Will,
			"Its tokens end when they expire: its enrollment was added with --revocation at-expiry.")
		page.Choices = []ActChoice{later}
		return nil
	}
	_, e, locks, err := s.actsOn(device.ID).Lockout(ctx, []schema.Device{device})
	if err != nil {
		return err
	}
	if locks {
		now.Chosen, later.Chosen = false, true
		page.Warning = fmt.Sprintf("The tokens of enrollment %s live for %s, and its devices may not request another before "+
			"they expire: ending tokens now locks the other devices out until they do.", e.ID, schema.Window(e.Life))
		if !api.PersonOf(ctx).Role.May(schema.Admin) {
			now.Disabled, now.Detail = true, now.Detail+" This needs the role admin."
		}
	}
	page.Choices = []ActChoice{now, later}
	return nil
}

// others says how many other devices need a new token after a revocation, or needed one after it has ended.
func (s *acting) others(ctx context.Context, device schema.Device, ended bool) string {
	counting, cancel := context.WithTimeout(ctx, countTime)
	defer cancel()
	tenant := api.PersonOf(ctx).Tenant
	n, err := s.actsOn(device.ID).Others(counting, []schema.Device{device}, ended, tenant, func(error) {})
	if err != nil {
		s.c.Log.Warn("devices cannot be counted", "device", device.ID, "error", err)
		return "up to a quarter of the devices in table " + device.Readings + " need a new token, which they get when they " +
			"request it; they could not be counted"
	}
	whose := ""
	if tenant != "" {
		whose = " of yours"
	}
	verb := "need"
	if n == 1 {
		verb = "needs"
	}
	return fmt.Sprintf("%s%s %s a new token, issued on request", plural(n, "other device"), whose, verb)
}

// delay says when a revocation holds.
func (s *acting) delay(id schema.DeviceID) string {
	if d := s.actsOn(id).Policies.Delay; d > 0 {
		return fmt.Sprintf(" Tokens stop working within %s.", seconds(d.Seconds()))
	}
	return ""
}

func (s *acting) doRevoke(ctx context.Context, device schema.Device, how string) (did []string, err error) {
	if how != howNow && how != howAtExpiry {
		return nil, api.NewProblem(api.BadRequest, "Invalid request", "Choose what happens to the tokens of the device.")
	}
	_, _, locks, err := s.actsOn(device.ID).Lockout(ctx, []schema.Device{device})
	if err != nil {
		return nil, err
	}
	if locks && how == howNow {
		if err := api.PersonOf(ctx).May(schema.Admin); err != nil {
			return nil, err
		}
	}
	alone, err := s.actsOn(device.ID).AtExpiry(ctx, device)
	if err != nil {
		return nil, err
	}
	atExpiry := how == howAtExpiry || alone
	already, err := s.actsOn(device.ID).Revoke(ctx, actor(ctx), device, atExpiry)
	s.c.Model.Devices.Forget(string(device.ID))
	if err != nil && !errors.Is(err, access.ErrNoOutcome) {
		return nil, err
	}
	switch {
	case already:
		return []string{fmt.Sprintf("%s was revoked already: nothing has changed.", device.ID)}, err
	case atExpiry:
		return []string{fmt.Sprintf("%s is revoked: it gets no new token, and its last one expires", device.ID) +
			s.expiry(ctx, device) + "."}, err
	}
	said := fmt.Sprintf("%s is revoked: it gets no new token, and its tokens have ended.", device.ID)
	if until := admin.LastUnended(device); !until.IsZero() {
		said = fmt.Sprintf("%s is revoked: it gets no new token, and the last one that no revocation ends expires "+
			"at %s UTC.", device.ID, until.UTC().Format("2 Jan 15:04:05"))
	}
	return []string{said + s.delay(device.ID),
		capital(s.others(ctx, device, true)) + "."}, err
}

// expiry says when the last token of a revoked device expires, if one is valid.
func (s *acting) expiry(ctx context.Context, device schema.Device) string {
	if now, err := s.actsOn(device.ID).Device(ctx, device.ID); err == nil {
		device = now // it may have got a token just before
	}
	until := admin.LastExpiry(device)
	if until.IsZero() {
		return ""
	}
	return " at " + until.UTC().Format("2 Jan 15:04:05") + " UTC"
}

func (s *acting) restore(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.aboutDevice(r, "Restore", admin.RevokeAct, admin.RestoreAct)
	one.plan = func(_ context.Context, page *ActPage) error {
		if device.Status != schema.Revoked {
			page.Blocked = fmt.Sprintf("%s is not revoked: it can get tokens.", device.ID)
		}
		page.Will = []string{fmt.Sprintf("%s can get tokens again.", device.ID),
			"Tokens that a revocation has ended stay ended; others of it work again."}
		return nil
	}
	one.do = func(ctx context.Context, _ url.Values) ([]string, error) {
		already, err := s.actsOn(device.ID).Restore(ctx, actor(ctx), device)
		s.c.Model.Devices.Forget(string(device.ID))
		if already {
			return []string{fmt.Sprintf("%s was restored already: nothing has changed.", device.ID)}, err
		}
		return []string{fmt.Sprintf("%s can get tokens again.", device.ID)}, err
	}
	return one, err
}

func (s *acting) release(r *http.Request, _ api.None) (prepared, error) {
	one, device, err := s.aboutDevice(r, "Release", admin.ReleaseAct)
	one.plan = func(ctx context.Context, page *ActPage) error {
		held, err := s.held(ctx, device)
		for _, h := range held {
			page.Will = append(page.Will, fmt.Sprintf("The pipeline %s tries %s again in its next run. It has failed %s: %s",
				h.pipeline.Name, device.ID, plural(h.Attempts, "time"), h.Reason))
		}
		if len(held) == 0 {
			page.Blocked = fmt.Sprintf("No pipeline holds %s.", device.ID)
		}
		return err
	}
	one.do = func(ctx context.Context, _ url.Values) (did []string, err error) {
		defer s.c.Model.Devices.Forget(string(device.ID))
		held, err := s.held(ctx, device)
		for _, h := range held {
			was, errRelease := s.actsOn(device.ID).Release(ctx, actor(ctx), h.pipeline, device.Member().Place())
			if was {
				did = append(did, fmt.Sprintf("The pipeline %s tries %s again in its next run.", h.pipeline.Name, device.ID))
			}
			err = errors.Join(err, errRelease)
		}
		if len(did) == 0 && err == nil {
			did = []string{fmt.Sprintf("No pipeline holds %s any more: nothing has changed.", device.ID)}
		}
		return did, err
	}
	return one, err
}

// A hold is why a pipeline passes over a device.
type hold struct {
	pipeline admin.Pipeline
	schema.Track
}

// held returns the pipelines that hold a device now.
func (s *acting) held(ctx context.Context, device schema.Device) (held []hold, err error) {
	pipelines, err := s.actsOn(device.ID).Pipelines()
	for _, p := range pipelines {
		track, err := s.actsOn(device.ID).Track(ctx, p, device)
		if err != nil {
			return held, err
		}
		if track.Failing() {
			held = append(held, hold{p, track})
		}
	}
	return held, err
}
