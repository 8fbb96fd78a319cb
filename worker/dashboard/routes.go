package dashboard

import "strings"

// A route is a path, what its query may ask for, and what it does.
type route struct {
	pattern string // of http.ServeMux
	asks    []string
	page    bool // its answers are pages; else they are data
	serve   func(*Dashboard, *exchange) error
}

// What routes can be asked for, by the names in their queries.
func mapAsks() []string { return []string{"bbox", "zoom", "sensor", "tenant"} }
func listAsks() []string {
	return []string{"tenant", "site", "prefix", "state", "sort", "sensor", "after", "limit", "bbox", "zoom"}
}
func seriesAsks() []string { return []string{"sensor", "from", "to", "window", "span"} }
func dayAsks() []string    { return []string{"sensor", "day"} }

// routes are the operator's manual. All are for reading, and cost what they say in
// operations of storage, whatever the size of the fleet.
func routes() []route {
	return []route{
		// The map asks these: when it moves, and for as long as it is open. They cost
		// nothing; what is in memory is read for all of them together.
		{"/v1/map", mapAsks(), false, (*Dashboard).worldData},
		{"/v1/stream", mapAsks(), false, (*Dashboard).stream},
		{"/v1/sensors", []string{"tenant"}, false, (*Dashboard).sensors},
		{"/v1/devices", listAsks(), false, (*Dashboard).listData},
		// Some ten operations, shared by all who ask within a few seconds.
		{"/v1/devices/{id}", nil, false, (*Dashboard).deviceData},
		// One for each day, and each thousand points.
		{"/v1/devices/{id}/series", seriesAsks(), false, (*Dashboard).seriesData},
		// A handful for each pipeline.
		{"/v1/pipelines", nil, false, (*Dashboard).pipelinesData},
		// Three for each tenant at most.
		{"/v1/tenants", []string{"after", "limit"}, false, (*Dashboard).tenantsData},
		// Some forty at most.
		{"/v1/tenants/{tenant}/day", dayAsks(), false, (*Dashboard).dayData},
		// Whoever writes a client asks, once.
		{"/openapi.json", nil, false, (*Dashboard).openAPI},
		// Supervisors ask whether to restart the process. It asks nothing of storage.
		{"/healthz", nil, false, (*Dashboard).healthz},

		// People.
		{"/{$}", append(mapAsks(), "after", "limit"), true, (*Dashboard).world},
		{"/devices", listAsks(), true, (*Dashboard).list},
		{"/devices/{id}", seriesAsks(), true, (*Dashboard).device},
		{"/pipelines", nil, true, (*Dashboard).pipelines},
		{"/tenants", []string{"after", "limit"}, true, (*Dashboard).tenants},
		{"/tenants/{tenant}", dayAsks(), true, (*Dashboard).tenant},
	}
}

// isData tells the paths whose answers programs read, errors included.
func isData(path string) bool {
	return strings.HasPrefix(path, "/v1/") || path == "/openapi.json" || path == "/healthz"
}
