package main

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/urfave/cli/v2"

	"furrow/cmd/internal/config"
	"furrow/tables/schema"
	"furrow/worker"
)

// deployFiles holds a directory for each kind of deployment. They are templates; *.part are included by others.
//
//go:embed deploy
var deployFiles embed.FS

func deployKinds() []string { return []string{"systemd", "compose", "kubernetes", "azure", monitoring} }

// monitoring is the kind with files for Prometheus and Grafana, which have braces of their own.
const monitoring = "monitoring"

const accountPlaceholder = "ACCOUNT"

func deployCommand() *cli.Command {
	return &cli.Command{
		Name:  "deploy",
		Usage: "Write files that deploy Furrow",
		Subcommands: []*cli.Command{{
			Name:      "init",
			Usage:     "Write the files of a deployment, with a README that says how to use them",
			ArgsUsage: strings.Join(deployKinds(), "|") + " DIR",
			Description: `systemd runs everything on one machine, or a role on each; compose runs the roles beside Azurite, to try
them; kubernetes runs them with storage on Azure; azure has Bicep create the storage account and run them as Container
Apps. The last two have KEDA scale the workers by the queues of the configuration's pipelines. monitoring has alerts
for Prometheus and a dashboard for Grafana. DIR is created. Files that exist are not replaced.` + examples(
				"deploy init systemd deploy",
				"deploy init kubernetes deploy --account contosofleet",
				"deploy init azure deploy --account contosofleet --image contoso.azurecr.io/furrow:1"),
			Flags: []cli.Flag{configFlag(), namesPrefixFlag(),
				&cli.StringFlag{Name: "account", Usage: "`NAME` of the storage account", Value: accountPlaceholder},
				&cli.StringFlag{Name: "image", Usage: "Container `IMAGE` of furrow, with its tag", Value: "furrow:1"},
				jsonFlag()},
			Action: deployInit,
		}},
	}
}

// A deployment is what the templates of a deployment are about.
type deployment struct {
	Account, Image, Prefix string
	Archive                string          // container
	Queues                 []deployedQueue // that the workers drain
	Metrics                int             // port; other roles on the same machine take those after it
}

// A deployedQueue is a queue, and how many of its messages one worker takes at a time.
type deployedQueue struct {
	Name   string
	Length int
}

// Storage returns the URL of the account.
func (d deployment) Storage() string {
	return "https://" + d.Account + ".table.core.windows.net"
}

// A deployedRole is a process of a deployment.
type deployedRole struct {
	deployment
	Role     string
	Replicas int
	Args     []string // besides those that all roles have
}

const metricsPort = 10091

func deployInit(c *cli.Context) error {
	kind, dir := c.Args().Get(0), c.Args().Get(1)
	if !slices.Contains(deployKinds(), kind) {
		return usagef(c, "unknown kind %q; there are %s%s", kind, strings.Join(deployKinds(), ", "),
			didYouMean(kind, deployKinds(), ""))
	}
	if err := checkDeployed(c); err != nil {
		return err
	}
	names, err := namesOf(c)
	if err != nil {
		return err
	}
	loaded, err := config.Load(c.String("config"))
	if err != nil {
		return err
	}
	files, err := renderDeployment(kind, deploymentOf(c, names, loaded))
	if err != nil {
		return err
	}
	if err := writeNew(dir, files); err != nil {
		return err
	}
	for _, f := range files {
		file := filepath.Join(dir, f.name)
		if err := printLine(c, fileLine{file}, file); err != nil {
			return err
		}
	}
	return nil
}

// What Azure and Kubernetes take. learn.microsoft.com: "Naming rules and restrictions for Azure resources";
// github.com/distribution/reference: "Grammar".
var (
	accountName = regexp.MustCompile(`^[a-z0-9]{3,24}$`)
	imageName   = regexp.MustCompile(`^([a-zA-Z0-9][a-zA-Z0-9.-]*(:[0-9]+)?/)?` +
		`[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*` +
		`(:[a-zA-Z0-9_][a-zA-Z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?$`)
)

// checkDeployed refuses what would be refused at the deployment, or later.
func checkDeployed(c *cli.Context) error {
	account, image := c.String("account"), c.String("image")
	if account != accountPlaceholder && !accountName.MatchString(account) {
		return usagef(c, "--account %q: the name of a storage account has 3 to 24 lower-case letters and digits", account)
	}
	if !imageName.MatchString(image) {
		return usagef(c, "--image %q is no name of an image: write it as in contoso.azurecr.io/furrow:1", image)
	}
	name := image[strings.LastIndex(image, "/")+1:]
	if _, tag, has := strings.Cut(name, ":"); !has || tag == "latest" {
		return usagef(c, "--image %s: name a tag such as %s:1, or a digest, so that what restarts is what you have tried",
			image, strings.TrimSuffix(image, ":latest"))
	}
	return nil
}

func deploymentOf(c *cli.Context, names schema.Names, loaded *config.Config) deployment {
	d := deployment{Account: c.String("account"), Image: c.String("image"), Prefix: c.String("names-prefix"),
		Archive: names.Archive(), Metrics: metricsPort}
	for _, p := range loaded.Pipelines {
		d.Queues = append(d.Queues, deployedQueue{names.Jobs(p.Name), worker.DefaultSize},
			deployedQueue{names.Catchup(p.Name), worker.DefaultSize / 2}) // a worker gives history half of its jobs
	}
	return d
}

type deployFile struct{ name, text string }

// renderDeployment returns the files of a kind of deployment, by name.
func renderDeployment(kind string, d deployment) (files []deployFile, err error) {
	left, right := "", "" // the default, braces
	if kind == monitoring {
		left, right = "<<", ">>"
	}
	all, err := template.New(kind).Delims(left, right).Funcs(template.FuncMap{
		"add": func(a, b int) int { return a + b },
		"role": func(d deployment, role string, replicas int, args ...string) deployedRole {
			return deployedRole{d, role, replicas, args}
		},
	}).ParseFS(deployFiles, path.Join("deploy", kind, "*"))
	if err != nil {
		return nil, err
	}
	for _, t := range all.Templates() {
		if path.Ext(t.Name()) == ".part" || t.Name() == kind {
			continue
		}
		var text strings.Builder
		if err := t.Execute(&text, d); err != nil {
			return nil, err
		}
		files = append(files, deployFile{t.Name(), text.String()})
	}
	slices.SortFunc(files, func(a, b deployFile) int { return strings.Compare(a.name, b.name) })
	return files, nil
}

// writeNew writes files into a directory, or none if one of them exists.
func writeNew(dir string, files []deployFile) error {
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(dir, f.name)); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fmt.Errorf("%s exists already: choose another directory, or remove it", filepath.Join(dir, f.name))
			}
			return err
		}
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.name), []byte(f.text), 0o644); err != nil {
			return err
		}
	}
	return nil
}
