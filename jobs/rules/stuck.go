package rules

import (
	"crypto/sha256"
	"encoding/base64"
	"strconv"
	"time"

	"furrow/jobs/fold"
	"furrow/tables"
)

// Stuck holds when a sensor has repeated one value for some time. A device that is silent is not stuck: readings that
// are further apart than that begin again.
type Stuck struct {
	Sensor string        `yaml:"sensor,required" is:"sensor"`
	For    time.Duration `yaml:"for,required" least:"1s" most:"366d"`
}

// Name is stuck.
func (*Stuck) Name() string          { return "stuck" }
func (k *Stuck) String() string      { return k.Sensor + " unchanged" + forText(k.For) }
func (*Stuck) check() error          { return nil }
func (*Stuck) room() int             { return maxValue }
func (k *Stuck) sensor() string      { return k.Sensor }
func (*Stuck) begin(*work, *tracked) {}
func (k *Stuck) says(_ *work, t *tracked) string {
	return k.Sensor + " is " + t.value + ", unchanged" + forText(k.For)
}

func (k *Stuck) row(w *work, t *tracked, s *fold.Sample) {
	v := find(s, k.Sensor)
	if v == nil {
		return
	}
	at, is := s.Key.Ticks, identityOf(v)
	if is != t.text || at-t.heard > ticks(k.For) {
		if t.open() && is != t.text {
			w.close(t, at, "")
		}
		t.text, t.since = is, max(at, 1)
	}
	t.heard = at
	if t.value = clip(v.State, maxValue); v.Is == fold.Number {
		t.value = shown(v.Number)
	}
	if !t.open() && at >= t.since+ticks(k.For) {
		w.open(t, at, t.number > 0 && t.since-t.at < ticks(k.For))
	}
}

// identityOf returns a short text that only equal values share.
func identityOf(v *fold.SensorValue) string {
	switch {
	case v.Is == fold.Number:
		return strconv.FormatFloat(v.Number+0, 'g', -1, 64) // -0 is 0
	case len(v.State) < maxValue:
		return "=" + v.State
	default:
		sum := sha256.Sum256([]byte(v.State))
		return "#" + base64.RawStdEncoding.EncodeToString(sum[:])
	}
}

func (*Stuck) next(*work, *tracked) tables.Ticks   { return tables.MaxTicks }
func (*Stuck) judge(*work, *tracked, tables.Ticks) {}
