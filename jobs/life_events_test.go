package jobs_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"furrow/jobs"
	"furrow/jobs/jobstest"
	"furrow/jobs/refold"
	"furrow/sas"
	"furrow/tables"
	"furrow/tables/azuretest/faults"
	"furrow/tables/azuretest/must"
	"furrow/tables/schema"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
)

// ghost has a worker send its last request and die. That arrives half an hour later, after the settings have changed
// and everything is folded again.
func (l *weeks) ghost() {
	l.pass(12 * time.Hour)
	var sent *http.Request
	ctx, kill := context.WithCancel(l.t.Context())
	defer kill()
	p := l.pipelines(l.by(faults.Func(func(r *http.Request) (*http.Response, error) {
		if sent == nil && r.Body != nil && strings.HasSuffix(r.URL.Path, "$batch") {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				return nil, err
			}
			if r.Body = io.NopCloser(bytes.NewReader(body)); bytes.Contains(body, []byte("rollups(")) ||
				bytes.Contains(body, []byte("rollups HTTP")) {
				sent = r.Clone(context.WithoutCancel(r.Context()))
				sent.Body = io.NopCloser(bytes.NewReader(body))
				kill()
				return nil, context.Canceled
			}
		}
		return http.DefaultClient.Do(r)
	})))[0]
	if _ = l.run(ctx, p, ""); sent == nil {
		return
	}
	l.settings["live"]++
	l.pass(20 * time.Minute)
	for range 2 {
		_ = l.run(l.t.Context(), l.pipelines(l.by(nil))[0], refold.Late)
	}
	l.pass(10 * time.Minute)
	answer := must.Have(http.DefaultClient.Do(sent))(l.t)
	must.Succeed(l.t, answer.Body.Close())
}

// state has settings state another interval, or none. Where it is long, looks count rows of many days again.
func (l *weeks) state() {
	l.stated = []time.Duration{0, time.Hour, 3 * time.Hour, days, 8 * days}[l.random.IntN(5)]
}

// happen does one thing, perhaps killed.
func (l *weeks) happen() {
	device := l.random.IntN(len(l.World.Devices))
	names := []string{"run", "run", "retain", "retain", "move", "audit", "rewind", "fresh", "settings", "import", "file",
		"late", "backfill", "clock", "ghost", "find", "find", "idle", "interval"}
	what := names[l.random.IntN(len(names))]
	l.steps = append(l.steps, what)
	switch what {
	case "run":
		l.killed(120, func(ctx context.Context, through policy.Transporter) {
			_ = l.run(ctx, l.any(l.by(through)), refold.Late)
		})
	case "retain":
		l.killed(80, l.retain)
	case "audit":
		l.killed(80, func(ctx context.Context, through policy.Transporter) {
			p, m := l.any(l.by(through)), l.Audit(refold.Full)
			m.Pipeline, m.Run = p.Name, tables.TicksOf(l.now.Add(l.slot))
			_, _ = p.Do(ctx, m, jobstest.NoPut{}, nil)
		})
	case "move":
		rows := l.World.Rows[device]
		at := tables.TicksBefore(rows[l.random.IntN(len(rows))].RowKey) + tables.Ticks(l.random.IntN(2))
		if at.Time().After(l.now) {
			return
		}
		mv := sas.Move{Device: l.World.Devices[device], To: schema.Tenant(fmt.Sprint("t", l.random.IntN(3))), At: at}
		l.killed(12, func(ctx context.Context, through policy.Transporter) {
			_, _ = sas.NewRegistry(l.World.Connect(l.t, l.by(through)), l.Names).Move(ctx, mv)
		})
	case "rewind":
		members := membersOf(l.t, l.Fleet)
		back := time.Duration(l.random.Int64N(int64(lifeDays * days)))
		must.Have(l.any(l.by(nil)).Rewind(l.t.Context(), members[l.random.IntN(len(members))], jobs.Rewound{
			To: tables.TicksOf(l.now.Add(-back)), Mark: "m", At: l.now, By: "t"}))(l.t)
	case "fresh":
		if l.begun == nil && l.random.IntN(3) == 0 {
			l.begun = map[schema.Place]tables.Ticks{}
			for _, m := range membersOf(l.t, l.Fleet) {
				l.begun[m.Place()] = m.Watermark
			}
		}
	case "settings":
		l.settings[l.any(nil).Name]++
	case "import":
		l.importPast()
	case "late": // a device says that it has stored rows late, or may have
		at := tables.TicksOf(l.now.Add(-time.Duration(l.random.Int64N(int64(l.admits)))))
		l.killed(12, func(ctx context.Context, through policy.Transporter) {
			registry := sas.NewRegistry(l.World.Connect(l.t, l.by(through)), l.Names)
			if d, err := registry.Get(ctx, l.World.Devices[device]); err == nil {
				_, _ = registry.NoteImport(ctx, d, schema.Import{From: at, To: tables.TicksOf(l.now) + 1, Late: true}, true)
			}
		})
	case "file":
		l.killed(200, func(ctx context.Context, through policy.Transporter) {
			_ = l.run(ctx, l.pipelines(l.by(through))[2], refold.Late)
		})
	case "backfill":
		if l.admits < 12*days {
			l.admits += time.Duration(1+l.random.IntN(5)) * days
			enroll(l.t, l.Fleet, l.admits)
		}
	case "clock":
		wrong := []time.Duration{time.Hour, days, 200 * days, 365 * days}[l.random.IntN(4)]
		if l.random.IntN(2) == 0 {
			wrong = -wrong
		}
		l.storage, l.slot, l.worker = 0, 0, 0
		*[]*time.Duration{&l.storage, &l.slot, &l.worker}[l.random.IntN(3)] = wrong
		l.future = l.future || l.storage > 0
	case "ghost":
		l.ghost()
	case "interval":
		l.state()
	case "find":
		l.find()
	case "idle": // nothing but retention has workers
		for range 4 {
			l.find()
			l.pass(time.Duration(1+l.random.IntN(4)) * time.Hour)
			l.retain(l.t.Context(), nil)
		}
	}
}
