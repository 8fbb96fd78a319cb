package dashboard

import (
	"bytes"
	"context"
	"crypto/subtle"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"furrow/sas/access"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/web"
)

// admit returns the request of a person who may make it, or says why not.
func (d *Dashboard) admit(w http.ResponseWriter, r *http.Request) (admitted *http.Request, end func(), err error) {
	if err := d.allowsMethod(w, r); err != nil {
		return r, nil, err
	}
	var who identity
	var person api.Person
	if !public(r.URL.Path) {
		if who, err = d.identify(r); err == nil && !who.known() {
			err = d.admitsAnybody(r)
		}
		if err != nil {
			return r, nil, challenging(w, err)
		}
		person = d.person(who)
	}
	r = r.WithContext(person.With(r.Context()))
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		if err := checkForm(w, r, person); err != nil {
			return r, nil, err
		}
	}
	r, end = d.whileHeld(r, who)
	return r, end, nil
}

// allowsMethod refuses a method that the address does not take.
func (d *Dashboard) allowsMethod(w http.ResponseWriter, r *http.Request) error {
	methods := d.methods(r)
	if len(methods) == 0 || slices.Contains(methods, r.Method) { // what there is not has no methods: it is not found
		return nil
	}
	allow := strings.Join(methods, ", ")
	w.Header().Set("Allow", allow)
	return api.NewProblem(api.MethodNotAllowed, "Method not allowed", "This address takes "+allow+".")
}

// methods returns those that the address of a request takes.
func (d *Dashboard) methods(r *http.Request) (all []string) {
	for _, method := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodDelete} {
		_, pattern := d.mux.Handler(&http.Request{Method: method, URL: r.URL, Host: r.Host})
		only, _, has := strings.Cut(pattern, " ")
		reads := method == http.MethodGet || method == http.MethodHead
		if has && only == method || !has && reads && pattern != "" && pattern != notFound {
			all = append(all, method)
		}
	}
	return all
}

// public reports whether an address has nothing of the fleet.
func public(path string) bool {
	return path == api.HealthPath || path == web.SignInPath || strings.HasPrefix(path, web.StaticPath)
}

// admitsAnybody returns a problem unless requests need not say who makes them.
func (d *Dashboard) admitsAnybody(r *http.Request) error {
	required, err := d.required(r.Context())
	switch {
	case err != nil:
		return err
	case required:
		return unauthorized("To see this dashboard, sign in with a token from furrow access add, or its password.")
	case !namesLoopback(r.Host):
		return api.NewProblem(api.WrongHost, "Wrong host name",
			"This dashboard serves only this machine, and the request names another host: use localhost or 127.0.0.1.")
	case !mayBeOurs(r):
		return api.NewProblem(api.Forbidden, "Sent from another site",
			"A page of another site made this request. Open the dashboard itself, at its own address.")
	}
	return nil
}

// mayBeOurs reports whether a request is not one that a page of another site makes: an image, a frame, a script. A
// browser would send it from this machine, which needs no sign-in. It may be a link to a page.
func mayBeOurs(r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document" {
		return r.Method == http.MethodGet || sameOrigin(r)
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "same-origin", "none":
		return true
	case "":
		return r.Header.Get("Origin") == "" || sameOrigin(r) // no browser, or an old one
	}
	return false
}

// challenging adds the header that a 401 must have. It does not name Basic, with which browsers ask in a window of
// their own before they show the page with the form.
func challenging(w http.ResponseWriter, err error) error {
	w.Header().Set("WWW-Authenticate", `Bearer realm="Furrow"`)
	return err
}

// Limits of a form: the bytes of its body, or of JSON, and its fields, which take many times their bytes of memory.
const (
	maxForm   = 64 << 10
	maxFields = 100
)

// checkForm refuses a form that another site sent, or that is not of one of this person's pages. A request with a
// bearer token is not from a browser.
func checkForm(w http.ResponseWriter, r *http.Request, p api.Person) error {
	if !p.Token && !sameOrigin(r) {
		return api.NewProblem(api.Forbidden, "Sent from another site",
			"The form was not sent from a page of this dashboard: open the page here, and send it again.")
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := parseForm(r); err != nil {
		return api.NewProblem(api.BadRequest, "Invalid request", "The form cannot be read: send it again.")
	}
	if r.URL.Path == web.SignInPath || p.Token {
		return nil
	}
	if p.Form == "" {
		return api.NewProblem(api.Forbidden, "Sign in to act",
			"To act from pages, sign in with a token from furrow access add.")
	}
	if subtle.ConstantTimeCompare([]byte(r.PostForm.Get(web.FormField)), []byte(p.Form)) != 1 {
		return api.NewProblem(api.Forbidden, "The page is too old",
			"You have signed in again since the page was opened: go back, reload it, and send the form again.")
	}
	return nil
}

// parseForm reads a form, and nothing of a body that is none.
func parseForm(r *http.Request) error {
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if kind == "application/x-www-form-urlencoded" {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return err
		}
		if bytes.Count(body, []byte{'&'}) >= maxFields {
			return errors.New("too many fields")
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	r.Form = url.Values{} // of the query, which routes read by themselves
	return r.ParseForm()
}

// sameOrigin reports whether a browser says that a page of this dashboard sent the request.
func sameOrigin(r *http.Request) bool {
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" {
		return site == "same-origin"
	}
	origin, err := url.Parse(r.Header.Get("Origin"))
	return err == nil && origin.Host != "" && strings.EqualFold(origin.Host, r.Host)
}

// whileHeld ends a request that lasts, such as a stream, with its session, and within access.Recent after its access
// ends.
func (d *Dashboard) whileHeld(r *http.Request, who identity) (*http.Request, func()) {
	if !who.known() {
		return r, func() {}
	}
	ctx, cancel := context.WithCancel(r.Context())
	if !who.ends.IsZero() {
		ctx, cancel = context.WithDeadline(r.Context(), who.ends)
	}
	go func() {
		ticks := time.NewTicker(access.Recent / 2) // what it looks at is as old at most
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
			case <-ctx.Done():
				return
			}
			if _, holds, err := d.still(ctx, who); err != nil || !holds {
				cancel()
			}
		}
	}()
	return r.WithContext(ctx), cancel
}

// namesLoopback reports whether a Host header names this machine by a loopback name or address. Any other
// host name that resolves here is a DNS-rebinding attack.
func namesLoopback(host string) bool {
	name, _, err := net.SplitHostPort(host)
	if err != nil {
		name = host
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	ip, err := netip.ParseAddr(name)
	return err == nil && ip.IsLoopback()
}
