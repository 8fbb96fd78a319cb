package api

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"furrow/sas/access"
	"furrow/tables"
	"furrow/tables/commands"
	"furrow/tables/schema"
	"furrow/worker/admin"
	"furrow/worker/answers"
	"furrow/worker/dashboard/model"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Commands is the answer of /v1/devices/{id}/commands.
type Commands struct {
	Device   string            `json:"device"`   // ID of the device
	Waiting  int               `json:"waiting"`  // how many the device has neither taken nor missed
	Commands []answers.Command `json:"commands"` // the newest first
	// the configuration that the device is to have, if one is set
	Desired *answers.Command `json:"desired,omitempty"`
}

// CommandsOf returns the commands of a device as answers have them.
func CommandsOf(device string, all commands.All) Commands {
	answer := Commands{Device: device, Waiting: all.Waiting(), Commands: []answers.Command{}}
	for _, c := range slices.Backward(all.Commands) {
		answer.Commands = append(answer.Commands, answers.CommandOf(c, all.Now))
	}
	if all.Desired != nil {
		answer.Desired = new(answers.CommandOf(*all.Desired, all.Now))
	}
	return answer
}

// A NewCommand is the body with which a command is sent.
type NewCommand struct {
	Body jsontext.Value `json:"body"`
	TTL  string         `json:"ttl"` // such as 10m; empty: an hour
}

// commandRoutes returns the routes of what devices are told. Reading costs an operation, and sending about five.
func (a *API) commandRoutes() []Route {
	return []Route{
		Take("/v1/devices/{id}/commands", a.told(schema.Viewer, a.listCommands)),
		Take("POST /v1/devices/{id}/commands", a.told(schema.Operator, a.sendCommand)),
		Take("DELETE /v1/devices/{id}/commands/{command}", a.told(schema.Operator, a.cancelCommand)),
		Take("/v1/devices/{id}/desired", a.told(schema.Viewer, a.readDesired)),
		Take("PUT /v1/devices/{id}/desired", a.told(schema.Operator, a.setDesired)),
	}
}

// told returns a handler about what the device in the path is told, for who may see the device and has a role.
func (a *API) told(
	needs schema.Role, handle func(http.ResponseWriter, *http.Request, schema.Device, admin.Actor) error,
) func(http.ResponseWriter, *http.Request, None) error {
	return func(w http.ResponseWriter, r *http.Request, _ None) error {
		d, err := a.deviceFor(r, needs)
		if err != nil {
			return err
		}
		return handle(w, r, d, actor(PersonOf(r.Context())))
	}
}

// actsOn returns what people can do with a device.
func (a *API) actsOn(id schema.DeviceID) admin.Fleet { return a.acts[a.model.Accounts.NumberOf(id)] }

// deviceFor returns the record of the device in the path, if the person may see it and has a role.
func (a *API) deviceFor(r *http.Request, needs schema.Role) (d schema.Device, err error) {
	id, err := DeviceID(r)
	if err != nil {
		return d, err
	}
	if err = a.model.Owners.Check(r.Context(), id); err != nil {
		return d, err
	}
	person := PersonOf(r.Context())
	if needs != schema.Viewer {
		if err := person.May(needs); err != nil {
			return d, err
		}
	}
	d, err = a.actsOn(schema.DeviceID(id)).Device(r.Context(), schema.DeviceID(id))
	if errors.Is(err, tables.ErrNotFound) {
		err = fmt.Errorf("device %s: %w", id, model.ErrUnknown)
	}
	if err == nil && person.Tenant != "" && d.Tenant != person.Tenant {
		err = fmt.Errorf("device %s: %w", id, model.ErrUnknown)
	}
	return d, err
}

func (a *API) listCommands(w http.ResponseWriter, r *http.Request, d schema.Device, _ admin.Actor) error {
	all, err := a.model.Devices.CommandsNow(r.Context(), string(d.ID))
	if err != nil {
		return err
	}
	return writeJSON(w, r, CommandsOf(string(d.ID), all))
}

func (a *API) sendCommand(w http.ResponseWriter, r *http.Request, d schema.Device, by admin.Actor) error {
	text, err := jsonBody(w, r)
	if err != nil {
		return err
	}
	said := NewCommand{TTL: "1h"}
	if err := json.Unmarshal(text, &said, json.RejectUnknownMembers(true)); err != nil || len(said.Body) == 0 {
		return badRequest(`The body is not a command: send {"body": what the device is told, "ttl": "10m"}.`)
	}
	ttl, err := schema.ParseDuration(said.TTL)
	if err == nil {
		err = schema.CheckCommandLife(ttl)
	}
	if err == nil {
		err = schema.CheckCommandBody(string(said.Body))
	}
	if err != nil {
		return badRequest("Invalid command: " + err.Error() + ".")
	}
	sent, err := a.actsOn(d.ID).SendCommand(r.Context(), by, d, string(said.Body), ttl)
	return a.actedOn(w, r, commands.Command{Command: sent}, err)
}

func (a *API) cancelCommand(w http.ResponseWriter, r *http.Request, d schema.Device, by admin.Actor) error {
	id, err := inPath(r, "command", "a command", schema.ParseCommandID)
	if err != nil {
		return err
	}
	if err := a.model.Devices.CheckCommand(r.Context(), string(d.ID), id); err != nil {
		return a.actedOn(w, r, commands.Command{}, err)
	}
	canceled, err := a.actsOn(d.ID).CancelCommand(r.Context(), by, d, id)
	return a.actedOn(w, r, canceled, err)
}

func (a *API) readDesired(w http.ResponseWriter, r *http.Request, d schema.Device, _ admin.Actor) error {
	all, err := a.model.Devices.CommandsNow(r.Context(), string(d.ID))
	if err != nil {
		return err
	}
	if all.Desired == nil {
		return NewProblem(NotFound, "No configuration", "No configuration is set for the device: PUT sets one.")
	}
	return writeJSON(w, r, answers.CommandOf(*all.Desired, all.Now))
}

func (a *API) setDesired(w http.ResponseWriter, r *http.Request, d schema.Device, by admin.Actor) error {
	text, err := jsonBody(w, r)
	if err != nil {
		return err
	}
	if err := schema.CheckCommandBody(string(text)); err != nil {
		return badRequest("Invalid configuration: " + err.Error() + ".")
	}
	set, err := a.actsOn(d.ID).SetDesired(r.Context(), by, d, string(text))
	return a.actedOn(w, r, commands.Command{Command: set}, err)
}

// actedOn answers with what an act has changed, or says why it was not done.
func (a *API) actedOn(w http.ResponseWriter, r *http.Request, c commands.Command, err error) error {
	if errors.Is(err, tables.ErrNotFound) {
		return NewProblem(NotFound, "Command not found", "The device has no such command.")
	}
	if err != nil && !errors.Is(err, access.ErrNoOutcome) {
		return err
	}
	return writeJSON(w, r, answers.CommandOf(c, tables.TicksOf(time.Now())))
}

// jsonBody reads a body of JSON.
func jsonBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	const most = schema.MaxCommandBody + 1<<10
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, badRequest("Send JSON, with Content-Type: application/json.")
	}
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	if err != nil {
		return nil, badRequest(fmt.Sprintf("The body cannot be read: it may have %d bytes.", most))
	}
	return text, nil
}
