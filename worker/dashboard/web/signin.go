package web

import (
	"net/http"

	"furrow/worker/dashboard/api"
)

// Addresses of signing in and out, and the name of the field that every other form has.
const (
	SignInPath  = "/sign-in"
	SignOutPath = "/sign-out"
	FormField   = "form"
)

// A SignInPage asks for a token or password.
type SignInPage struct {
	foot
	To     string // address to show afterwards
	Reason string // why the last try failed; may be empty
}

// SignIn answers with the page that asks for a token or password.
func (s *Site) SignIn(w http.ResponseWriter, r *http.Request, status int, to, reason string) {
	w.Header().Set("Vary", "Cookie")
	r = r.WithContext(api.Person{}.With(r.Context()))
	s.show(w, r, status, &SignInPage{To: to, Reason: reason})
}
