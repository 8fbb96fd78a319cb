package web

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"strings"
	"time"

	"furrow/worker/answers"
	"furrow/worker/dashboard/api"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
)

// A seriesLine is a line of the file of a chart.
type seriesLine struct {
	Device string     `column:"device"`
	Sensor string     `column:"sensor"`
	Unit   string     `column:"unit"`
	Window string     `column:"window"`
	Time   time.Time  `column:"time,exact"`
	To     *time.Time `column:"to,exact"` // of a state
	Value  any        `column:"value"`    // a number, or a state
	Min    *float64   `column:"min"`
	Max    *float64   `column:"max"`
	Count  int64      `column:"count" json:",omitzero"`
}

// seriesCSV answers with the points of a chart, of the sensors drawn over it, and of another device.
func (s *Site) seriesCSV(w http.ResponseWriter, r *http.Request, p api.Compared) error {
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
	var lines []seriesLine
	for _, q := range all {
		series, err := s.c.Model.Charts.Series(r.Context(), q)
		if err != nil {
			return err
		}
		if series.More { // a saved file does not say so
			return api.NewProblem(api.BadRequest, "Too many points for a file",
				fmt.Sprintf("The chart shows some values of %s. Choose a shorter time or a longer window.", q.Sensor))
		}
		lines = append(lines, seriesLines(q.Device, series)...)
	}
	var b bytes.Buffer
	if _, err := answers.Write(&b, answers.CSV, query.Records(lines, nil)); err != nil {
		return err
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Disposition", fmt.Sprintf("attachment; filename=%q", strings.ReplaceAll(id, ":", "_")+".csv"))
	api.Write(w, r, http.StatusOK, answers.CSV.MediaType(), b.Bytes())
	return nil
}

func seriesLines(id string, s model.Series) (lines []seriesLine) {
	start := seriesLine{Device: id, Sensor: s.Sensor, Unit: s.Unit, Window: s.Window}
	for _, p := range s.Points {
		line := start
		line.Time, line.Value, line.Min, line.Max, line.Count = p.Time, cmp.Or(p.Value, p.Mean), p.Min, p.Max, p.Count
		lines = append(lines, line)
	}
	for _, p := range s.States {
		line := start
		line.Time, line.To, line.Value = p.From, &p.To, p.State
		lines = append(lines, line)
	}
	return lines
}
