package main

import (
	"encoding"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"furrow/cmd/internal/config"
	"furrow/jobs/archive"
	"furrow/tables/azuretest/comments"

	"furrow/cmd/internal/estimate"
	"furrow/cmd/internal/factory"
	"furrow/cmd/internal/lab/demo"
	"furrow/sas"
	"furrow/tables/local"
	"furrow/worker/answers"
	"furrow/worker/cost"
	"furrow/worker/dashboard/model"
	"furrow/worker/query"
	"furrow/worker/verify"
)

// A jsonOutput is what some commands print with --json: an object, or several kinds of objects, a line each.
type jsonOutput struct {
	commands []string
	about    string
	objects  []any
}

// jsonOutputs lists them in the order of the page.
func jsonOutputs() []jsonOutput {
	return []jsonOutput{
		{[]string{"up"}, "One object, once everything listens.", []any{upScreen{}}},
		{[]string{"sas"}, "One object, once it listens.", []any{tokenScreen{}}},
		{[]string{"storage"}, "One object, once it listens.", []any{storageScreen{}}},
		{[]string{"dashboard"}, "One object, once it listens.", []any{dashboardScreen{}}},
		{[]string{"backup"}, "One object.", []any{backupLine{}}},
		{[]string{"storage stats", "storage check"}, "One object.", []any{local.Inspection{}}},
		{[]string{"restore"}, "One object.", []any{restoredLine{}}},
		{[]string{"copy"}, "A line for each table; with `--finish` another one for the readings that came later.",
			[]any{copiedLine{}}},
		{[]string{"estimate"}, "One object.", []any{estimate.Estimate{}}},
		{[]string{"cost"}, "One object.", []any{cost.Costs{}}},
		{[]string{"demo"}, "One object at the end.", []any{demo.Report{}}},
		{[]string{"simulate"}, "One object at the end.", []any{simulationLine{}}},
		{[]string{"query"}, "A line for each bucket of a device; with `--raw`, `--tail` and `--row-key` for each " +
			"reading; with `--latest` for each device; with `--states` for each state; with `--gaps` for each day of a " +
			"device; with `--rate` for each bucket of rates; with `--rate --latest` for each device; with `--by` for each " +
			"bucket of a group; with `--outliers` for each device that stands out.",
			[]any{answers.SensorWindows{}, answers.Reading{}, answers.NewestValues{}, answers.State{}, answers.GapDay{},
				answers.RateWindows{}, answers.NewestRates{}, answers.Report{}, answers.Outlier{}}},
		{[]string{"rejects"}, "A line for each rejected value; with `--summary` for each reason.",
			[]any{answers.Reject{}, query.Reason{}}},
		{[]string{"status"}, "A line for each pipeline.", []any{pipelineStatus{}}},
		{[]string{"schedule"}, "With `--once`, a line for each pipeline.", []any{slotLine{}}},
		{[]string{"rewind"}, "A line for each pipeline.", []any{rewoundLine{}}},
		{[]string{"audit run"}, "A line for each pipeline.", []any{auditLine{}}},
		{[]string{"retention run"}, "One object; with `--dry-run` a line for the readings of each tenant, and for each " +
			"other table that loses rows.",
			[]any{startedLine{}, retentionLine{}}},
		{[]string{"retention lower-watermarks"}, "A line for each watermark that lies in the future.", []any{loweredLine{}}},
		{[]string{"retention explain"}, "A line for each table, of each membership of the device.", []any{retainedLine{}}},
		{[]string{"jobs list"}, "A line for each pipeline.", []any{queueLine{}}},
		{[]string{"jobs redrive", "jobs purge"}, "A line for each pipeline.", []any{messagesLine{}}},
		{[]string{"config check"}, "One object for a valid configuration; otherwise a line for each problem.",
			[]any{checkedLine{}, config.Problem{}}},
		{[]string{"config init"}, "One object.", []any{fileLine{}}},
		{[]string{"deploy init"}, "A line for each file.", []any{fileLine{}}},
		{[]string{"health"}, "One object.", []any{healthLine{}}},
		{[]string{"config diff"}, "One object.", []any{diffLine{}}},
		{[]string{"config show"}, "One object: the keys of the configuration file, with all defaults filled in.", nil},
		{[]string{"config history"}, "A line for each generation.", []any{generationLine{}}},
		{[]string{"config apply", "config rollback"}, "One object.", []any{changeLine{}}},
		{[]string{"enrollment list", "enrollment add", "enrollment set", "enrollment disable", "enrollment enable",
			"enrollment rotate"},
			"A line for each enrollment.", []any{enrollmentLine{}}},
		{[]string{"enrollment revoke"}, "One object; `enrollment disable --revoke` ends with it, too.", []any{revokedLine{}}},
		{[]string{"enrollment reseal"}, "One object.", []any{resealedLine{}}},
		{[]string{"enrollment key", "device key"}, "A line for each key.", []any{keyLine{}}},
		{[]string{"model list"}, "A line for each model.", []any{modelLine{}}},
		{[]string{"model show"}, "One object: the model by its name, with the keys of the configuration file.", nil},
		{[]string{"model try"}, "A line for each value, the newest row first.", []any{triedLine{}}},
		{[]string{"device list", "device show", "device add", "device set"}, "A line for each device.",
			[]any{answers.Record{}}},
		{[]string{"device move"}, "A line for each device.", []any{movedLine{}}},
		{[]string{"device import"}, "A line for each problem, then a summary.", []any{factory.Note{}, importLine{}}},
		{[]string{"import"}, "One object.", []any{historyLine{}}},
		{[]string{"device revoke", "device restore"}, "A line for each device; `device revoke` ends with a line of its own.",
			[]any{statusLine{}, affectedLine{}}},
		{[]string{"device remove"}, "A line for each device; what `--data` deleted is counted.", []any{removedLine{}}},
		{[]string{"device held"}, "A line for each device that is held.", []any{heldLine{}}},
		{[]string{"rule list"}, "A line for each rule.", []any{ruleLine{}}},
		{[]string{"rule show"}, "One object: the rule by its name, with the keys of the configuration file.", nil},
		{[]string{"rule try", "rule test"}, "A line for each incident that would open.", []any{trialLine{}}},
		{[]string{"incident list"}, "A line for each incident, the newest first.", []any{answers.Incident{}}},
		{[]string{"incident show"}, "One object.", []any{answers.IncidentHistory{}}},
		{[]string{"incident ack", "incident note"}, "One object: the note.", []any{answers.IncidentNote{}}},
		{[]string{"archive list"}, "A line for each tenant and day; with `--versions`, for each version of a table.",
			[]any{archiveLine{}, answers.ArchiveVersion{}}},
		{[]string{"archive files"}, "A line for each file of the table.", []any{model.ArchiveFile{}}},
		{[]string{"archive download"}, "One object.", []any{downloadedLine{}}},
		{[]string{"archive copy"}, "A line for each run.", []any{archiveCopyLine{}}},
		{[]string{"verify"}, "A line for each device, and one with the sums at the end.",
			[]any{verify.Device{}, verifiedTotals{}}},
		{[]string{"archive verify"}, "A line for each table.", []any{archive.HeldTable{}}},
		{[]string{"archive rewrite"}, "A line for each day and partition of the fleet.", []any{rewrittenLine{}}},
		{[]string{"command list", "command send", "command cancel", "device desired show", "device desired set"},
			"A line for each command or desired configuration.", []any{answers.Command{}}},
		{[]string{"mute list", "mute add", "mute remove"}, "A line for each mute.", []any{muteLine{}}},
		{[]string{"notify list"}, "A line for each target.", []any{targetLine{}}},
		{[]string{"notify test"}, "One object.", []any{notifiedLine{}}},
		{[]string{"notify redrive"}, "A line for each target.", []any{redrivenLine{}}},
		{[]string{"access list", "access add", "access rotate", "access remove"}, "A line for each who has access.",
			[]any{accessLine{}}},
		{[]string{"activity"}, "A line for each act, the newest first.", []any{answers.Act{}}},
		{[]string{"device release"}, "A line for each device and pipeline.", []any{releasedLine{}}},
		{[]string{"token"}, "What the token endpoint would answer.", []any{sas.Answer{}}},
		{[]string{"token revoke"}, "One object.", []any{allRevokedLine{}}},
		{[]string{"version"}, "One object.", []any{version{}}},
	}
}

// jsonPage renders the members of each output, with the comments of their fields.
func jsonPage(t *testing.T) string {
	var b strings.Builder
	b.WriteString("# JSON outputs, and the columns of CSV\n\n" +
		"With `--json` a command prints JSON on standard output; errors and progress stay on standard error.\n" +
		"Members may be added; none changes its name or meaning. Times are RFC 3339 in UTC.\nA member that is *optional* " +
		"is absent where it does not apply.\n")
	r := typeRenderer{t: t, docs: comments.Of(t, root)}
	for _, o := range jsonOutputs() {
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", strings.Join(o.commands, ", "), o.about)
		r.lists = flagOf(commandAt(strings.Fields(o.commands[0])), "format") != nil
		r.render(&b, o.objects)
	}
	return b.String()
}

// A typeRenderer writes a table for a struct, and one for each struct below it.
type typeRenderer struct {
	t    *testing.T
	docs *comments.Comments
	// lists: the commands of the output can also print CSV.
	lists bool
	// Of one output: the structs that have a table or will get one, by the member that is shown above it.
	names map[reflect.Type]string
	queue []reflect.Type
}

func (r *typeRenderer) render(b *strings.Builder, objects []any) {
	r.names, r.queue = map[reflect.Type]string{}, nil
	for _, o := range objects {
		r.names[reflect.TypeOf(o)] = ""
		r.queue = append(r.queue, reflect.TypeOf(o))
	}
	for len(r.queue) > 0 {
		of := r.queue[0]
		r.queue = r.queue[1:]
		if name := r.names[of]; name != "" {
			fmt.Fprintf(b, "\nMembers of `%s`:\n", name)
		} else {
			r.head(b, of, len(objects) > 1)
		}
		b.WriteString("\n| member | type | meaning |\n|---|---|---|\n")
		r.members(b, of)
	}
}

// head writes what is above the table of an object: what it is, where an output has several kinds, and its columns.
func (r *typeRenderer) head(b *strings.Builder, of reflect.Type, several bool) {
	if _, is, found := strings.Cut(strings.Replace(r.docs.Type(of), " are ", " is ", 1), " is "); several && found {
		fmt.Fprintf(b, "\n%s%s\n", strings.ToUpper(is[:1]), is[1:])
	}
	if columns := r.columns(of); r.lists && columns != "" {
		fmt.Fprintf(b, "\nIn CSV: `%s`\n", columns)
	}
}

// columns returns the line that begins rows like this one in CSV; empty where they are for JSON alone.
func (r *typeRenderer) columns(row reflect.Type) string {
	var b strings.Builder
	must(r.t, answers.NewWriter(answers.CSV, &b, reflect.Zero(row).Interface(), nil).End())
	return strings.TrimSpace(b.String())
}

// members writes the rows of a struct, those of embedded structs among them.
func (r *typeRenderer) members(b *strings.Builder, of reflect.Type) {
	for i := range of.NumField() {
		f := of.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous && name == "":
			r.members(b, f.Type)
			continue
		case name == "-" || name == "":
			continue
		}
		kind := r.kind(f.Type, name)
		if strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero") {
			kind += ", optional"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", name, kind, cell(r.docs.Field(of, f.Name)))
	}
}

// kind says what a Go type is in JSON, and queues a struct for a table of its own.
func (r *typeRenderer) kind(of reflect.Type, member string) string {
	switch {
	case of.String() == "time.Time":
		return "time"
	case of.Implements(reflect.TypeFor[encoding.TextMarshaler]()):
		return "text"
	}
	if sensors, is := reflect.Zero(of).Interface().(interface{ ValueType() reflect.Type }); is {
		return "map to " + r.kind(sensors.ValueType(), member)
	}
	switch of.Kind() {
	case reflect.Pointer:
		return r.kind(of.Elem(), member)
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "list of " + r.kind(of.Elem(), member)
	case reflect.Map:
		return "map to " + r.kind(of.Elem(), member)
	case reflect.Interface:
		return "value"
	case reflect.Struct:
		switch name, seen := r.names[of]; {
		case !seen:
			r.names[of] = member
			r.queue = append(r.queue, of)
		case name != member:
			return "object as in `" + name + "`"
		}
		return "object"
	}
	return "number"
}
