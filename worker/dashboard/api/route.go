package api

import "net/http"

// A Handler answers a request. When it returns an error, it has written nothing.
type Handler func(w http.ResponseWriter, r *http.Request, p Params) error

// A Route is a path and what serves it.
type Route struct {
	Pattern string   // as http.ServeMux takes it
	Params  []string // names that the query may have
	Handle  Handler
}

// Register adds routes to mux. fail answers requests whose query is invalid or whose handler fails.
func Register(mux *http.ServeMux, routes []Route, fail func(http.ResponseWriter, *http.Request, error)) {
	for _, route := range routes {
		mux.HandleFunc(route.Pattern, func(w http.ResponseWriter, r *http.Request) {
			params, err := ParseParams(r.URL.RawQuery, route.Params)
			if err == nil {
				err = route.Handle(w, r, params)
			}
			if err != nil {
				fail(w, r, err)
			}
		})
	}
}

// The parameters of addresses that the API and the pages have in common.

func FilterParams() []string {
	return []string{"tenant", "site", "label", "model", "text", "state", "where"}
}
func MapParams() []string     { return append(FilterParams(), "bbox", "zoom", "sensor") }
func OutlierParams() []string { return append(FilterParams(), "by", "limit") }
func SeriesParams() []string  { return []string{"sensor", "from", "to", "window", "span"} }
func ReadingsParams() []string {
	return []string{"from", "to", "span", "newest", "sensors", "where", "after", "limit", "format"}
}
func GapsParams() []string  { return []string{"from", "to", "span", "format"} }
func QueryParams() []string { return append(FleetReadingsParams(), "window") }
func FleetReadingsParams() []string {
	return append(FilterParams(), "prefix", "devices", "sensors", "from", "to", "span", "after", "limit", "format")
}
func ReportParams() []string {
	return []string{"tenant", "by", "site", "label", "sensors", "window", "from", "to", "span", "after", "limit", "format"}
}
func IncidentParams() []string {
	return []string{"state", "severity", "rule", "tenant", "site", "label", "model", "text", "where", "device",
		"from", "to", "span", "after", "limit"}
}
func CostParams() []string      { return []string{"tenant", "month", "window"} }
func RetentionParams() []string { return []string{"tenant"} }
func ArchiveParams() []string   { return []string{"tenant", "from", "to"} }
func ArchiveFilesParams() []string {
	return append(ArchiveParams(), "table", "after", "limit", "format")
}
func VerifyParams() []string  { return []string{"tenant", "month"} }
func DayParams() []string     { return []string{"sensor", "day"} }
func SummaryParams() []string { return append(DayParams(), "period", "by") }
func TenantsParams() []string { return []string{"after", "limit"} }
func ListParams() []string {
	return append(MapParams(), "prefix", "sort", "after", "limit")
}
