package dashboard

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"furrow/tables/azuretest/must"

	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// TestExampleOfTheReferenceWorks asks what the example asks, and reads the answer as it does.
func TestExampleOfTheReferenceWorks(t *testing.T) {
	text := must.Have(os.ReadFile("../../cmd/furrow/reference/pages.md"))(t)
	asked := regexp.MustCompile(`table\("http://localhost:\d+(/v1/query)", (.*)\)`).FindSubmatch(text)
	if asked == nil {
		t.Fatal("the reference has no example")
	}
	parameters := strings.NewReplacer(`"`, "", ", ", "&").Replace(string(asked[2]))
	f := newFixture(t, 4, Config{Loopback: true})
	f.run(t, 4)
	w := f.get(string(asked[1]) + "?format=arrow&" + parameters)
	r, err := ipc.NewReader(w.Body)
	if err != nil {
		t.Fatalf("%d %s: %v", w.Code, w.Body, err)
	}
	n := int64(0)
	for r.Next() {
		n += r.RecordBatch().NumRows()
	}
	for _, column := range []string{"time", "sensor", "device", "mean"} {
		if !r.Schema().HasField(column) {
			t.Errorf("there is no column %s", column)
		}
	}
	if n == 0 || r.Err() != nil {
		t.Errorf("%d rows, %v", n, r.Err())
	}
}
