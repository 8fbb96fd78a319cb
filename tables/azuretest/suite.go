package azuretest

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// The assumptions about each service, and about all three, are the exported
// methods of these types. Those of waits let time pass.
type (
	tables   struct{}
	queues   struct{}
	blobs    struct{}
	protocol struct{}
	waits    struct{}
)

// Run checks every assumption against a. Everything it creates has a unique name
// and is removed afterwards, so several runs can share one account.
func Run(t *testing.T, a Account) {
	for _, group := range []any{tables{}, queues{}, blobs{}, protocol{}, waits{}} {
		v := reflect.ValueOf(group)
		t.Run(v.Type().Name(), func(t *testing.T) {
			for name, method := range v.Methods() {
				t.Run(name.Name, func(t *testing.T) {
					if group != (waits{}) || a.Clock == nil { // an advance of the clock would end the leases of others
						t.Parallel()
					}
					method.Interface().(func(*testing.T, Account))(t, a)
				})
			}
		})
	}
}

// A difference is a known answer of one kind of server that differs from Azure's.
type difference[V any] struct {
	kind  Kind
	gives V
	why   string
}

func differs[V any](kind Kind, gives V, why string) difference[V] {
	return difference[V]{kind, gives, why}
}

// expect compares a result with that of Azure. A server with a known difference must
// still show it; otherwise the test fails, so that the difference gets removed.
func expect[V comparable](t *testing.T, a Account, what string, got, azure V, known ...difference[V]) {
	t.Helper()
	if complaint := compare(a.Kind, got, azure, known); complaint != "" {
		t.Errorf("%s: %s", what, complaint)
	}
}

// compare returns what is wrong with a result, empty if nothing is.
func compare[V comparable](kind Kind, got, azure V, known []difference[V]) string {
	for _, d := range known {
		switch {
		case d.kind != kind:
		case got == d.gives:
			return ""
		case got == azure:
			return fmt.Sprintf("%v, as on Azure: remove the known difference of %s (%s)", got, d.kind, d.why)
		default:
			return fmt.Sprintf("%v; want %v, or on %s %v (%s)", got, azure, d.kind, d.gives, d.why)
		}
	}
	if got != azure {
		return fmt.Sprintf("%v; want %v", got, azure)
	}
	return ""
}

// unauthenticated expects that a request to tables was refused because of its
// signature, its date or its SAS.
func unauthenticated(t *testing.T, a Account, what string, err error) {
	t.Helper()
	expect(t, a, what, answer(err), "403 AuthenticationFailed",
		differs(Azurite, "403 AuthorizationFailure", "has one code for every refusal of its tables"))
}

// answer is the outcome of an SDK call: "ok", or for example "404 ResourceNotFound".
func answer(err error) string {
	var re *azcore.ResponseError
	switch {
	case err == nil:
		return "ok"
	case !errors.As(err, &re):
		return err.Error()
	case re.StatusCode == 202: // a transaction that failed
		return transactionFailure(re).answer
	}
	return strings.TrimSpace(fmt.Sprintf("%d %s", re.StatusCode, re.ErrorCode))
}

// errOf, outcome and refusal return the error of a call, its answer and its status.
func errOf[V any](_ V, err error) error    { return err }
func outcome[V any](_ V, err error) string { return answer(err) }
func refusal[V any](_ V, err error) int    { return status(err) }

// value returns the result of a call that must succeed, as in value(call())(t).
func value[V any](v V, err error) func(testing.TB) V {
	return func(t testing.TB) V {
		t.Helper()
		must(t, err)
		return v
	}
}

// status is the HTTP status of a refused SDK call, otherwise 0.
func status(err error) int {
	if re, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return re.StatusCode
	}
	return 0
}
