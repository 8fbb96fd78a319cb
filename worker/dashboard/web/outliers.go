package web

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"furrow/worker/dashboard/model"
)

// An OutliersPage lists the devices that stand out. It takes the parameters of /v1/outliers.
type OutliersPage struct {
	foot
	Query   model.OutlierQuery
	Tenants []string
	List    model.OutlierList
}

func (s *Site) outliersPage(r *http.Request, q model.OutlierQuery) (Page, error) {
	q.Limit = cmp.Or(q.Limit, model.MaxListed)
	list, err := s.c.Model.Outliers.List(r.Context(), q)
	return &OutliersPage{Query: q, Tenants: s.c.Model.Tenants.Names(r.Context()), List: list}, err
}

func (p OutliersPage) Form() Form {
	by := Field{Name: "by", Label: "Groups by", Value: string(p.Query.By), Type: "text", Hint: "labels.class",
		Choice: true}
	return p.form(Form{Path: "/outliers", Button: "Filter", Links: []Option{{p.MapAddress(), "On the map"}},
		Fields: append(deviceFields(p.Query.Filter, stateOf(p.Query.Filter), p.Tenants), by)})
}

func (p OutliersPage) Filtered() bool { return p.Query.Filter != (model.Filter{}) }

// Address returns the address of the list with some parameters changed: names and values in turn.
func (p OutliersPage) Address(changes ...string) string {
	q := filterQuery(p.Query.Filter)
	q.Set("by", string(p.Query.By))
	return address("/outliers", q, changes...)
}

func (p OutliersPage) ListAddress() string { return address("/devices", filterQuery(p.Query.Filter)) }

func (p OutliersPage) MapAddress() string { return address("/", filterQuery(p.Query.Filter)) }

// More returns how many devices stand out that the page does not show.
func (p OutliersPage) More() int { return p.List.Total - len(p.List.Rows) }

// OutliersOf returns the address of all devices that stand out of those that the page is about.
func (p MapPage) OutliersOf() string { return address("/outliers", filterQuery(p.Filter), "state", "") }

// How many devices that stand out the overview shows, and how long it waits for them: the first look of some minutes
// reads from storage.
const (
	shownOutliers = 10
	outliersWait  = 300 * time.Millisecond
)

// firstOutliers returns the most urgent ones; none where that takes long, and the next look has them.
func (s *Site) firstOutliers(ctx context.Context, f model.Filter) model.OutlierList {
	found := make(chan model.OutlierList, 1)
	go func() {
		ctx, _ := model.Reading(ctx) // they may be older than the rest of the page
		list, err := s.c.Model.Outliers.List(ctx, model.OutlierQuery{Filter: f, Limit: shownOutliers})
		if err != nil && ctx.Err() == nil {
			s.c.Log.Warn("devices that stand out cannot be read", "error", err)
		}
		found <- list
	}()
	select {
	case list := <-found:
		return list
	case <-time.After(outliersWait):
		return model.OutlierList{}
	}
}
