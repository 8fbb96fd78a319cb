package catalog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"furrow/tables/azuretest/effort"
	"furrow/tables/azuretest/must"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// A release is a transport of machines that run another release of Furrow: what it generates has other bytes. Versions
// are told in other JSON, checkpoints have another writer, and where the newest is stands in another order.
type release struct {
	t       testing.TB
	through policy.Transporter
}

var (
	versionBytes = regexp.MustCompile(`"Bytes0":"([A-Za-z0-9+/=]+)"`)
	lastFields   = regexp.MustCompile(`^\{("version":\d+),(.*)\}$`)
)

func (r release) Do(req *http.Request) (*http.Response, error) {
	if req.Body == nil || req.Method != http.MethodPost && req.Method != http.MethodPut {
		return r.through.Do(req)
	}
	body := must.Have(io.ReadAll(req.Body))(r.t)
	switch is := bytes.Clone(body); {
	case req.Method == http.MethodPost:
		body = versionBytes.ReplaceAllFunc(body, func(found []byte) []byte {
			return fmt.Appendf(nil, `"Bytes0":%q`, r.version(string(versionBytes.FindSubmatch(found)[1])))
		})
	case strings.HasSuffix(req.URL.Path, ".checkpoint.parquet"):
		if body = bytes.Replace(body, []byte("furrow version"), []byte("morrow version"), 1); bytes.Equal(body, is) {
			r.t.Error("a checkpoint does not say who has written it")
		}
	case strings.HasSuffix(req.URL.Path, "_last_checkpoint"):
		if body = lastFields.ReplaceAll(body, []byte("{$2,$1}")); bytes.Equal(body, is) {
			r.t.Errorf("what says where the newest checkpoint is begins with no version: %s", body)
		}
	}
	req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return r.through.Do(req)
}

// version returns the bytes of a version as the other release tells it.
func (r release) version(packed string) string {
	content := must.Have(gzip.NewReader(bytes.NewReader(must.Have(base64.StdEncoding.DecodeString(packed))(r.t))))(r.t)
	told := strings.ReplaceAll(string(must.Have(io.ReadAll(content))(r.t)), `"engineInfo":"Furrow"`,
		`"engineInfo":"Furrow of old", "notKnownToday":1`)
	if !strings.Contains(told, "of old") {
		r.t.Errorf("a version does not say who has written it: %s", told)
	}
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	must.Have(z.Write([]byte(told)))(r.t)
	must.Succeed(r.t, z.Close())
	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// elder returns a machine of another release, with the same transport.
func (m *machine) elder() *machine {
	return m.world.machine(m.t, release{m.t, m.world.through(m.asked)})
}

// TestTwoReleasesPublishOneLog: those of one stop at an operation, and those of the other act. They merge, take late
// rows and hours, publish and put checkpoints.
func TestTwoReleasesPublishOneLog(t *testing.T) {
	effort.Alone(t)
	t.Parallel()
	a := newAccount(t)
	acts := []string{"publish", "checkpoint", "merge", "late", "hour"}
	tried := 0
	for _, first := range acts {
		for _, second := range acts {
			for _, how := range []pause{before, after, lost} {
				for n, more := 0, true; more; n += effort.Step(23) {
					for _, elder := range []bool{false, true} {
						what := fmt.Sprintf("%s stops %s operation %d, then %s; the first is of another release: %v", first, how, n,
							second, elder)
						w := newWorld(t, a, fmt.Sprint("r", tried))
						tried++
						must.Succeed(t, (*machine).late(w.machine(t, nil).elder(), t.Context())) // and is not published
						one, two := actors[first], actors[second]
						if elder {
							one = older(one)
						} else {
							two = older(two)
						}
						if more = w.interleave(t, what, one, n, how, two); t.Failed() {
							t.FailNow()
						}
					}
				}
			}
		}
	}
	t.Logf("%d worlds", tried)
}

// older has a machine of another release act.
func older(does act) act {
	return func(m *machine, ctx context.Context) error { return does(m.elder(), ctx) }
}
