// Package must ends tests at what they cannot do without.
package must

import "testing"

// Succeed ends the test on an error.
func Succeed(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Have is what a call that must succeed returns, as in must.Have(call())(t).
func Have[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		Succeed(t, err)
		return v
	}
}
