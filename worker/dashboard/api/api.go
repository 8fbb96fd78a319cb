package api

import (
	_ "embed"
	"log/slog"
	"net/http"
	"time"

	"furrow/sas/access"
	"furrow/tables/schema"
	"furrow/tables/shares"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/model"
)

// An API serves the data of a model, and lets operators act on incidents.
type API struct {
	model    *model.Store
	acts     []admin.Fleet // by account
	activity access.Log
	log      *slog.Logger
	closing  chan struct{} // closed by Close

	questions, streams *shares.Shares
}

// New returns an API over m, what people can do, and the activity log.
func New(m *model.Store, acts []admin.Fleet, activity access.Log, log *slog.Logger) *API {
	return &API{model: m, acts: acts, activity: activity, log: log,
		closing: make(chan struct{}), questions: shares.New(maxQuestions, 1), streams: shares.New(maxStreams, 4)}
}

// Close ends all streams.
func (a *API) Close() { close(a.closing) }

// Fail answers a request with the problem that err stands for.
func (a *API) Fail(w http.ResponseWriter, r *http.Request, err error) {
	p := Report(w, r, err, a.log)
	body, err := answers.Marshal(p)
	if err != nil {
		panic(err) // a Problem has only strings and numbers
	}
	Write(w, r, p.Status, "application/problem+json", append(body, '\n'))
}

// Routes returns all routes. Each says what it costs in storage operations, which does not depend on the
// size of the fleet.
func (a *API) Routes() []Route {
	m := a.model
	return append(a.commandRoutes(), []Route{
		// An open map asks for these all the time. They cost nothing themselves: the poller reads for all.
		Take("/v1/map", data(func(r *http.Request, p Map) (model.Map, error) {
			return m.Maps.Map(r.Context(), p.Query())
		})),
		Take("/v1/stream", a.stream),
		Take("/v1/overview", data(func(r *http.Request, p model.Filter) (model.Overview, error) {
			return m.Maps.Overview(r.Context(), p)
		})),
		// Eight per thousand devices, shared for five minutes; at most about 120, and 22 for each tenant.
		Take("/v1/outliers", data(func(r *http.Request, p model.OutlierQuery) (model.OutlierList, error) {
			return m.Outliers.List(r.Context(), p)
		})),
		Take("/v1/sensors", data(func(r *http.Request, p OfTenant) (model.Sensors, error) {
			return m.Sensors.List(r.Context(), p.Tenant)
		})),
		Take("/v1/devices", a.devices),
		// About ten operations, shared by all requests within a few seconds.
		Take("/v1/devices/{id}", named(DeviceID, func(r *http.Request, id string, _ None) (model.DeviceAnswer, error) {
			return m.Devices.Device(r.Context(), id)
		})),
		// One operation every three seconds while it is open, and about three more while the device sends.
		Take("/v1/devices/{id}/stream", a.streamDevice),
		// One operation per day and per thousand points.
		Take("/v1/devices/{id}/series",
			named(DeviceID, func(r *http.Request, id string, p Chart) (model.Series, error) {
				return m.Charts.Series(r.Context(), p.Series(id, time.Now()))
			})),
		// One operation per thousand rows.
		Take("/v1/devices/{id}/readings", export(a, a.readings)),
		// One operation per thousand rows.
		Take("/v1/devices/{id}/gaps", export(a, a.gaps)),
		// For windows, one operation per day and per thousand rows of neighbouring devices.
		Take("/v1/query", export(a, a.query)),
		// One operation per device and thousand rows, and one for neighbouring devices.
		Take("/v1/readings", export(a, a.fleetReadings)),
		// For each tenant and partition of the fleet, one operation per period and per thousand rows, and one to find it.
		Take("/v1/reports", export(a, a.reports)),
		// One operation per pipeline and per thousand of the month's days of tenants; and for each tenant and partition of
		// the fleet one or two. Shared for five minutes.
		Take("/v1/costs", data(func(r *http.Request, q model.CostQuery) (cost.Costs, error) {
			if err := PersonOf(r.Context()).MaySeeTerms(); err != nil {
				return cost.Costs{}, err
			}
			return m.Costs.OfMonth(r.Context(), q)
		})),
		// One operation per thousand devices, at most a hundred of them; for a tenant two per month of deployment, too.
		// Shared for five minutes.
		Take("/v1/retention", data(func(r *http.Request, p OfTenant) (model.Retention, error) {
			if err := PersonOf(r.Context()).MaySeeTerms(); err != nil {
				return model.Retention{}, err
			}
			return m.Retentions.OfTenant(r.Context(), p.Tenant)
		})),
		// About nine operations per table, one per thousand of its files, and two per thousand files and days of the answer.
		// Shared for half a minute.
		Take("/v1/archive", data(func(r *http.Request, p Archive) (model.Archive, error) {
			return m.Archives.OfTenant(r.Context(), p.ArchiveQuery)
		})),
		// One operation per thousand files of the table.
		Take("/v1/archive/files",
			export(a, func(r *http.Request, p archiveFiles, f answers.Format) (model.Export, error) {
				p.Limit = limit(p.Limit, f)
				return m.Archives.Files(r.Context(), p.ArchiveFilesQuery)
			})),
		// One operation.
		Take("/v1/archive/file", a.archiveFile),
		// One operation, and one per thousand of the month's days of tenants. Shared for five minutes.
		Take("/v1/verify", data(func(r *http.Request, q model.MonthQuery) (model.Completeness, error) {
			return m.Verified.Completeness(r.Context(), q)
		})),
		// About five operations per pipeline.
		Take("/v1/pipelines", data(func(r *http.Request, _ None) (model.PipelinesAnswer, error) {
			return m.Pipelines.All(r.Context())
		})),
		// At most three operations per tenant.
		Take("/v1/tenants", data(func(r *http.Request, p Page) (model.TenantsAnswer, error) {
			return m.Tenants.List(r.Context(), p.After, p.Limit)
		})),
		// At most about forty operations.
		Take("/v1/tenants/{tenant}/day",
			named(Tenant, func(r *http.Request, tenant string, q model.DayQuery) (model.Series, error) {
				q.Tenant = tenant
				return m.Charts.Day(r.Context(), q)
			})),
		// About four operations for each partition of the fleet and at most 150 besides, shared for up to five minutes.
		Take("/v1/tenants/{tenant}/summary",
			named(Tenant, func(r *http.Request, tenant string, q model.SummaryQuery) (model.Summary, error) {
				q.Tenant = tenant
				return m.Reports.Summary(r.Context(), q)
			})),
		// None for incidents that are not closed: the poller reads for all. Otherwise two per month of deployment, and one
		// per thousand rows.
		Take("/v1/incidents", export(a, a.incidents)),
		// At most five operations.
		Take("/v1/incidents/{incident}", data(a.incident)),
		// For operators. Repeating them adds a note, and changes nothing else.
		Take("POST /v1/incidents/{incident}/ack", a.note(schema.Acknowledged)),
		Take("POST /v1/incidents/{incident}/note", a.note(schema.Noted)),
		// About one operation per month and thousand acts.
		Take("/v1/activity", data(func(r *http.Request, p Times) (Activity, error) {
			return ReadActs(r.Context(), a.activity, p)
		})),
		Take("/openapi.json", describe),
		Take(HealthPath, healthz),
	}...)
}

// data returns a handler that writes what read returns as JSON.
func data[Q, T any](read func(*http.Request, Q) (T, error)) func(http.ResponseWriter, *http.Request, Q) error {
	return func(w http.ResponseWriter, r *http.Request, p Q) error {
		v, err := read(r, p)
		if err != nil {
			return err
		}
		if counted, is := any(&v).(interface{ SetOperations(int) }); is {
			counted.SetOperations(model.ReadOf(r.Context()).Operations())
		}
		return writeJSON(w, r, v)
	}
}

// named returns a handler for a path that names a device or a tenant.
func named[Q, T any](
	name func(*http.Request) (string, error), read func(*http.Request, string, Q) (T, error),
) func(http.ResponseWriter, *http.Request, Q) error {
	return data(func(r *http.Request, p Q) (v T, err error) {
		id, err := name(r)
		if err == nil {
			v, err = read(r, id, p)
		}
		return v, err
	})
}

// DeviceID returns the device ID in the path.
func DeviceID(r *http.Request) (string, error) {
	id, err := inPath(r, "id", "a device", schema.ParseDeviceID)
	return string(id), err
}

// Tenant returns the tenant in the path.
func Tenant(r *http.Request) (string, error) {
	t, err := inPath(r, "tenant", "a tenant", schema.ParseTenant)
	return string(t), err
}

// IncidentID returns the incident in the path.
func IncidentID(r *http.Request) (schema.IncidentID, error) {
	return inPath(r, "incident", "an incident", schema.ParseIncidentID)
}

// inPath parses a part of the path.
func inPath[T any](r *http.Request, part, what string, parse func(string) (T, error)) (T, error) {
	named, err := parse(r.PathValue(part))
	if err != nil {
		return *new(T), badRequest("The path does not name " + what + ": " + err.Error() + ".")
	}
	return named, nil
}

// description is the OpenAPI document of all routes.
//
//go:embed openapi.json
var description []byte

func describe(w http.ResponseWriter, r *http.Request, _ None) error {
	writeTagged(w, r, description)
	return nil
}

// HealthPath is for process supervisors. It needs no secret and reads no storage.
const HealthPath = "/healthz"

func healthz(w http.ResponseWriter, r *http.Request, _ None) error {
	w.Header().Set("Cache-Control", "no-store")
	Write(w, r, http.StatusOK, "application/json", []byte("{\"status\":\"alive\"}\n"))
	return nil
}
