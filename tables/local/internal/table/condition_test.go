package table

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
)

// A condition is a weak entity tag or a star. A strong tag or other text is refused.
func TestConditionIsAWeakETag(t *testing.T) {
	s := open(t, "a")
	for match, want := range map[string]string{
		`W/"other"`: "412 UpdateConditionNotSatisfied", `w/"other"`: "412 UpdateConditionNotSatisfied",
		`W/"datetime'2015-01-01T23%3A14%3A33.498Z'"`: "412 UpdateConditionNotSatisfied",
		`"other"`: "400 InvalidInput", `other`: "400 InvalidInput", `"`: "400 InvalidInput",
		`W/"a", W/"b"`: "400 InvalidInput",
		`*`:            "204 ",
	} {
		for _, method := range []string{"PUT", "PATCH", "MERGE"} {
			w := send(t, s, method, "/furrow/rows(PartitionKey='a',RowKey='01')", `{"n":1}`,
				http.Header{"If-Match": {match}})
			if got := strconv.Itoa(w.Code) + " " + strings.Join(w.Header()["x-ms-error-code"], ""); got != want {
				t.Errorf("%s, If-Match: %s: %s, want %s", method, match, got, want)
			}
		}
	}
}
