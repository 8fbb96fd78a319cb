package retain

import (
	"iter"

	"furrow/tables/schema"
)

// activity yields acts: month after month, until one that all tenants keep.
func (s *tenantSweep) activity() iter.Seq2[Outdated, error] {
	return func(yield func(Outdated, error) bool) {
		if !s.any(func(k *Keep) bool { return k.Activity > 0 }) {
			return
		}
		for pk, err := range s.partitions(activityTable, following) {
			month, tenant, errKey := schema.ParseActPartition(pk)
			if err == nil && errKey != nil {
				continue
			}
			if err == nil && month >= s.now {
				return
			}
			to := s.before(tenant, activityTable, 0)
			if err == nil && month >= to {
				continue
			}
			if !each(yield, err, s.rows(Outdated{Tenant: tenant, Table: activityTable}, pk, schema.ActRows(0, to))) {
				return
			}
		}
	}
}
