package azuretest

import (
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// Run checks every assumption on a. What it makes has names of its own and is
// removed again, so suites may run side by side on one account.
func Run(t *testing.T, a Account) {
	t.Run("Tables", func(t *testing.T) { tables(t, a) })
	t.Run("Queues", func(t *testing.T) { queues(t, a) })
	t.Run("Blobs", func(t *testing.T) { blobs(t, a) })
	t.Run("Protocol", func(t *testing.T) { protocol(t, a) })
}

// An assumption fails its test where a is not as Furrow takes Azure to be.
type assumption func(t *testing.T, a Account)

// check runs assumptions side by side, each as a test named after its function.
func check(t *testing.T, a Account, all ...assumption) {
	for _, f := range all {
		name := runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		t.Run(name[strings.LastIndexByte(name, '.')+1:], func(t *testing.T) {
			t.Parallel()
			f(t, a)
		})
	}
}

// A difference is what servers of one kind are known to give instead of what Azure gives.
type difference[V any] struct {
	kind  Kind
	gives V
	why   string
}

func differs[V any](kind Kind, gives V, why string) difference[V] {
	return difference[V]{kind, gives, why}
}

// expect compares what a gave with what Azure gives. A server with a known
// difference must still show it: when it no longer does, the test says so.
func expect[V comparable](t *testing.T, a Account, what string, got, azure V, known ...difference[V]) {
	t.Helper()
	if complaint := compare(a.Kind, got, azure, known); complaint != "" {
		t.Errorf("%s: %s", what, complaint)
	}
}

// compare says what is wrong with what a server of some kind gave; nothing when it is right.
func compare[V comparable](kind Kind, got, azure V, known []difference[V]) string {
	for _, d := range known {
		switch {
		case d.kind != kind:
		case got == d.gives:
			return ""
		case got == azure:
			return fmt.Sprintf("%v, as on Azure: take out the known difference of %s (%s)", got, d.kind, d.why)
		default:
			return fmt.Sprintf("%v; want %v, or on %s %v (%s)", got, azure, d.kind, d.gives, d.why)
		}
	}
	if got != azure {
		return fmt.Sprintf("%v; want %v", got, azure)
	}
	return ""
}

// unauthenticated expects that a request to tables was refused for its
// signature, its date, or its token's.
func unauthenticated(t *testing.T, a Account, what string, err error) {
	t.Helper()
	expect(t, a, what, answer(err), "403 AuthenticationFailed",
		differs(Azurite, "403 AuthorizationFailure", "has one code for every refusal of its tables"))
}

// answer is an SDK call's outcome in short: "ok", or "404 ResourceNotFound".
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

// status is the HTTP status of an SDK call that was refused, and 0 of any other.
func status(err error) int {
	if re, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return re.StatusCode
	}
	return 0
}
