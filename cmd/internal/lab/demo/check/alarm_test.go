package check

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"furrow/tables/azuretest/must"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

const (
	commandID = "0639308592000000000-a1b2c3d4"
	obeyed    = `{"id":"` + commandID + `","state":"succeeded"}`
)

// newAlarm returns a fixture whose lift gets too hot, is told to cool down, and obeys.
func newAlarm(t *testing.T) *fixture {
	w := newFixture(t)
	w.config.Alarm = &Alarm{Device: lift, Rule: "hot", Sensor: "t", Above: 25, Below: 15, Command: `{"heater":"off"}`,
		Webhook: &Webhook{Key: []byte("a key of 24 bytes, or so")}, Obeyed: []string{commandID}}
	for _, table := range []string{"incidents", "commands"} {
		must.Succeed(t, w.client.Table(table).Create(t.Context()))
	}
	w.put("readings", string(lift), at("10:10:00").String(), map[string]any{"t": 26.0})
	w.put("readings", string(lift), at("10:11:00").String(), map[string]any{"_ack": obeyed})
	w.put("readings", string(lift), at("10:12:00").String(), map[string]any{"t": 14.0})
	w.incident("t00000001", "opened", "10:10:00", "26")
	w.incident("t00000002", "closed", "10:12:00", "14")
	w.put("commands", string(lift), commandID, map[string]any{"Body": `{"heater":"off"}`})
	w.put("commands", string(lift), "!count", map[string]any{"N": 1})
	w.put("commands", string(lift), commandID+"!ack!"+at("10:11:00").String(), map[string]any{"State": "succeeded"})
	w.notify(w.config.Alarm.Webhook.Key, "1", "opened", "10:10:00", "26")
	w.notify(w.config.Alarm.Webhook.Key, "2", "closed", "10:12:00", "14")
	w.notify(w.config.Alarm.Webhook.Key, "1", "opened", "10:10:00", "26") // again
	return w
}

func (w *fixture) incident(row, what, clock, value string) {
	w.put("incidents", latestPartition(lift), "2516!hot!"+string(lift)+"!"+row, map[string]any{"Device": string(lift),
		"Rule": "hot", "What": what, "At": int(at(clock)), "Value": value})
}

// notify sends a notification that is signed with a key.
func (w *fixture) notify(key []byte, id, what, clock, value string) {
	w.t.Helper()
	body := `{"id":"` + id + `","data":{"incidents":[{"delivery":"` + id + `","what":"` + what + `","rule":"hot","device":"` +
		string(lift) + `","at":"` + at(clock).Time().Format(time.RFC3339) + `","value":"` + value + `"}]}}`
	signer := must.Have(standardwebhooks.NewWebhookRaw(key))(w.t)
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, "/", strings.NewReader(body))
	r.Header.Set("webhook-id", id)
	r.Header.Set("webhook-timestamp", "1795000000")
	r.Header.Set("webhook-signature", must.Have(signer.Sign(id, time.Unix(1795000000, 0), []byte(body)))(w.t))
	w.config.Alarm.Webhook.ServeHTTP(httptest.NewRecorder(), r)
}

// alarms returns the differences that concern the alarm.
func (w *fixture) alarms() (all string) {
	w.t.Helper()
	for _, d := range w.check().First {
		if d.Table == "webhook" || d.Table == "incidents" || d.Table == "commands" {
			all += d.String() + "\n"
		}
	}
	return all
}

func TestAlarmThatCameAndWentHasNoDifferences(t *testing.T) {
	w := newAlarm(t)
	if found := w.alarms(); found != "" {
		t.Error(found)
	}
	if r := w.check(); r.Alarms != 2 {
		t.Errorf("%d changes", r.Alarms)
	}
}

func TestEveryKindOfWrongAlarmIsFound(t *testing.T) {
	for name, p := range map[string]struct {
		plant func(w *fixture)
		want  string
	}{
		"an incident has not opened": {func(w *fixture) {
			w.put("readings", string(lift), at("10:13:00").String(), map[string]any{"t": 27.0})
		}, "it is absent, and should be opened by 27 at"},
		"an incident has opened for nothing": {func(w *fixture) { w.incident("t00000003", "opened", "10:13:00", "27") },
			"it is opened by 27 at 2026-11-20T10:13:00Z, and should be absent"},
		"an incident has opened late": {func(w *fixture) {
			w.put("readings", string(lift), at("10:09:00").String(), map[string]any{"t": 25.5})
		}, "should be opened by 25.5 at 2026-11-20T10:09:00Z"},
		"a closed incident is listed as open": {func(w *fixture) {
			w.put("incidents", "contoso!open", "2516!hot!"+string(lift)+"!t00000001", map[string]any{"Device": string(lift),
				"What": "opened", "At": int(at("10:10:00"))})
		}, "listed as open"},
		"a notification never came": {func(w *fixture) { w.config.Alarm.Webhook.told = w.config.Alarm.Webhook.told[:1] },
			"webhook lift:2: it is absent, and should be closed at"},
		"a notification came for nothing": {func(w *fixture) {
			w.notify(w.config.Alarm.Webhook.Key, "3", "opened", "10:13:00", "27")
		}, "webhook lift:2: it is opened by 27 at"},
		"a signature is wrong": {func(w *fixture) {
			w.notify([]byte("a key of somebody else, or"), "3", "opened", "10:13:00", "27")
		}, "1 messages with a wrong signature"},
		"a command was not sent": {func(w *fixture) { w.remove("commands", string(lift), commandID) },
			"0 commands, 1 obeyed, 1 acknowledged"},
		"a command was obeyed twice": {func(w *fixture) {
			w.config.Alarm.Obeyed = append(w.config.Alarm.Obeyed, commandID)
		}, "1 commands, 2 obeyed"},
		"a command says something else": {func(w *fixture) {
			w.put("commands", string(lift), commandID, map[string]any{"Body": `{"heater":"on"}`})
		}, `: {"heater":"on"}, and should be {"heater":"off"}`},
		"an acknowledgement was not folded": {func(w *fixture) {
			w.remove("commands", string(lift), commandID+"!ack!"+at("10:11:00").String())
		}, "0 acknowledgements of"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newAlarm(t)
			p.plant(w)
			if found := w.alarms(); !strings.Contains(found, p.want) {
				t.Errorf("want %q; it finds\n%s", p.want, found)
			}
		})
	}
}
