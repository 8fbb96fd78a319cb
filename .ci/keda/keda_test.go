// Package keda has KEDA's own scalers and real workers drain a backlog. It is a module of its own, so that furrow does
// not depend on KEDA, and CI does not run it: KEDA takes long to build.
//
//	cd .ci/keda && go test -v -timeout 3h ./... -devices 100000
package keda

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	keda "github.com/kedacore/keda/v2/apis/keda/v1alpha1"
	"github.com/kedacore/keda/v2/pkg/scalers"
	"github.com/kedacore/keda/v2/pkg/scalers/scalersconfig"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/yaml"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard()) // KEDA's; what it returns as an error fails the test
	os.Exit(m.Run())
}

// deployed returns the ScaledObject of furrow deploy init kubernetes.
func deployed(t *testing.T, f *fleet) (o keda.ScaledObject) {
	t.Helper()
	f.furrow(t, "deploy", "init", "kubernetes", f.path("deploy"), "--config", f.path("furrow.yaml"))
	text, err := os.ReadFile(f.path("deploy/keda.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range strings.Split(string(text), "\n---\n") {
		var header struct{ Kind string }
		if err := yaml.Unmarshal([]byte(part), &header); err != nil {
			t.Fatal(err)
		}
		into := map[string]any{"ScaledObject": &o, "TriggerAuthentication": &keda.TriggerAuthentication{}}[header.Kind]
		if into == nil {
			t.Fatalf("unknown kind %q", header.Kind)
		}
		if err := yaml.UnmarshalStrict([]byte(part), into); err != nil {
			t.Errorf("%s: %v", header.Kind, err)
		}
	}
	return o
}

// A trigger is one of KEDA's scalers, and what one worker is worth in its metric.
type trigger struct {
	scaler scalers.Scaler
	name   string
	target float64
}

// triggersOf returns KEDA's scalers of an object. Their queues are those of a connection string, not of the account.
func triggersOf(t *testing.T, o keda.ScaledObject, connection string) (all []trigger) {
	t.Helper()
	for i, tr := range o.Spec.Triggers {
		config := &scalersconfig.ScalerConfig{TriggerType: tr.Type, TriggerMetadata: tr.Metadata, TriggerIndex: i,
			MetricType: tr.MetricType, GlobalHTTPTimeout: 3 * time.Second}
		var s scalers.Scaler
		var err error
		switch tr.Type {
		case "azure-queue":
			config.AuthParams = map[string]string{"connection": connection}
			s, err = scalers.NewAzureQueueScaler(config)
		case "metrics-api":
			s, err = scalers.NewMetricsAPIScaler(config, nil)
		}
		if s == nil || err != nil {
			t.Fatalf("trigger %d, %s: %v", i, tr.Type, err)
		}
		spec := s.GetMetricSpecForScaling(t.Context())[0].External
		all = append(all, trigger{s, spec.Metric.Name, spec.Target.AverageValue.AsApproximateFloat64()})
	}
	return all
}

// read returns how many workers a trigger wants, and whether it wants any.
func (tr trigger) read(t *testing.T, ctx context.Context) (wanted float64, active bool) {
	t.Helper()
	values, active, err := tr.scaler.GetMetricsAndActivity(ctx, tr.name)
	if err != nil {
		t.Fatalf("%s: %v", tr.name, err)
	}
	return values[0].Value.AsApproximateFloat64() / tr.target, active
}

// An autoscaler decides as KEDA and Kubernetes do, pace times as fast.
type autoscaler struct {
	max, current  int
	cooldown      time.Duration // from the last activity to none
	stabilization time.Duration // for which the greatest recommendation holds

	active          time.Time // last
	recommendations []recommendation
}

type recommendation struct {
	at time.Time
	n  int
}

// tolerance is how far the workers may be from what the metric wants before their number changes.
// kubernetes.io: "Horizontal Pod Autoscaling", Algorithm details.
const tolerance = 0.1

// next returns the number of workers for what the triggers want of them.
func (a *autoscaler) next(now time.Time, wanted float64, active bool) int {
	if active {
		a.active = now
	}
	if a.current == 0 {
		if active {
			a.current = 1 // KEDA wakes the deployment, and the HPA goes on from there
		}
		return a.current
	}
	n := a.current
	if math.Abs(wanted/float64(a.current)-1) > tolerance {
		n = int(math.Ceil(wanted))
	}
	a.recommendations = append(a.recommendations, recommendation{now, min(max(n, 1), a.max)})
	n = 0
	for _, r := range a.recommendations {
		if now.Sub(r.at) <= a.stabilization {
			n = max(n, r.n)
		}
	}
	if a.current = n; !active && now.Sub(a.active) > a.cooldown {
		a.current, a.recommendations = 0, nil
	}
	return a.current
}

func (f *fleet) path(name string) string { return filepath.Join(f.dir, name) }
