package dashboard

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"furrow/tables/azuretest/apiclients"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
	"furrow/worker/answers"
)

// TestGeneratedClientsReadEveryAnswer tries clients that have been made of the document: .ci/long openapi makes them.
func TestGeneratedClientsReadEveryAnswer(t *testing.T) {
	clients := os.Getenv("FURROW_API_CLIENTS")
	if clients == "" {
		t.Skip("FURROW_API_CLIENTS names a folder of generated clients")
	}
	g := newGuarded(t, 4, Config{Loopback: true})
	g.withCommands(t, "d0000", "d0001", "d0002", "d0003")
	g.run(t, 4)
	operator := g.add(t, "olga", schema.Operator, "")
	now := time.Now().UTC()
	incident := g.Opens(t, "hot", "d0000", now.Add(-5*time.Minute), "critical").ID.String()
	g.Closes(t, g.Opens(t, "silent", "d0002", now.Add(-time.Hour), "warning"), now.Add(-time.Minute))
	const device = "d0000"
	document := g.get("/openapi.json", "Authorization", "Bearer "+operator).Body.Bytes()
	apiclients.Try(t, document, clients, "Bearer "+operator, g,
		func() map[string]apiclients.Arguments {
			var sent answers.Command
			w := g.tells("POST", "/v1/devices/"+device+"/commands", operator, `{"body":{"n":3000000019},"ttl":"10m"}`)
			must.Succeed(t, json.Unmarshal(w.Body.Bytes(), &sent))
			g.tells("PUT", "/v1/devices/"+device+"/desired", operator, `{"limit":180}`)
			type params = map[string]any
			return map[string]apiclients.Arguments{
				"map":     {Params: params{"bbox": "-180,-90,180,90", "zoom": 2.5, "sensor": "temperature"}},
				"stream":  {Params: params{"bbox": "-180,-90,180,90", "zoom": 2}},
				"devices": {Params: params{"limit": 2, "sort": "value", "sensor": "temperature"}},
				"device":  {Params: params{"id": device}},
				"series": {Params: params{"id": device, "sensor": "temperature", "window": "raw",
					"from": now.Add(-4 * time.Hour).Format(time.RFC3339)}},
				"readings":      {Params: params{"id": device, "newest": 3, "sensors": "temperature,door"}},
				"gaps":          {Params: params{"id": device, "span": "24h"}},
				"query":         {Params: params{"window": "1h", "span": "6h", "where": "temperature >= 0"}},
				"reports":       {Params: params{"by": "site", "window": "1h", "span": "24h", "limit": 5}},
				"outliers":      {Params: params{"tenant": "contoso", "limit": 5}},
				"fleetReadings": {Params: params{"tenant": "contoso", "span": "1h", "limit": 5}},
				"archiveFiles":  {Params: params{"tenant": "contoso"}},
				"archive":       {Params: params{"tenant": "contoso"}},
				"verify":        {Params: params{"month": now.Format("2006-01")}},
				"tenants":       {Params: params{"limit": 1}},
				"day":           {Params: params{"tenant": "contoso", "sensor": "temperature", "day": now.Format(time.DateOnly)}},
				"tenantSummary": {Params: params{"tenant": "contoso", "sensor": "temperature", "period": "week"}},
				"incidents":     {Params: params{"state": "open,acknowledged,closed", "span": "24h"}},
				"incident":      {Params: params{"incident": incident}},
				"ackIncident":   {Params: params{"incident": incident}, Body: params{"text": "auf dem Weg: 25 °C"}},
				"noteIncident":  {Params: params{"incident": incident}, Body: params{"text": "done"}},
				"activity":      {Params: params{"from": "-2h"}},
				"commands":      {Params: params{"id": device}},
				"sendCommand":   {Params: params{"id": device}, Body: params{"body": params{"heater": "off"}, "ttl": "10m"}},
				"cancelCommand": {Params: params{"id": device, "command": sent.ID}},
				"desired":       {Params: params{"id": device}},
				"setDesired":    {Params: params{"id": device}, Body: params{"limit": 180}},
				"deviceStream":  {Params: params{"id": device}},
			}
		})
}
