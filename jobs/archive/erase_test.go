package archive

import (
	"testing"

	"furrow/jobs/fold"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"
)

func TestEraseDeletesEveryObjectOfOneDevice(t *testing.T) {
	t.Parallel()
	shelf := newShelf(t)
	s := shelf.store(t, nil)
	var others []fold.Output
	for _, m := range []schema.Member{{Tenant: "contoso", Device: "contoso:7"}, {Tenant: "contoso", Device: "contoso:70"},
		{Tenant: "contoso 2", Device: "contoso:7"}} {
		for _, day := range []string{"2026-11-20", "2026-11-21"} {
			parsed := must.Have(schema.ParseDay(day))(t)
			o := output(m, parsed)
			must.Succeed(t, s.Write(t.Context(), o.PartitionKey+"/"+o.RowKey, 1, each(some(1, 3, 10)...)))
			if m.Tenant != "contoso" || m.Device != "contoso:7" {
				others = append(others, o)
			}
		}
	}
	for _, want := range []int{2, 0} {
		if n, err := s.Erase(t.Context(), "contoso", "contoso:7"); err != nil || n != want {
			t.Errorf("%d objects deleted, %v; want %d", n, err, want)
		}
	}
	for _, o := range others {
		if found, err := s.look(t.Context(), o.PartitionKey+"/"+o.RowKey); err != nil || found == nil {
			t.Errorf("%s is gone: %v", o.RowKey, err)
		}
	}
}
