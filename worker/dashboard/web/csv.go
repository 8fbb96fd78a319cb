package web

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
)

// maxCSVRows limits the devices of a file: a larger fleet is read with the API.
const maxCSVRows = 100_000

// listCSV answers with all pages of a list, as far as the limit. It takes no storage operations of its own.
func (s *Site) listCSV(w http.ResponseWriter, r *http.Request, p api.Params) error {
	end, err := s.c.Question(api.PersonOf(r.Context()))
	if err != nil {
		return err
	}
	defer end()
	s.known(r, &p)
	rows := [][]string{{"device", "state", "sensor", "unit", "value", "time", "tenant", "site", "labels", "lat", "lon"}}
	q := p.ListQuery
	q.Limit = model.MaxListed
	for len(rows) <= maxCSVRows {
		list, err := s.c.Model.Lists.Devices(r.Context(), q)
		if err != nil {
			return err
		}
		for _, d := range list.Devices {
			rows = append(rows, []string{d.Device, string(d.State), list.Sensor, list.Unit, cell(d.Value), moment(d.Time),
				answers.Harmless(d.Tenant), answers.Harmless(d.Site), answers.Harmless(labels(d.Labels)), cell(d.Lat), cell(d.Lon)})
		}
		if q.After = list.Next; q.After == "" {
			break
		}
	}
	return writeCSV(w, r, "devices", rows)
}

// seriesCSV answers with the points of a chart, of the sensors drawn over it, and of another device.
func (s *Site) seriesCSV(w http.ResponseWriter, r *http.Request, p api.Params) error {
	id, err := api.DeviceID(r)
	if err != nil {
		return err
	}
	now := time.Now()
	all := []model.SeriesQuery{p.Series(id, now)}
	for _, sensor := range p.With {
		q := all[0]
		q.Sensor = sensor
		all = append(all, q)
	}
	if p.Against != "" {
		all = append(all, p.Series(p.Against, now))
	}
	rows := [][]string{{"device", "sensor", "unit", "window", "time", "to", "value", "min", "max", "count"}}
	for _, q := range all {
		series, err := s.c.Model.Charts.Series(r.Context(), q)
		if err != nil {
			return err
		}
		rows = append(rows, seriesCells(q.Device, series)...)
	}
	return writeCSV(w, r, id, rows)
}

func seriesCells(id string, s model.Series) (rows [][]string) {
	start := []string{id, s.Sensor, s.Unit, s.Window}
	for _, p := range s.Points {
		value := p.Value
		if value == nil {
			value = p.Mean
		}
		count := ""
		if p.Count > 0 {
			count = strconv.FormatInt(p.Count, 10)
		}
		rows = append(rows, append(start[:4:4], moment(&p.Time), "", cell(value), cell(p.Min), cell(p.Max), count))
	}
	for _, p := range s.States {
		rows = append(rows, append(start[:4:4], moment(&p.From), moment(&p.To), cell(p.State), "", "", ""))
	}
	return rows
}

// cell formats a value exactly.
func cell(v any) string {
	switch v := v.(type) {
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case *float64:
		if v != nil {
			return cell(*v)
		}
	case string:
		return answers.Harmless(v)
	}
	return ""
}

func moment(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func writeCSV(w http.ResponseWriter, r *http.Request, name string, rows [][]string) error {
	var b bytes.Buffer
	if err := csv.NewWriter(&b).WriteAll(rows); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", strings.ReplaceAll(name, ":",
		"_")+".csv"))
	api.Write(w, r, http.StatusOK, "text/csv; charset=utf-8", b.Bytes())
	return nil
}
