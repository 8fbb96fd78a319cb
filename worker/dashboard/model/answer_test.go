package model

import (
	"testing"

	"furrow/tables/schema"
)

func TestTokensThatARevocationEndedAreShownAsEnded(t *testing.T) {
	policies := schema.Policies{Cohorts: [schema.Cohorts]schema.Policy{{ID: "current"}}}
	device := schema.Device{ID: "pump-7", Tokens: []schema.Token{{Policy: "replaced"}, {Policy: "current"}}}
	r := recordOf(owner{record: &device, member: device.Member(), policies: &policies}, true)
	if len(r.Tokens) != 2 || !r.Tokens[0].Ended || r.Tokens[1].Ended {
		t.Errorf("the tokens are %+v", r.Tokens)
	}
}
