// Package kubernetes checks the manifests of furrow deploy init kubernetes against Kubernetes' own types. It is a
// module of its own, so that furrow does not depend on them:
//
//	cd .ci/kubernetes && go test ./...
package kubernetes

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"sigs.k8s.io/yaml"
)

// written has furrow write the manifests, and returns the objects of furrow.yaml.
func written(t *testing.T) [][]byte {
	t.Helper()
	dir := t.TempDir()
	furrow := exec.Command("go", "run", "./cmd/furrow", "deploy", "init", "kubernetes", dir, "--account", "contosofleet")
	furrow.Dir = filepath.Join("..", "..")
	if out, err := furrow.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "furrow.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return bytes.Split(text, []byte("\n---\n"))
}

func TestManifestsHaveOnlyFieldsOfKubernetes(t *testing.T) {
	kinds := map[string]int{}
	for _, text := range written(t) {
		var header struct{ Kind string }
		if err := yaml.Unmarshal(text, &header); err != nil {
			t.Fatal(err)
		}
		object := map[string]any{"Namespace": &core.Namespace{}, "ServiceAccount": &core.ServiceAccount{},
			"ConfigMap": &core.ConfigMap{}, "Deployment": &apps.Deployment{}, "Service": &core.Service{},
			"NetworkPolicy":       &networking.NetworkPolicy{},
			"PodDisruptionBudget": &policy.PodDisruptionBudget{}}[header.Kind]
		if object == nil {
			t.Fatalf("unknown kind %q", header.Kind)
		}
		if err := yaml.UnmarshalStrict(text, object); err != nil {
			t.Errorf("%s: %v\n%s", header.Kind, err, text)
		}
		if d, ok := object.(*apps.Deployment); ok {
			checkPods(t, d)
		}
		kinds[header.Kind]++
	}
	if kinds["Deployment"] != 4 || kinds["Service"] != 2 {
		t.Errorf("%v; want four deployments and two services", kinds)
	}
}

// checkPods checks what makes a pod start, and keep to itself.
func checkPods(t *testing.T, d *apps.Deployment) {
	t.Helper()
	labels := d.Spec.Template.Labels
	for name, value := range d.Spec.Selector.MatchLabels {
		if labels[name] != value {
			t.Errorf("%s selects pods with %s=%s, and its own have %v", d.Name, name, value, labels)
		}
	}
	c := d.Spec.Template.Spec.Containers[0]
	may := c.SecurityContext
	pod := d.Spec.Template.Spec.SecurityContext
	if *may.AllowPrivilegeEscalation || !*may.ReadOnlyRootFilesystem || !*pod.RunAsNonRoot {
		t.Errorf("%s may do more than furrow needs", d.Name)
	}
	if c.Resources.Limits.Memory().Cmp(resource.MustParse("300Mi")) < 0 {
		t.Errorf("%s has %s of memory; furrow takes 300 MiB before it collects garbage more often", d.Name,
			c.Resources.Limits.Memory())
	}
	port := c.LivenessProbe.HTTPGet.Port.String()
	if port != c.Ports[0].Name {
		t.Errorf("%s: the probe's port is %s, and the container's %s", d.Name, port, c.Ports[0].Name)
	}
}
