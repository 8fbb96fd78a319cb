package config

import (
	"testing"

	"furrow/tables/azuretest/must"
)

func TestMatchIsDescribedInWords(t *testing.T) {
	const base = "pipelines: [{name: live, processors: [latest]}]\nmodels:\n  m: {match: {"
	for match, want := range map[string]string{
		`device: "contoso:oven-1"`: "device contoso:oven-1",
		`tenant: [contoso, fabrikam], labels.class: "Deep fryer, large", site: s`: `labels.class "Deep fryer, large", ` +
			"site s, tenant contoso or fabrikam",
		`labels.x: 'say "a"'`: `labels.x "say \"a\""`,
	} {
		c := must.Have(Parse("test", []byte(base+match+"}}\n")))(t)
		if got := c.Models[0].MatchText(); got != want {
			t.Errorf("%s is described as %s, and should be as %s", match, got, want)
		}
	}
}
