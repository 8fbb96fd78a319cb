package properties

import (
	"iter"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"furrow/tables/local/internal/wire"
)

// A rule permits origins to send some requests from a browser. Its lists are separated by commas.
type rule struct {
	AllowedOrigins string
	AllowedMethods string
	AllowedHeaders string
	ExposedHeaders string
	MaxAge         int `xml:"MaxAgeInSeconds"`
}

// items yields the items of a list.
func items(list string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for item := range strings.SplitSeq(list, ",") {
			if item = strings.TrimSpace(item); item != "" && !yield(item) {
				return
			}
		}
	}
}

// any reports whether the rule is for all origins.
func (r *rule) any() bool { return strings.TrimSpace(r.AllowedOrigins) == "*" }

// permits reports whether the rule is for an origin and a method. An origin is permitted by name, by *, or by a name
// such as https://*.example.com.
func (r *rule) permits(origin, method string) bool {
	found := false
	for allowed := range items(r.AllowedMethods) {
		found = found || allowed == method
	}
	if !found || r.any() {
		return found
	}
	for allowed := range items(r.AllowedOrigins) {
		before, after, wild := strings.Cut(allowed, "*")
		if origin == allowed || wild && len(origin) > len(before)+len(after) && strings.HasPrefix(origin, before) &&
			strings.HasSuffix(origin, after) {
			return true
		}
	}
	return false
}

// named reports whether a header is in a list, by its name or by the start of it, as in x-ms-meta-*.
func named(list, header string) bool {
	for allowed := range items(list) {
		start, prefix := strings.CutSuffix(allowed, "*")
		if strings.EqualFold(allowed, header) ||
			prefix && len(header) >= len(start) && strings.EqualFold(header[:len(start)], start) {
			return true
		}
	}
	return false
}

var (
	errHeader = &wire.Error{Status: http.StatusBadRequest, Code: "InvalidHeaderValue",
		Message: "A required CORS header is not present."}
	errPreflight = &wire.Error{Status: http.StatusForbidden, Code: "CorsPreflightFailure",
		Message: "CORS not enabled or no matching rule found for this request."}
)

// Preflight answers a browser that asks whether a page may send a request. Such a request has no signature.
func (k *Keeper) Preflight(w http.ResponseWriter, r *wire.Request) error {
	r.Operation = "Preflight Request"
	origin, method := r.Header.Get("Origin"), r.Header.Get("Access-Control-Request-Method")
	if origin == "" || method == "" {
		return errHeader
	}
	headers := r.Header.Get("Access-Control-Request-Headers")
	for _, one := range k.rules() {
		if !one.permits(origin, method) || !one.admits(headers) {
			continue
		}
		h := w.Header()
		wire.Set(h, "Access-Control-Allow-Origin", origin)
		wire.Set(h, "Access-Control-Allow-Methods", method)
		if headers != "" {
			wire.Set(h, "Access-Control-Allow-Headers", headers)
		}
		wire.Set(h, "Access-Control-Max-Age", strconv.Itoa(one.MaxAge))
		wire.Set(h, "Access-Control-Allow-Credentials", "true")
		wire.Set(h, "Vary", "Origin")
		return wire.Empty(w, http.StatusOK)
	}
	return errPreflight
}

func (r *rule) admits(headers string) bool {
	for header := range items(headers) {
		if !named(r.AllowedHeaders, header) {
			return false
		}
	}
	return true
}

// Writer returns w, or a writer that tells a browser which pages may read the answer to r.
func (k *Keeper) Writer(w http.ResponseWriter, r *http.Request) http.ResponseWriter {
	if len(k.rules()) == 0 || r.Method == http.MethodOptions {
		return w
	}
	return &writer{ResponseWriter: w, rules: k.rules(), origin: r.Header.Get("Origin"), method: r.Method}
}

// A writer sets the headers of CORS before others are sent, because they name some of them.
type writer struct {
	http.ResponseWriter
	rules          []rule
	origin, method string
	sent           bool
}

func (w *writer) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *writer) Write(p []byte) (int, error) {
	if !w.sent {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(p)
}

func (w *writer) WriteHeader(status int) {
	if !w.sent {
		w.sent = true
		w.set()
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *writer) set() {
	h := w.Header()
	var one *rule
	for i := range w.rules {
		if w.rules[i].permits(w.origin, w.method) {
			one = &w.rules[i]
			break
		}
	}
	if one != nil && one.any() {
		wire.Set(h, "Access-Control-Allow-Origin", "*")
	} else {
		wire.Set(h, "Vary", "Origin") // for caches: another origin gets another answer
		if one == nil {
			return
		}
		wire.Set(h, "Access-Control-Allow-Origin", w.origin)
		wire.Set(h, "Access-Control-Allow-Credentials", "true")
	}
	if exposed := one.exposed(h); exposed != "" {
		wire.Set(h, "Access-Control-Expose-Headers", exposed)
	}
}

// exposed returns the headers that a page may read: those that the rule names, and of the others in the answer those
// whose names begin as it says.
func (r *rule) exposed(h http.Header) string {
	var names []string
	for item := range items(r.ExposedHeaders) {
		if !strings.HasSuffix(item, "*") {
			names = append(names, item)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		same := func(other string) bool { return strings.EqualFold(other, name) }
		if named(r.ExposedHeaders, name) && !slices.ContainsFunc(names, same) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}
